package networkclass

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/providers/memory"
)

// bench is a reconciler over a fake API server, which counts the writes.
type bench struct {
	*Reconciler
	api    client.Client
	writes int
	// fault answers every list, if it is set.
	fault error
	// lost says that a status is stored and the answer does not come.
	lost bool
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	b := &bench{}
	b.api = fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).WithStatusSubresource(&samplecrdv1.NetworkClass{}).
		WithIndex(&samplecrdv1.Network{}, samplecrdv1.FieldNetworkClassName, func(object client.Object) []string {
			return []string{object.(*samplecrdv1.Network).Spec.NetworkClassName}
		}).
		WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
				b.writes++
				return c.Patch(ctx, object, patch, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, resource string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
				b.writes++
				err := c.SubResource(resource).Patch(ctx, object, patch, opts...)
				if b.lost {
					err = errors.New("no answer")
				}
				return err
			},
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if b.fault != nil {
					return b.fault
				}
				return c.List(ctx, list, opts...)
			},
		}).Build()
	b.Reconciler = &Reconciler{
		client: b.api, live: b.api,
		backends: map[samplecrdv1.ProviderType]providers.Provider{samplecrdv1.ProviderMultus: memory.New()},
	}
	return b
}

// stored reads the class; nil when it is gone.
func (b *bench) stored(t *testing.T) *samplecrdv1.NetworkClass {
	t.Helper()
	c := &samplecrdv1.NetworkClass{}
	err := b.api.Get(t.Context(), client.ObjectKey{Name: "standard"}, c)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// look reconciles what is stored.
func (b *bench) look(t *testing.T) error {
	t.Helper()
	_, err := b.Reconcile(t.Context(), b.stored(t))
	return err
}

func ready(c *samplecrdv1.NetworkClass) string {
	found := meta.FindStatusCondition(c.Status.Conditions, samplecrdv1.NetworkClassConditionReady)
	if found == nil || found.ObservedGeneration != c.Generation || *c.Status.ObservedGeneration != c.Generation {
		return ""
	}
	return string(found.Status) + "/" + found.Reason
}

func TestReconcile(t *testing.T) {
	unknown := func(c *samplecrdv1.NetworkClass) { c.Spec.Provider = "Carrier" }
	faulty := func(c *samplecrdv1.NetworkClass) { c.Spec.AllowedCIDRs = []string{"x"} }
	const held, others = samplecrdv1.NetworkClassFinalizer, "example.org/hold"
	for name, tc := range map[string]struct {
		objects []client.Object
		// want is Ready, with the reason; "gone" when the class is.
		want       string
		finalizers []string
		writes     int
	}{
		"a new class is held, and told ready":       {[]client.Object{class(unheld)}, "True/Ready", []string{held}, 2},
		"one held by others is held by us, too":     {[]client.Object{class(heldByOthers)}, "True/Ready", []string{others, held}, 2},
		"one that is held already":                  {[]client.Object{class()}, "True/Ready", []string{held}, 1},
		"one of no provider":                        {[]client.Object{class(unknown)}, "False/Unsupported", []string{held}, 1},
		"one of a policy with faults":               {[]client.Object{class(faulty)}, "False/Invalid", []string{held}, 1},
		"one that is going while a Network uses it": {[]client.Object{class(going), network("standard")}, "False/InUse", []string{held}, 1},
		"that it is in use is said of a bad one":    {[]client.Object{class(going, faulty, unknown), network("standard")}, "False/InUse", []string{held}, 1},
		"one that is going and nobody uses":         {[]client.Object{class(going), network("other"), network2()}, "gone", nil, 1},
		"nothing is done to one that others hold":   {[]client.Object{class(going, heldByOthers), network("standard")}, "", []string{others}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.objects...)
			if err := b.look(t); err != nil {
				t.Fatal(err)
			}
			got := b.stored(t)
			switch {
			case got == nil:
				if tc.want != "gone" {
					t.Error("it is gone")
				}
			case ready(got) != tc.want || !slices.Equal(got.Finalizers, tc.finalizers):
				t.Errorf("got %q with %q", ready(got), got.Finalizers)
			}
			if b.writes != tc.writes {
				t.Errorf("%d writes, want %d", b.writes, tc.writes)
			}
			if got == nil {
				return
			}
			if err := b.look(t); err != nil || b.writes != tc.writes {
				t.Errorf("the second pass: %d writes, %v", b.writes-tc.writes, err)
			}
		})
	}
}

// network2 names no class.
func network2() *samplecrdv1.Network {
	n := network("")
	n.Name = "n2"
	return n
}

// Only the API server's own answer lets a class go.
func TestReleaseAsksTheAPIServer(t *testing.T) {
	networks := schema.GroupResource{Group: samplecrdv1.SchemeGroupVersion.Group, Resource: "networks"}
	for name, tc := range map[string]struct {
		fault    error
		wantGone bool
	}{
		"it does not answer":          {errors.New("no answer"), false},
		"it refuses":                  {apierrors.NewForbidden(networks, "", errors.New("no right")), false},
		"it does not serve the kind":  {apierrors.NewNotFound(networks, ""), true},
		"nor is the kind discovered":  {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: networks.Group, Kind: "Network"}}, true},
		"it cannot select by a class": {apierrors.NewBadRequest("field label not supported"), false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, class(going))
			b.fault = tc.fault
			err := b.look(t)
			if gone := b.stored(t) == nil; gone != tc.wantGone || (err == nil) != tc.wantGone {
				t.Errorf("gone is %t: %v", gone, err)
			}
		})
	}
}

// The cache may not show a Network yet, or not any more.
func TestReleaseDoesNotTrustTheCache(t *testing.T) {
	for name, tc := range map[string]struct {
		cached, stored []client.Object
		wantGone       bool
	}{
		"a Network that only the API server knows":  {nil, []client.Object{network("standard")}, false},
		"a Network that has gone but for the cache": {[]client.Object{network("standard")}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, append(tc.cached, class(going))...)
			b.live = newBench(t, tc.stored...).api
			if err := b.look(t); err != nil {
				t.Fatal(err)
			}
			if gone := b.stored(t) == nil; gone != tc.wantGone {
				t.Errorf("gone is %t", gone)
			}
		})
	}
}

// A cache that is behind our own write is waited for; nothing is written over it.
func TestReconcileWaitsForTheCache(t *testing.T) {
	b := newBench(t, class(unheld))
	old := b.stored(t)
	if err := b.look(t); err != nil {
		t.Fatal(err)
	}
	writes := b.writes
	result, err := b.Reconcile(t.Context(), old)
	if err != nil || result.RequeueAfter == 0 || b.writes != writes {
		t.Errorf("got %v, %v, %d writes", result, err, b.writes-writes)
	}
}

// What somebody else changed meanwhile is kept, and the next pass is right.
func TestReconcileLosesNothing(t *testing.T) {
	b := newBench(t, class(unheld))
	old := b.stored(t)
	another := old.DeepCopy()
	another.Finalizers = []string{"example.org/hold"}
	if err := b.api.Update(t.Context(), another); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Reconcile(t.Context(), old); !apierrors.IsConflict(err) {
		t.Errorf("got %v, want a conflict", err)
	}
	if err := b.look(t); err != nil {
		t.Fatal(err)
	}
	if got := b.stored(t); len(got.Finalizers) != 2 || ready(got) != "True/Ready" {
		t.Errorf("got %q with %q", ready(got), got.Finalizers)
	}
}

// What is said of a class in use names and counts nothing, so that it stays the same
// while Networks come and go.
func TestInUseNamesNoNetwork(t *testing.T) {
	more := network("standard")
	more.Namespace, more.Name = "secret", "tenant"
	b := newBench(t, class(going), network("standard"), more)
	if err := b.look(t); err != nil {
		t.Fatal(err)
	}
	found := meta.FindStatusCondition(b.stored(t).Status.Conditions, samplecrdv1.NetworkClassConditionReady)
	if want := "Being deleted; Networks still use it and new ones are refused; list them with kubectl get networks -A --field-selector spec.networkClassName=standard"; found.Status != metav1.ConditionFalse || found.Message != want {
		t.Errorf("got %+v", found)
	}
}

// A status that was stored although the write failed is put right by the next pass,
// although the cache does not show it yet.
func TestStatusWhoseAnswerWasLost(t *testing.T) {
	b := newBench(t, &samplecrdv1.NetworkClass{
		ObjectMeta: metav1.ObjectMeta{Name: "standard", Finalizers: []string{samplecrdv1.NetworkClassFinalizer}},
		Spec:       samplecrdv1.NetworkClassSpec{Provider: samplecrdv1.ProviderMultus},
	})
	if err := b.look(t); err != nil {
		t.Fatal(err)
	}
	cached := b.stored(t)
	backends := b.backends
	b.backends, b.lost = nil, true
	if _, err := b.Reconcile(t.Context(), cached.DeepCopy()); err == nil {
		t.Fatal("the answer is not lost")
	}
	b.backends, b.lost = backends, false
	if _, err := b.Reconcile(t.Context(), cached.DeepCopy()); err == nil {
		t.Error("a pass by an old cache is content")
	}
	if err := b.look(t); err != nil {
		t.Fatal(err)
	}
	if ready := meta.FindStatusCondition(b.stored(t).Status.Conditions, samplecrdv1.NetworkClassConditionReady); ready.Status != metav1.ConditionTrue {
		t.Errorf("the class is %v", ready)
	}
}
