package networkclass

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// changed is a class or a Network, changed.
func changed[T client.Object](object T, changes ...func(T)) T {
	for _, change := range changes {
		change(object)
	}
	return object
}

// class is a class that a controller has seen and holds.
func class(changes ...func(*samplecrdv1.NetworkClass)) *samplecrdv1.NetworkClass {
	c := &samplecrdv1.NetworkClass{}
	c.Name, c.Generation, c.Finalizers = "standard", 3, []string{samplecrdv1.NetworkClassFinalizer}
	c.Spec.Provider = samplecrdv1.ProviderMultus
	c.Status.ObservedGeneration = new(int64(3))
	return changed(c, changes...)
}

func going(c *samplecrdv1.NetworkClass) { c.DeletionTimestamp = new(metav1.Unix(1, 0)) }

func unheld(c *samplecrdv1.NetworkClass) { c.Finalizers = nil }

// heldByOthers keeps a class that is going without our finalizer.
func heldByOthers(c *samplecrdv1.NetworkClass) { c.Finalizers = []string{"example.org/hold"} }

func network(className string) *samplecrdv1.Network {
	n := &samplecrdv1.Network{}
	n.Namespace, n.Name, n.Spec.NetworkClassName = "shop", "n", className
	return n
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := samplecrdv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return scheme
}

func TestAsked(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after *samplecrdv1.NetworkClass
		want          bool
	}{
		"nothing of ours":                {class(), class(func(c *samplecrdv1.NetworkClass) { c.Labels = map[string]string{"a": "b"} }), false},
		"our own status":                 {class(func(c *samplecrdv1.NetworkClass) { c.Status.ObservedGeneration = new(int64(2)) }), class(), false},
		"our own finalizer":              {class(unheld), class(), false},
		"another spec":                   {class(), class(func(c *samplecrdv1.NetworkClass) { c.Generation = 4 }), true},
		"the end":                        {class(), class(going), true},
		"a status that somebody cleared": {class(), class(func(c *samplecrdv1.NetworkClass) { c.Status = samplecrdv1.NetworkClassStatus{} }), true},
		"a status that somebody wrote":   {class(), class(func(c *samplecrdv1.NetworkClass) { c.Status.ObservedGeneration = new(int64(7)) }), true},
		"a finalizer that was taken off": {class(), class(unheld), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := asked.Update(event.UpdateEvent{ObjectOld: tc.before, ObjectNew: tc.after}); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
	if !asked.Create(event.CreateEvent{Object: class()}) || asked.Delete(event.DeleteEvent{Object: class()}) {
		t.Error("a class is looked at when it comes, not when it has gone")
	}
}

func TestLetsGo(t *testing.T) {
	if letsGo.Create(event.CreateEvent{Object: network("standard")}) || !letsGo.Delete(event.DeleteEvent{Object: network("standard")}) {
		t.Error("a Network lets go when it goes, not when it comes")
	}
	if letsGo.Update(event.UpdateEvent{ObjectOld: network("standard"), ObjectNew: network("standard")}) {
		t.Error("a Network that keeps its class does not let go")
	}
	if !letsGo.Update(event.UpdateEvent{ObjectOld: network("standard"), ObjectNew: network("other")}) {
		t.Error("a Network of another class lets go of its class")
	}
}

// A class is looked at again for the end of a Network only while it is going itself.
func TestLeavingClass(t *testing.T) {
	for name, tc := range map[string]struct {
		class   *samplecrdv1.NetworkClass
		network client.Object
		want    bool
	}{
		"a class that stays":             {class(), network("standard"), false},
		"a class that is going":          {class(going), network("standard"), true},
		"another class that is going":    {class(going), network("other"), false},
		"a Network without a class":      {class(going), network(""), false},
		"what is no Network":             {class(going), &corev1.Pod{}, false},
		"a Network that is nil, at that": {class(going), (*samplecrdv1.Network)(nil), false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{client: fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(tc.class).Build()}
			requests := r.leavingClass(t.Context(), tc.network)
			if got := len(requests) == 1 && requests[0].Name == "standard"; got != tc.want || len(requests) > 1 {
				t.Errorf("got %v", requests)
			}
		})
	}
}

// One cached read, and no list: Networks go by the thousand.
func TestLeavingClassReadsOneObject(t *testing.T) {
	reads := 0
	r := &Reconciler{client: fake.NewClientBuilder().WithScheme(scheme(t)).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			reads++
			return c.Get(ctx, key, object, opts...)
		},
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			t.Error("something is listed")
			return nil
		},
	}).Build()}
	r.leavingClass(t.Context(), network("standard"))
	if reads != 1 {
		t.Errorf("%d reads", reads)
	}
}

// CN-12: no mapping function and no predicate panics, whatever it is given.
func TestCN12StrangersDoNotPanic(t *testing.T) {
	strangers := map[string]client.Object{
		"nothing":                    nil,
		"a Network that is nil":      (*samplecrdv1.Network)(nil),
		"a NetworkClass that is nil": (*samplecrdv1.NetworkClass)(nil),
		"a Pod":                      &corev1.Pod{},
		"a Network without a name":   &samplecrdv1.Network{},
		"a NetworkClass without one": &samplecrdv1.NetworkClass{},
	}
	r := &Reconciler{client: fake.NewClientBuilder().WithScheme(scheme(t)).Build()}
	for name, stranger := range strangers {
		t.Run(name, func(t *testing.T) {
			r.leavingClass(t.Context(), stranger)
			for _, p := range []predicate.Predicate{asked, letsGo} {
				p.Create(event.CreateEvent{Object: stranger})
				p.Delete(event.DeleteEvent{Object: stranger})
				p.Generic(event.GenericEvent{Object: stranger})
				for _, other := range strangers {
					p.Update(event.UpdateEvent{ObjectOld: stranger, ObjectNew: other})
				}
			}
		})
	}
}
