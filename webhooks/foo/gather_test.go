package foo

import (
	"context"
	"errors"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/scaling"
	"github.com/samplecrd/samplecrd/test/review"
)

// reader reads the given objects, as the webhooks do.
func reader(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()
	var reader client.Client
	review.Serve(t, func(mgr ctrl.Manager) error { reader = mgr.GetClient(); return nil }, objects...)
	return reader.(client.WithWatch)
}

// neighbour is another Foo.
func neighbour(namespace, name string, changes ...change) *samplev1alpha1.Foo {
	f := foo(changes...)
	f.Namespace, f.Name, f.UID = namespace, name, ""
	return f
}

func podTemplate(namespace, name string) *corev1.PodTemplate {
	return &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func TestGather(t *testing.T) {
	elsewhere := deployment("web")
	elsewhere.Namespace = "elsewhere"
	stored := foo()
	for name, tc := range map[string]struct {
		objects             []client.Object
		object              *samplev1alpha1.Foo
		wantDeployment      bool
		wantRivals          []string
		wantTemplateMissing bool
	}{
		"nothing is there":                     {object: foo()},
		"the Deployment that it names":         {objects: []client.Object{deployment("web"), deployment("db")}, object: foo(), wantDeployment: true},
		"one of another namespace is another":  {objects: []client.Object{elsewhere}, object: foo()},
		"Foos that name the same":              {objects: []client.Object{neighbour("default", "y"), neighbour("default", "z"), neighbour("default", "of-another", name("db"))}, object: foo(), wantRivals: []string{"y", "z"}},
		"it is no rival of itself":             {objects: []client.Object{stored}, object: foo(replicas(2))},
		"one of another namespace is no rival": {objects: []client.Object{neighbour("elsewhere", "secret")}, object: foo()},
		"without a name nothing is looked for": {objects: []client.Object{neighbour("default", "y", name(""))}, object: foo(name(""))},
		"the template that it names":           {objects: []client.Object{podTemplate("default", "web")}, object: foo(template("web"))},
		"a template that is not there":         {objects: []client.Object{podTemplate("default", "db")}, object: foo(template("web")), wantTemplateMissing: true},
		"one of another namespace is not":      {objects: []client.Object{podTemplate("elsewhere", "web")}, object: foo(template("web")), wantTemplateMissing: true},
		"names that nothing can have":          {object: foo(name("a b"), template("c/d")), wantTemplateMissing: true},
	} {
		t.Run(name, func(t *testing.T) {
			known, err := (&webhook{reader: reader(t, tc.objects...), maxReplicas: most}).Gather(t.Context(), tc.object, nil)
			if err != nil {
				t.Fatal(err)
			}
			if (known.deployment != nil) != tc.wantDeployment || known.templateMissing != tc.wantTemplateMissing {
				t.Errorf("got Deployment %v, template missing %t", known.deployment, known.templateMissing)
			}
			slices.Sort(known.rivals)
			if !slices.Equal(known.rivals, tc.wantRivals) {
				t.Errorf("got rivals %v, want %v", known.rivals, tc.wantRivals)
			}
		})
	}
}

func TestGatherLimit(t *testing.T) {
	others := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere", Annotations: map[string]string{samplev1alpha1.AnnotationMaxReplicas: "1"}}}
	for name, tc := range map[string]struct {
		objects []client.Object
		want    string // the namespace's limit
	}{
		"the namespace's":                {[]client.Object{namespace("5"), others}, "5"},
		"one that is no number":          {[]client.Object{namespace("five"), others}, "five"},
		"a namespace without one":        {[]client.Object{namespace("-"), others}, "-"},
		"a namespace that is not there":  {[]client.Object{others}, "-"},
		"one that is higher is not more": {[]client.Object{namespace("99"), others}, "99"},
	} {
		t.Run(name, func(t *testing.T) {
			wantLimit, wantWarning := scaling.LimitOf(most, namespace(tc.want).Annotations)
			w := &webhook{reader: reader(t, tc.objects...), maxReplicas: most}
			known, err := w.Gather(t.Context(), foo(), nil)
			if err != nil || known.limit != wantLimit || known.limitWarning != wantWarning {
				t.Errorf("got %v, %q, %v", known.limit, known.limitWarning, err)
			}
		})
	}
}

// What cannot be read is an error, never a guess.
func TestGatherFails(t *testing.T) {
	get := func(kind client.Object) interceptor.Funcs {
		return interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			wanted, err := c.GroupVersionKindFor(kind)
			if got, otherErr := c.GroupVersionKindFor(object); err == nil && otherErr == nil && got == wanted {
				return errNoCache
			}
			return c.Get(ctx, key, object, opts...)
		}}
	}
	for name, faults := range map[string]interceptor.Funcs{
		"the namespace":  get(&corev1.Namespace{}),
		"the Deployment": get(deployment("web")),
		"the template":   get(&corev1.PodTemplate{}),
		"the rivals": {List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errNoCache
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &webhook{reader: interceptor.NewClient(reader(t), faults)}
			if _, err := w.Gather(t.Context(), foo(template("web")), nil); !errors.Is(err, errNoCache) {
				t.Errorf("got %v", err)
			}
		})
	}
}
