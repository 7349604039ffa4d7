package network

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// strangers are what may reach an event handler besides the kind it is for.
func strangers() map[string]client.Object {
	return map[string]client.Object{
		"nothing":                    nil,
		"a Network that is nil":      (*samplecrdv1.Network)(nil),
		"a NetworkClass that is nil": (*samplecrdv1.NetworkClass)(nil),
		"a Pod":                      &corev1.Pod{},
		"a Network without a name":   &samplecrdv1.Network{},
	}
}

// must fails the test where f panics, and goes on.
func must(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if fault := recover(); fault != nil {
			t.Errorf("%s panics: %v", what, fault)
		}
	}()
	f()
}

// CN-12: no mapping function and no predicate panics, whatever it is given.
// Tombstones end before them: there are no event handlers of our own, and
// controller-runtime's hand on what is a client.Object alone.
func TestCN12StrangersDoNotPanic(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := samplecrdv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	waiting := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "waiting"}}
	r := &Reconciler{client: indexed(scheme).WithObjects(waiting).Build(), arbiter: newArbiter(addressing.NewClaims(), func(addressing.Owner) bool { return true })}
	predicates := map[string]predicate.Predicate{"asked": asked, "relabelled": relabelled, "classChanged": classChanged}

	for name, stranger := range strangers() {
		t.Run(name, func(t *testing.T) {
			must(t, "ofNamespace", func() { r.ofNamespace(t.Context(), stranger) })
			must(t, "forgets", func() { r.forgets().Delete(t.Context(), event.DeleteEvent{Object: stranger}, nil) })
			must(t, "ofClass", func() { r.ofClass(t.Context(), stranger) })
			for what, p := range predicates {
				must(t, what+" on create", func() { p.Create(event.CreateEvent{Object: stranger}) })
				must(t, what+" on delete", func() { p.Delete(event.DeleteEvent{Object: stranger}) })
				must(t, what+" on generic", func() { p.Generic(event.GenericEvent{Object: stranger}) })
				for _, other := range strangers() {
					must(t, what+" on update", func() { p.Update(event.UpdateEvent{ObjectOld: stranger, ObjectNew: other}) })
				}
			}
		})
	}
}

// indexed finds Networks by their class, as the cache does.
func indexed(scheme *runtime.Scheme) *fake.ClientBuilder {
	return fake.NewClientBuilder().WithScheme(scheme).WithIndex(&samplecrdv1.Network{}, samplecrdv1.FieldNetworkClassName, func(object client.Object) []string {
		return []string{object.(*samplecrdv1.Network).Spec.NetworkClassName}
	})
}

func TestClassLeadsToItsNetworks(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := samplecrdv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	network := func(name, class string) client.Object {
		network := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		network.Spec.NetworkClassName = class
		return network
	}
	r := &Reconciler{client: indexed(scheme).
		WithObjects(network("of-it", "standard"), network("of-another", "fast"), network("of-none", "")).Build()}
	got := map[string]bool{}
	for _, request := range r.ofClass(t.Context(), &samplecrdv1.NetworkClass{ObjectMeta: metav1.ObjectMeta{Name: "standard"}}) {
		got[request.Name] = true
	}
	want := map[string]bool{"of-it": true, "of-none": true}
	if len(got) != len(want) || !got["of-it"] || !got["of-none"] {
		t.Errorf("got requests for %v, want %v", got, want)
	}
}
