package foo

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// born is a Foo that names Deployment web, made at this second.
func born(name string, second int64) *samplev1alpha1.Foo {
	foo := newFoo(name, "web")
	foo.CreationTimestamp = metav1.NewTime(time.Unix(second, 0))
	return foo
}

// ready is a Foo's condition Ready, an empty one if it has none.
func ready(foo *samplev1alpha1.Foo) metav1.Condition {
	if condition := meta.FindStatusCondition(foo.Status.Conditions, samplev1alpha1.FooConditionReady); condition != nil {
		return *condition
	}
	return metav1.Condition{}
}

func TestAccept(t *testing.T) {
	const exists = samplev1alpha1.FooReasonResourceExists
	mine := desiredOf(t, newFoo("x", "web"), nil)
	with := func(changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
		d := mine.DeepCopy()
		for _, change := range changes {
			change(d)
		}
		return d
	}
	free := func(d *appsv1.Deployment) { d.OwnerReferences = nil }
	going := func(d *appsv1.Deployment) { d.DeletionTimestamp = new(metav1.Now()) }
	offered := func(d *appsv1.Deployment) { d.Annotations = map[string]string{samplev1alpha1.AnnotationAdoptBy: "x"} }
	offeredToY := func(d *appsv1.Deployment) { d.Annotations = map[string]string{samplev1alpha1.AnnotationAdoptBy: "y"} }
	ofAnother := func(d *appsv1.Deployment) { d.OwnerReferences[0].Name, d.OwnerReferences[0].UID = "y", "uid-of-y" }
	foreign := func(d *appsv1.Deployment) { d.Spec.Selector.MatchLabels = map[string]string{"app": "web"} }
	for name, tc := range map[string]struct {
		deployment *appsv1.Deployment
		wantReason string // "" when it goes on
		want       []string
	}{
		"there is none":                  {nil, "", nil},
		"its own":                        {mine, "", nil},
		"its own, which is to go":        {with(going), samplev1alpha1.FooReasonProgressing, []string{"Deployment web is being deleted"}},
		"CF-02: nobody's":                {with(free, foreign), exists, []string{`Resource "web" already exists and is not managed by Foo`, "wait until it goes"}},
		"another Foo's":                  {with(ofAnother), exists, []string{`"web"`, "it belongs to Foo y; wait until it goes, or change spec.deploymentName"}},
		"that of another kind":           {with(func(d *appsv1.Deployment) { d.OwnerReferences[0].Kind = "Bar" }, ofAnother), exists, nil},
		"that of an earlier Foo":         {with(func(d *appsv1.Deployment) { d.OwnerReferences[0].UID = "earlier" }), samplev1alpha1.FooReasonProgressing, []string{"an earlier Foo of this name"}},
		"CF-05: a restored one":          {with(free), exists, []string{"to have it adopted, annotate it with samplecontroller.k8s.io/adopt-by=x"}},
		"CF-05: one that is offered":     {with(free, offered), "", nil},
		"offered to another":             {with(free, offeredToY), exists, []string{"samplecontroller.k8s.io/adopt-by=x"}},
		"offered, and another's":         {with(ofAnother, offered), exists, []string{"wait until it goes"}},
		"offered, with another selector": {with(free, offered, foreign), exists, []string{"it cannot be adopted, its selector", "wait until it goes"}},
		"offered, and to go":             {with(free, offered, going), samplev1alpha1.FooReasonProgressing, []string{"is being deleted"}},
		"owned by this Foo, not ruled":   {with(func(d *appsv1.Deployment) { d.OwnerReferences[0].Controller = new(false) }), exists, nil},
		"owned by it and ruled by others": {with(func(d *appsv1.Deployment) {
			d.OwnerReferences[0].Controller = new(false)
			d.OwnerReferences = append(d.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "c", Controller: new(true)})
		}), exists, nil},
	} {
		t.Run(name, func(t *testing.T) {
			foo := newFoo("x", "web")
			p := &pass{foo: foo, deployment: tc.deployment}
			next, err := newReconciler(t, foo).accept(t.Context(), p)
			if err != nil || next != (tc.wantReason == "") || ready(foo).Reason != tc.wantReason {
				t.Fatalf("next is %t, %v; %+v", next, err, foo.Status.Conditions)
			}
			for _, want := range tc.want {
				if !strings.Contains(ready(foo).Message, want) {
					t.Errorf("%q does not say %q", ready(foo).Message, want)
				}
			}
			// Only somebody else can end it, and all the same it is looked at again.
			slowly, stalled := p.result.RequeueAfter >= 4*time.Minute, meta.IsStatusConditionTrue(foo.Status.Conditions, samplev1alpha1.FooConditionStalled)
			if blocked := tc.wantReason == exists; slowly != blocked || stalled != blocked {
				t.Errorf("tried again after %s, stalled is %t", p.result.RequeueAfter, stalled)
			}
		})
	}
}

// The webhooks may have been away.
func TestAcceptJudgesAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*samplev1alpha1.FooSpec)
		want   []string
	}{
		"AF-10: no name":   {func(s *samplev1alpha1.FooSpec) { s.DeploymentName = "" }, []string{"spec.deploymentName"}},
		"a bad name":       {func(s *samplev1alpha1.FooSpec) { s.DeploymentName = "a b" }, []string{"spec.deploymentName", "a-b"}},
		"replicas below 0": {func(s *samplev1alpha1.FooSpec) { s.Replicas = new(int32(-1)) }, []string{"spec.replicas"}},
		"a bad template":   {func(s *samplev1alpha1.FooSpec) { s.PodTemplateName = "a b" }, []string{"spec.podTemplateName"}},
		"all of them": {func(s *samplev1alpha1.FooSpec) {
			s.DeploymentName, s.PodTemplateName, s.Replicas = "", "a b", new(int32(-1))
		}, []string{"spec.deploymentName", "spec.podTemplateName", "spec.replicas"}},
		"a name that is very long": {func(s *samplev1alpha1.FooSpec) { s.DeploymentName = strings.Repeat("a b", 1<<12) }, []string{"spec.deploymentName"}},
	} {
		t.Run(name, func(t *testing.T) {
			foo := newFoo("x", "web")
			tc.change(&foo.Spec)
			p := &pass{foo: foo, deployment: desiredOf(t, newFoo("x", "web"), nil)}
			if next, err := newReconciler(t, foo).accept(t.Context(), p); err != nil || next || ready(foo).Reason != samplev1alpha1.FooReasonInvalid {
				t.Fatalf("next is %t, %v; %+v", next, err, foo.Status.Conditions)
			}
			for _, want := range tc.want {
				if !strings.Contains(ready(foo).Message, want) {
					t.Errorf("%q does not say %q", ready(foo).Message, want)
				}
			}
		})
	}
}

func TestOlder(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b *samplev1alpha1.Foo
		want bool
	}{
		"the one that came first":                 {born("z", 1), born("a", 2), true},
		"the one that came later":                 {born("a", 2), born("z", 1), false},
		"of one second, the first by name":        {born("a", 1), born("b", 1), true},
		"of one second, the last by name":         {born("b", 1), born("a", 1), false},
		"one is not older than itself":            {born("a", 1), born("a", 1), false},
		"without a time, it came before all time": {newFoo("z", "web"), born("a", 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := older(tc.a, tc.b); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// Where there is no Deployment yet, one of the Foos that name it makes it.
func TestOlderRival(t *testing.T) {
	with := func(foo *samplev1alpha1.Foo, change func(*samplev1alpha1.Foo)) *samplev1alpha1.Foo {
		change(foo)
		return foo
	}
	for name, tc := range map[string]struct {
		rivals []client.Object
		want   string
	}{
		"it is alone":                        {nil, ""},
		"an older one":                       {[]client.Object{born("older", 1)}, "older"},
		"younger ones":                       {[]client.Object{born("a", 11), born("z", 12)}, ""},
		"of older ones the oldest":           {[]client.Object{born("a", 3), born("b", 1), born("c", 2)}, "b"},
		"one of the same second, before it":  {[]client.Object{born("a", 10)}, "a"},
		"one of the same second, after it":   {[]client.Object{born("y", 10)}, ""},
		"an older one of another Deployment": {[]client.Object{with(born("older", 1), func(f *samplev1alpha1.Foo) { f.Spec.DeploymentName = "db" })}, ""},
		"an older one of another namespace":  {[]client.Object{with(born("older", 1), func(f *samplev1alpha1.Foo) { f.Namespace = "elsewhere" })}, ""},
		"an older one that cannot make it":   {[]client.Object{with(born("older", 1), func(f *samplev1alpha1.Foo) { f.Spec.Replicas = new(int32(-1)) })}, ""},
		"an older one that is to go": {[]client.Object{with(born("older", 1), func(f *samplev1alpha1.Foo) {
			f.Finalizers, f.DeletionTimestamp = []string{"f"}, new(metav1.Now())
		})}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			foo := born("x", 10)
			r := newReconciler(t, append(tc.rivals, foo)...)
			if got, err := r.olderRival(t.Context(), foo); err != nil || got != tc.want {
				t.Errorf("got %q, %v; want %q", got, err, tc.want)
			}
			p := &pass{foo: foo}
			next, err := r.accept(t.Context(), p)
			if err != nil || next != (tc.want == "") {
				t.Fatalf("next is %t: %v", next, err)
			}
			if !next && (ready(foo).Reason != samplev1alpha1.FooReasonResourceExists || !strings.Contains(ready(foo).Message, "left to Foo "+tc.want)) {
				t.Errorf("got %+v", ready(foo))
			}
		})
	}
	t.Run("what cannot be listed is an error", func(t *testing.T) {
		r := newReconciler(t).intercept(interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return errNoCache
			},
		})
		if next, err := r.accept(t.Context(), &pass{foo: newFoo("x", "web")}); next || !errors.Is(err, errNoCache) {
			t.Errorf("next is %t: %v", next, err)
		}
	})
}

func TestTemplate(t *testing.T) {
	template := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "large"}, Template: *fullTemplate()}
	elsewhere := template.DeepCopy()
	elsewhere.Namespace = "elsewhere"
	for name, tc := range map[string]struct {
		named   string
		objects []client.Object
		missing bool
		wants   bool
	}{
		"none is named":                       {"", []client.Object{template}, false, false},
		"the one that is named":               {"large", []client.Object{template}, false, true},
		"one that is not there":               {"large", nil, true, false},
		"one of another namespace is not his": {"large", []client.Object{elsewhere}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			foo := newFoo("x", "web")
			foo.Spec.PodTemplateName = tc.named
			p := &pass{foo: foo}
			next, err := newReconciler(t, tc.objects...).template(t.Context(), p)
			if err != nil || next == tc.missing || (p.pods != nil) != tc.wants {
				t.Errorf("next is %t, %v; %v", next, err, p.pods)
			}
			if tc.missing && (ready(foo).Reason != samplev1alpha1.FooReasonTemplateNotFound || !strings.Contains(ready(foo).Message, "PodTemplate large")) {
				t.Errorf("got %+v", ready(foo))
			}
		})
	}
	t.Run("one that cannot be read is an error, not a missing one", func(t *testing.T) {
		foo := newFoo("x", "web")
		foo.Spec.PodTemplateName = "large"
		r := newReconciler(t).intercept(interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errNoCache
		}})
		if next, err := r.template(t.Context(), &pass{foo: foo}); next || !errors.Is(err, errNoCache) || len(foo.Status.Conditions) > 0 {
			t.Errorf("next is %t: %v; %+v", next, err, foo.Status.Conditions)
		}
	})
}
