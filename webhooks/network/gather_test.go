package network

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	if err := apis.AddToScheme(scheme); err != nil {
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

// neighbour is another Network.
func neighbour(namespace, name string, changes ...change) *samplecrdv1.Network {
	n := network(changes...)
	n.Namespace, n.Name = namespace, name
	return n
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

func TestGatherRivals(t *testing.T) {
	standard, other := class("standard", ""), class("other", "")
	moving := neighbour("default", "moving", className("standard"), cidr("10.2.1.0/16"), gateway("10.2.0.1"), entries("2001:db8::/64"))
	moving.Status.Subnets = []samplecrdv1.SubnetStatus{{CIDR: "10.1.0.0/16", State: samplecrdv1.SubnetActive}}
	terminating := neighbour("default", "terminating", className("standard"), cidr("10.3.0.0/16"))
	terminating.Finalizers, terminating.DeletionTimestamp = []string{samplecrdv1.NetworkFinalizer}, new(metav1.Now())
	w := &webhook{backends: backends(), reader: fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(
		standard, other, moving, terminating,
		neighbour("default", "x", className("standard"), cidr("10.9.0.0/16")),
		neighbour("default", "of-another-class", className("other"), cidr("10.9.0.0/16")),
		neighbour("default", "without-a-class", cidr("10.9.0.0/16")),
		neighbour("another-tenant", "secret", className("standard"), cidr("10.9.0.0/16")),
	).Build()}

	known, err := w.Gather(t.Context(), network(className("standard")), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, rival := range known.rivals {
		for _, prefix := range rival.Prefixes {
			got[rival.Name] = append(got[rival.Name], prefix.String())
		}
	}
	want := map[string][]string{
		// What it has claimed, and what it asks for.
		"moving":      {"10.1.0.0/16", "10.2.0.0/16", "2001:db8::/64"},
		"terminating": {"10.3.0.0/16"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
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
		"the neighbours": {network(className("standard")), interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken },
		}},
	} {
		t.Run(name, func(t *testing.T) {
			reader := fake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(class("standard", "")).WithInterceptorFuncs(tc.faults).Build()
			if _, err := (&webhook{reader: reader}).Gather(t.Context(), tc.object, nil); !errors.Is(err, broken) {
				t.Errorf("got %v", err)
			}
		})
	}
}
