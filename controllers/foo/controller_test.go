package foo

import (
	"context"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// mappings are how events of other objects lead to Foos.
func mappings(r *Reconciler) map[string]func(context.Context, client.Object) []reconcile.Request {
	return map[string]func(context.Context, client.Object) []reconcile.Request{
		"rivals": r.rivals, "named": r.named, "madeFrom": r.madeFrom,
	}
}

// As CN-12, of Foos: no mapping function and no predicate panics, whatever kind of
// object it is given. Tombstones end before them, and so does nothing at all:
// controller-runtime's handlers hand on what is a client.Object alone.
func TestStrangersDoNotPanic(t *testing.T) {
	strangers := map[string]client.Object{
		"a Pod":                         &corev1.Pod{},
		"a Namespace":                   &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
		"what is known by its metadata": &metav1.PartialObjectMetadata{},
		"a Foo without a name":          &samplev1alpha1.Foo{},
		"a Deployment without a name":   &appsv1.Deployment{},
		"a Deployment that a Foo names": &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}},
	}
	r := newReconciler(t, newFoo("x", "web"))
	predicates := map[string]predicate.Predicate{"foreign": predicate.NewPredicateFuncs(r.foreign), "letsGo": letsGo, "changesHands": changesHands}
	// must fails the test where f panics, and goes on.
	must := func(t *testing.T, what string, f func()) {
		defer func() {
			if fault := recover(); fault != nil {
				t.Errorf("%s panics: %v", what, fault)
			}
		}()
		f()
	}
	for name, stranger := range strangers {
		t.Run(name, func(t *testing.T) {
			for what, mapping := range mappings(r) {
				must(t, what, func() { mapping(t.Context(), stranger) })
			}
			for what, p := range predicates {
				must(t, what+" on create", func() { p.Create(event.CreateEvent{Object: stranger}) })
				must(t, what+" on delete", func() { p.Delete(event.DeleteEvent{Object: stranger}) })
				must(t, what+" on generic", func() { p.Generic(event.GenericEvent{Object: stranger}) })
				for _, other := range strangers {
					must(t, what+" on update", func() { p.Update(event.UpdateEvent{ObjectOld: stranger, ObjectNew: other}) })
				}
			}
		})
	}
}

func TestMappings(t *testing.T) {
	with := func(foo *samplev1alpha1.Foo, namespace, template string) *samplev1alpha1.Foo {
		foo.Namespace, foo.Spec.PodTemplateName = namespace, template
		return foo
	}
	r := newReconciler(t,
		newFoo("a", "web"), newFoo("b", "web"), newFoo("c", "db"), newFoo("without", ""),
		with(newFoo("d", "cache"), "default", "web"), with(newFoo("e", "web"), "elsewhere", "web"),
	)
	meta := metav1.ObjectMeta{Namespace: "default", Name: "web"}
	for name, tc := range map[string]struct {
		mapping string
		object  client.Object
		want    []string
	}{
		"a Deployment leads to all Foos that name it": {"named", &appsv1.Deployment{ObjectMeta: meta}, []string{"default/a", "default/b"}},
		"whoever's it is":                          {"named", &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "web"}}, []string{"elsewhere/e"}},
		"one that no Foo names leads nowhere":      {"named", &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}}, nil},
		"a PodTemplate leads to all that name it":  {"madeFrom", &corev1.PodTemplate{ObjectMeta: meta}, []string{"default/d"}},
		"a Foo leads to its rivals, and to itself": {"rivals", newFoo("a", "web"), []string{"default/a", "default/b"}},
		"one that is gone leads to its rivals":     {"rivals", newFoo("gone", "db"), []string{"default/c"}},
		"a stranger leads nowhere":                 {"rivals", &appsv1.Deployment{ObjectMeta: meta}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, request := range mappings(r)[tc.mapping](t.Context(), tc.object) {
				got = append(got, request.String())
			}
			slices.Sort(got)
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
	t.Run("what cannot be listed leads nowhere", func(t *testing.T) {
		r := newReconciler(t, newFoo("a", "web")).intercept(interceptor.Funcs{
			List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return errNoCache
			},
		})
		if got := r.named(t.Context(), &appsv1.Deployment{ObjectMeta: meta}); len(got) > 0 {
			t.Errorf("got %v", got)
		}
	})
}

// Our own status writes end nothing's back-off; all else comes through, and so
// does one of them that may hide a change of the spec.
func TestForeign(t *testing.T) {
	at := func(name, version string, observed *int64) *samplev1alpha1.Foo {
		foo := newFoo(name, "web")
		foo.ResourceVersion, foo.Status.ObservedGeneration = version, observed
		return foo
	}
	r, now := &Reconciler{}, new(int64(1))
	r.foos.Wrote(client.ObjectKeyFromObject(at("x", "", nil)), "7")
	for name, tc := range map[string]struct {
		object client.Object
		want   bool
	}{
		"what we wrote":                        {at("x", "7", now), false},
		"what we wrote of an older generation": {at("x", "7", new(int64(0))), true},
		"a version of ours that tells of none": {at("x", "7", nil), true},
		"what was there before":                {at("x", "6", now), true},
		"what was written later":               {at("x", "8", now), true},
		"another Foo":                          {at("y", "7", now), true},
		"what is no Foo":                       {&appsv1.Deployment{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := r.foreign(tc.object); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestLetsGo(t *testing.T) {
	changed, labelled := newFoo("x", "web"), newFoo("x", "web")
	changed.Generation, labelled.Labels, labelled.Status.Replicas = 2, map[string]string{"a": "b"}, new(int32(1))
	if letsGo.Create(event.CreateEvent{Object: changed}) || letsGo.Generic(event.GenericEvent{Object: changed}) {
		t.Error("a new Foo lets something go")
	}
	if !letsGo.Delete(event.DeleteEvent{Object: changed}) {
		t.Error("one that goes does not")
	}
	if !letsGo.Update(event.UpdateEvent{ObjectOld: newFoo("x", "web"), ObjectNew: changed}) {
		t.Error("one whose spec changes, or that is to go, does not")
	}
	if letsGo.Update(event.UpdateEvent{ObjectOld: newFoo("x", "web"), ObjectNew: labelled}) {
		t.Error("a label or a status lets something go")
	}
}

func TestChangesHands(t *testing.T) {
	mine := desiredOf(t, newFoo("x", "web"), nil)
	if !changesHands.Create(event.CreateEvent{Object: mine}) || !changesHands.Delete(event.DeleteEvent{Object: mine}) || changesHands.Generic(event.GenericEvent{Object: mine}) {
		t.Error("not each Deployment that comes or goes is looked at, and nothing else")
	}
	for name, tc := range map[string]struct {
		change func(*appsv1.Deployment)
		want   bool
	}{
		"nothing":               {func(*appsv1.Deployment) {}, false},
		"a status":              {func(d *appsv1.Deployment) { d.Status.Replicas = 3 }, false},
		"replicas":              {func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(9)) }, false},
		"another annotation":    {func(d *appsv1.Deployment) { d.Annotations = map[string]string{"a": "b"} }, false},
		"an offer":              {func(d *appsv1.Deployment) { d.Annotations = map[string]string{samplev1alpha1.AnnotationAdoptBy: "x"} }, true},
		"the owner, gone":       {func(d *appsv1.Deployment) { d.OwnerReferences = nil }, true},
		"the owner, no more so": {func(d *appsv1.Deployment) { d.OwnerReferences[0].Controller = new(false) }, true},
		"its end":               {func(d *appsv1.Deployment) { d.DeletionTimestamp = new(metav1.Now()) }, true},
		"another of its name":   {func(d *appsv1.Deployment) { d.UID = "another" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			after := mine.DeepCopy()
			tc.change(after)
			if got := changesHands.Update(event.UpdateEvent{ObjectOld: mine, ObjectNew: after}); got != tc.want {
				t.Errorf("got %t", got)
			}
			if got := changesHands.Update(event.UpdateEvent{ObjectOld: after, ObjectNew: mine}); got != tc.want {
				t.Errorf("the other way round: got %t", got)
			}
		})
	}
}
