package foo

import (
	"context"
	"errors"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/controllers/pace"
)

// ended is a pass that ends with this reason, of a Foo whose status had that one.
func ended(before, now string) *pass {
	old := &pass{foo: newFoo("x", "web")}
	if before != "" {
		old.set(before, "Because")
		old.count()
	}
	p := &pass{foo: old.foo.DeepCopy(), stored: *old.foo.Status.DeepCopy()}
	p.set(now, "Because")
	return p
}

func TestWriteStatus(t *testing.T) {
	writes := func(count *int, answer error) interceptor.Funcs {
		return interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, name string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			*count++
			if answer != nil {
				return answer
			}
			return c.SubResource(name).Patch(ctx, object, patch, opts...)
		}}
	}
	for name, tc := range map[string]struct {
		pass       *pass
		there      bool
		answer     error
		wantWrites int
		wantErr    bool
	}{
		"what is new is written":                    {ended("", samplev1alpha1.FooReasonProgressing), true, nil, 1, false},
		"what changed is written":                   {ended(samplev1alpha1.FooReasonProgressing, samplev1alpha1.FooReasonReady), true, nil, 1, false},
		"what is as it was is not":                  {ended(samplev1alpha1.FooReasonReady, samplev1alpha1.FooReasonReady), true, nil, 0, false},
		"a Foo that is gone needs no status":        {ended("", samplev1alpha1.FooReasonProgressing), false, nil, 1, false},
		"what cannot be written is told, and again": {ended("", samplev1alpha1.FooReasonProgressing), true, errReset, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			if tc.there {
				foo := tc.pass.foo.DeepCopy()
				foo.Status = tc.pass.stored
				objects = append(objects, foo)
			}
			count := 0
			r := newReconciler(t, objects...).intercept(writes(&count, tc.answer))
			key := client.ObjectKeyFromObject(tc.pass.foo)
			err := r.writeStatus(t.Context(), tc.pass)
			if count != tc.wantWrites || (err != nil) != tc.wantErr {
				t.Errorf("%d writes, %v", count, err)
			}
			written := tc.there && tc.answer == nil && tc.wantWrites > 0
			if tc.pass.changed != written || r.foos.Behind(key, "") != written {
				t.Errorf("changed is %t, waited for %t", tc.pass.changed, r.foos.Behind(key, ""))
			}
			if !written {
				return
			}
			var stored samplev1alpha1.Foo
			if err := r.live.Get(t.Context(), key, &stored); err != nil {
				t.Fatal(err)
			}
			if ready(&stored).Reason != ready(tc.pass.foo).Reason || !r.foos.Is(&stored) {
				t.Errorf("got %+v", stored.Status)
			}
		})
	}
}

// Events tell of transitions, not of passes.
func TestTell(t *testing.T) {
	const (
		written   = "Normal Synced Foo synced successfully: Deployment web written, replicas: 2"
		available = "Normal Synced Foo synced successfully: Deployment web available, replicas: 2"
		exists    = "Warning ErrResourceExists Because"
	)
	applied := func(p *pass) *pass { p.applied = true; return p }
	// counted has the status differ from what it was, but for the reason.
	counted := func(p *pass) *pass { p.stored.Replicas = new(int32(7)); return p }
	// asBefore has the status end as it was.
	asBefore := func(p *pass) *pass {
		p.count()
		p.stored = *p.foo.Status.DeepCopy()
		return p
	}
	for name, tc := range map[string]struct {
		pass *pass
		want string // "" for none
	}{
		"the Deployment was written":              {applied(ended("", samplev1alpha1.FooReasonProgressing)), written},
		"it was, and is not ready for long":       {applied(ended(samplev1alpha1.FooReasonProgressing, samplev1alpha1.FooReasonProgressing)), written},
		"it was, and the status is as before":     {asBefore(applied(ended(samplev1alpha1.FooReasonProgressing, samplev1alpha1.FooReasonProgressing))), written},
		"its replicas have become available":      {ended(samplev1alpha1.FooReasonProgressing, samplev1alpha1.FooReasonReady), available},
		"they were":                               {ended(samplev1alpha1.FooReasonReady, samplev1alpha1.FooReasonReady), ""},
		"they were, and there are fewer":          {counted(ended(samplev1alpha1.FooReasonReady, samplev1alpha1.FooReasonReady)), ""},
		"they are no longer":                      {ended(samplev1alpha1.FooReasonReady, samplev1alpha1.FooReasonProgressing), ""},
		"the first time it is found at work":      {ended("", samplev1alpha1.FooReasonProgressing), ""},
		"CF-02: the name is another's":            {ended("", samplev1alpha1.FooReasonResourceExists), exists},
		"it still is":                             {ended(samplev1alpha1.FooReasonResourceExists, samplev1alpha1.FooReasonResourceExists), ""},
		"it still is, and something else is told": {counted(ended(samplev1alpha1.FooReasonResourceExists, samplev1alpha1.FooReasonResourceExists)), ""},
		"it is by now":                            {ended(samplev1alpha1.FooReasonReady, samplev1alpha1.FooReasonResourceExists), exists},
		"something else is in the way":            {ended(samplev1alpha1.FooReasonResourceExists, samplev1alpha1.FooReasonTemplateNotFound), "Warning TemplateNotFound Because"},
		"the API server does not answer":          {ended(samplev1alpha1.FooReasonReady, samplev1alpha1.FooReasonBackendUnavailable), "Warning BackendUnavailable Because"},
		"it came to rest after all":               {ended(samplev1alpha1.FooReasonResourceExists, samplev1alpha1.FooReasonReady), available},
		"AF-10: the spec is bad":                  {ended("", samplev1alpha1.FooReasonInvalid), "Warning Invalid Because"},
	} {
		t.Run(name, func(t *testing.T) {
			foo := tc.pass.foo.DeepCopy()
			foo.Status = tc.pass.stored
			r := newReconciler(t, foo)
			recorder := events.NewFakeRecorder(10)
			r.recorder = recorder
			if err := r.writeStatus(t.Context(), tc.pass); err != nil {
				t.Fatal(err)
			}
			close(recorder.Events)
			var got []string
			for event := range recorder.Events {
				got = append(got, event)
			}
			var want []string
			if tc.want != "" {
				want = []string{tc.want}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// CF-01: what a rename left behind goes once the new Deployment is available, and
// not before.
func TestSweep(t *testing.T) {
	old := func() *appsv1.Deployment {
		d := desiredOf(t, newFoo("x", "old"), nil)
		d.UID = "uid-of-old"
		return d
	}
	for name, tc := range map[string]struct {
		deployment *appsv1.Deployment
		applied    bool
		read       func(*appsv1.Deployment) // what the pass has read differs
		wantGone   bool
		wantErr    bool
	}{
		"the new one is available":             {at(t, 3, 3, counts{2, 2, 2}), false, nil, true, false},
		"it is not":                            {at(t, 3, 3, counts{2, 2, 1}), false, nil, false, false},
		"its status is of an older generation": {at(t, 3, 2, counts{2, 2, 2}), false, nil, false, false},
		"it was written just now":              {at(t, 3, 3, counts{2, 2, 2}), true, nil, false, false},
		"it was made just now":                 {nil, true, nil, false, false},
		"the old one has changed since":        {at(t, 3, 3, counts{2, 2, 2}), false, func(d *appsv1.Deployment) { d.ResourceVersion = "5" }, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReconciler(t, old())
			var stored appsv1.Deployment
			if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(old()), &stored); err != nil {
				t.Fatal(err)
			}
			seen := stored.DeepCopy()
			if tc.read != nil {
				tc.read(seen)
			}
			p := &pass{foo: newFoo("x", "web"), deployment: tc.deployment, applied: tc.applied, others: []*appsv1.Deployment{seen}}
			next, err := r.sweep(t.Context(), p)
			if next == tc.wantErr || (err != nil) != tc.wantErr {
				t.Errorf("next is %t: %v", next, err)
			}
			gone := apierrors.IsNotFound(r.client.Get(t.Context(), client.ObjectKeyFromObject(old()), &stored))
			if gone != tc.wantGone || p.changed != tc.wantGone || (len(p.others) == 0) != tc.wantGone {
				t.Errorf("gone is %t, changed %t, others %v", gone, p.changed, namesOf(p.others))
			}
		})
	}
	t.Run("what is gone already is no fault", func(t *testing.T) {
		p := &pass{foo: newFoo("x", "web"), deployment: at(t, 3, 3, counts{2, 2, 2}), others: []*appsv1.Deployment{old()}}
		if next, err := newReconciler(t).sweep(t.Context(), p); err != nil || !next {
			t.Errorf("next is %t: %v", next, err)
		}
	})
	t.Run("nothing but what was read is deleted, and nobody waits for its Pods", func(t *testing.T) {
		var options client.DeleteOptions
		r := newReconciler(t, old()).intercept(interceptor.Funcs{
			Delete: func(_ context.Context, _ client.WithWatch, _ client.Object, opts ...client.DeleteOption) error {
				options.ApplyOptions(opts)
				return nil
			},
		})
		seen := old()
		seen.ResourceVersion = "7"
		p := &pass{foo: newFoo("x", "web"), deployment: at(t, 3, 3, counts{2, 2, 2}), others: []*appsv1.Deployment{seen}}
		if next, err := r.sweep(t.Context(), p); err != nil || !next {
			t.Fatalf("next is %t: %v", next, err)
		}
		on := options.Preconditions
		if on == nil || on.UID == nil || *on.UID != "uid-of-old" || on.ResourceVersion == nil || *on.ResourceVersion != "7" {
			t.Errorf("deleted on %+v", on)
		}
		if policy := options.PropagationPolicy; policy == nil || *policy != metav1.DeletePropagationBackground {
			t.Errorf("deleted by %v", policy)
		}
	})
	t.Run("what may not be deleted is told", func(t *testing.T) {
		r := newReconciler(t, old()).intercept(interceptor.Funcs{
			Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
				return errForbidden
			},
		})
		foo := newFoo("x", "web")
		p := &pass{foo: foo, deployment: at(t, 3, 3, counts{2, 2, 2}), others: []*appsv1.Deployment{old()}}
		if next, err := r.sweep(t.Context(), p); err != nil || next || ready(foo).Reason != samplev1alpha1.FooReasonRejected {
			t.Errorf("next is %t: %v; %+v", next, err, foo.Status.Conditions)
		}
	})
}

// A Foo that is to go is left to the garbage collector, and one that the cache
// does not show as we wrote it is waited for.
func TestReconcileLooksAway(t *testing.T) {
	nothing := interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("it is looked at")
		},
	}
	t.Run("a Foo that is to go", func(t *testing.T) {
		foo := newFoo("x", "web")
		foo.DeletionTimestamp = new(metav1.Now())
		if result, err := newReconciler(t).intercept(nothing).Reconcile(t.Context(), foo); err != nil || !result.IsZero() {
			t.Errorf("got %+v, %v", result, err)
		}
	})
	t.Run("a Foo of before our last write", func(t *testing.T) {
		foo := newFoo("x", "web")
		foo.ResourceVersion = "6"
		r := newReconciler(t).intercept(nothing)
		r.foos.Wrote(client.ObjectKeyFromObject(foo), "7")
		if result, err := r.Reconcile(t.Context(), foo); err != nil || result.RequeueAfter != pace.CatchUp {
			t.Errorf("got %+v, %v", result, err)
		}
	})
	t.Run("a step that fails says nothing that it does not know", func(t *testing.T) {
		foo, faults := newFoo("x", "web"), nothing
		faults.SubResourcePatch = func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			t.Error("a status is written")
			return nil
		}
		if _, err := newReconciler(t, foo).intercept(faults).Reconcile(t.Context(), foo); err == nil {
			t.Error("the fault is not told")
		}
	})
}
