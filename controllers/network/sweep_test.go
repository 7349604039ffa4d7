package network

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

func TestSweep(t *testing.T) {
	retain := func(network *samplecrdv1.Network) { network.Spec.DeletionPolicy = new(samplecrdv1.DeletionRetain) }
	for name, tc := range map[string]struct {
		// last changes the Network as its end shows it.
		last                     func(*samplecrdv1.Network)
		wantHeld, wantLeftBehind int
	}{
		"one torn away with our finalizer on it":    {func(*samplecrdv1.Network) {}, 0, 0},
		"its policy is kept to":                     {retain, 0, 1},
		"its status does not say which backend":     {func(network *samplecrdv1.Network) { network.Status.Provider = nil }, 0, 0},
		"one that finalize has let go was not":      {func(network *samplecrdv1.Network) { network.DeletionTimestamp = new(metav1.Now()) }, 1, 0},
		"nor was one whose finalizer was taken off": {func(network *samplecrdv1.Network) { network.Finalizers = nil }, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, 1)
			s.threeClasses()
			network := s.create("shop", "wide", 0, "10.0.0.0/24")
			s.settle()
			last := s.latest[types.NamespacedName{Namespace: "shop", Name: network.Name}].DeepCopy()
			tc.last(last)
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			s.r.forgets().Delete(t.Context(), event.DeleteEvent{Object: last}, queue)
			if queue.Len() > 0 {
				request, _ := queue.Get()
				looked := 0
				swept := s.r.sweeping(reconcile.Func(func(context.Context, reconcile.Request) (ctrl.Result, error) {
					looked++
					return ctrl.Result{}, nil
				}))
				if tc.wantLeftBehind == 0 {
					s.backend.Fail(errors.New("no answer"))
					if _, err := swept.Reconcile(t.Context(), request); err == nil || looked > 0 {
						t.Error("a backend that does not answer is not asked again")
					}
				}
				if _, err := swept.Reconcile(t.Context(), request); err != nil || looked != 1 {
					t.Errorf("%v, and the Network of its name was looked at %d times", err, looked)
				}
			}
			if held := len(s.backend.Networks()); held != tc.wantHeld {
				t.Errorf("the backend holds %d networks, want %d", held, tc.wantHeld)
			}
			if left := len(s.backend.Released()); left != tc.wantLeftBehind {
				t.Errorf("%d networks are left behind, want %d", left, tc.wantLeftBehind)
			}
		})
	}
}
