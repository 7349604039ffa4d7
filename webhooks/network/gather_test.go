package network

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/samplecrd/samplecrd/addressing"
	"github.com/samplecrd/samplecrd/apis"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/providers/memory"
)

func newScheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(apis.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

var limits = addressing.Limits{Backend: "host-local", LongestIPv4: 30, LongestIPv6: 126}

// backends has limits to warn of.
func backends() map[samplecrdv1.ProviderType]providers.Provider {
	backend := memory.New()
	backend.SetLimits(limits)
	return map[samplecrdv1.ProviderType]providers.Provider{samplecrdv1.ProviderMultus: backend}
}

func defaultClass(name string, created time.Time) *samplecrdv1.NetworkClass {
	c := class(name, samplecrdv1.DeletionDelete)
	c.Annotations = map[string]string{samplecrdv1.AnnotationIsDefaultClass: "true"}
	c.CreationTimestamp = metav1.NewTime(created)
	return c
}

func TestGatherClass(t *testing.T) {
	older, newer := defaultClass("older", time.Unix(1000, 0)), defaultClass("newer", time.Unix(2000, 0))
	stranger := class("stranger", samplecrdv1.DeletionDelete)
	stranger.Spec.Provider = "Elsewhere"
	for name, tc := range map[string]struct {
		objects     []client.Object
		object, old *samplecrdv1.Network
		want        string // "" for none
		wantLimits  addressing.Limits
	}{
		"the class that is named":                     {objects: []client.Object{newer, class("named", "")}, object: network(className("named")), want: "named", wantLimits: limits},
		"one that is not there is none":               {objects: []client.Object{newer}, object: network(className("missing"))},
		"on create without a name, the default class": {objects: []client.Object{newer, class("named", "")}, object: network(), want: "newer", wantLimits: limits},
		"of two default classes the older":            {objects: []client.Object{newer, older}, object: network(), want: "older", wantLimits: limits},
		"no default class, no class":                  {objects: []client.Object{class("named", "")}, object: network()},
		"on update without a name, the stored class":  {objects: []client.Object{newer, class("named", "")}, object: network(), old: network(className("named")), want: "named", wantLimits: limits},
		"on update without a name, none is given":     {objects: []client.Object{newer}, object: network(), old: network()},
		"a backend that is not there has no limits":   {objects: []client.Object{stranger}, object: network(className("stranger")), want: "stranger"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &webhook{reader: fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(tc.objects...).Build(), backends: backends()}
			known, err := w.Gather(t.Context(), tc.object, tc.old)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if known.class != nil {
				got = known.class.Name
			}
			if got != tc.want || known.limits != tc.wantLimits {
				t.Errorf("got %q with %v, want %q with %v", got, known.limits, tc.want, tc.wantLimits)
			}
		})
	}
}

func TestGatherScope(t *testing.T) {
	for name, tc := range map[string]struct {
		overlapScope samplecrdv1.OverlapScope
		want         addressing.Scope
	}{
		"a namespace":              {samplecrdv1.OverlapNamespace, addressing.Scope{Class: "standard", Namespace: "default"}},
		"a namespace, if not told": {"", addressing.Scope{Class: "standard", Namespace: "default"}},
		"the class":                {samplecrdv1.OverlapClass, addressing.Scope{Class: "standard"}},
		"nowhere":                  {samplecrdv1.OverlapNone, addressing.Scope{}},
	} {
		t.Run(name, func(t *testing.T) {
			standard := class("standard", "")
			standard.Spec.OverlapScope = tc.overlapScope
			w := &webhook{reader: fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(standard).Build()}
			known, err := w.Gather(t.Context(), network(className("standard")), nil)
			if err != nil || known.scope != tc.want {
				t.Errorf("got %v and %v, want %v", known.scope, err, tc.want)
			}
		})
	}
}

// selective is a class for namespaces with a label.
func selective() *samplecrdv1.NetworkClass {
	c := class("selective", "")
	c.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "blue"}}
	return c
}

func namespace(labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: labels}}
}

func TestGatherTenant(t *testing.T) {
	blue := namespace(map[string]string{"team": "blue"})
	for name, tc := range map[string]struct {
		class        *samplecrdv1.NetworkClass
		cached, live []client.Object
		want         labels.Set
	}{
		"its labels": {selective(), []client.Object{blue}, nil, blue.Labels},
		"a class that selects none asks for nothing": {class("selective", ""), []client.Object{blue}, nil, nil},
		"one that the cache does not show yet":       {selective(), nil, []client.Object{blue}, blue.Labels},
	} {
		t.Run(name, func(t *testing.T) {
			w := &webhook{
				reader: fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(append(tc.cached, tc.class)...).Build(),
				live:   fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(tc.live...).Build(),
			}
			known, err := w.Gather(t.Context(), network(className("selective")), nil)
			if want := (addressing.Tenant{Namespace: "default", Labels: tc.want}); err != nil || !reflect.DeepEqual(known.tenant, want) {
				t.Errorf("got %v and %v, want %v", known.tenant, err, want)
			}
		})
	}
}

// What cannot be read is an error, never a guess.
func TestGatherFails(t *testing.T) {
	broken := errors.New("no cache")
	for name, tc := range map[string]struct {
		object *samplecrdv1.Network
		faults interceptor.Funcs
	}{
		"the class": {network(className("standard")), interceptor.Funcs{
			Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return broken
			},
		}},
		"the classes": {network(), interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken },
		}},
		"the namespace": {network(className("selective")), interceptor.Funcs{
			Get: func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
				if _, isNamespace := object.(*metav1.PartialObjectMetadata); isNamespace {
					return broken
				}
				return inner.Get(ctx, key, object, opts...)
			},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			reader := fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(class("standard", ""), selective()).WithInterceptorFuncs(tc.faults).Build()
			if _, err := (&webhook{reader: reader}).Gather(t.Context(), tc.object, nil); !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
		})
	}
}
