package network

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// page is how many Networks one call lists.
const page = 500

// recall tells the arbiter, once and before anything else is done, what is recorded.
// It asks the API server itself: the cache may not show yet what the leader before
// us recorded last. From then on no pass acts on a Network older than the one seen
// here.
func (r *Reconciler) recall(ctx context.Context) error {
	r.recalling.Lock()
	defer r.recalling.Unlock()
	if r.recalled {
		return nil
	}
	for next, more := "", true; more; more = next != "" {
		// A fresh one: a page is decoded into what is there already.
		var networks samplecrdv1.NetworkList
		if err := r.live.List(ctx, &networks, client.Limit(page), client.Continue(next)); err != nil {
			return fmt.Errorf("listing what is recorded: %w", err)
		}
		next = networks.Continue
		for i := range networks.Items {
			network := &networks.Items[i]
			r.own.Wrote(client.ObjectKeyFromObject(network), network.ResourceVersion)
			if network.DeletionTimestamp == nil || controllerutil.ContainsFinalizer(network, samplecrdv1.NetworkFinalizer) {
				r.arbiter.recall(network.Spec.NetworkClassName, addressing.OwnerOf(network), addressing.Recorded(&network.Status))
			}
		}
	}
	r.recalled = true
	return nil
}

// shown says that the cache has an owner's Network.
func (r *Reconciler) shown(owner addressing.Owner) bool {
	var network samplecrdv1.Network
	err := r.client.Get(context.Background(), owner.NamespacedName, &network, client.UnsafeDisableDeepCopy)
	return err == nil && network.UID == owner.UID
}

// forgets is told of each Network that is gone.
func (r *Reconciler) forgets() handler.EventHandler {
	return handler.Funcs{
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			// One that goes while what is recorded is read must not be recorded after.
			r.recalling.Lock()
			defer r.recalling.Unlock()
			network, isNetwork := e.Object.(*samplecrdv1.Network)
			if !isNetwork || network == nil {
				return
			}
			r.arbiter.forget(addressing.OwnerOf(network))
			r.untouched.Delete(network.UID)
			if controllerutil.ContainsFinalizer(network, samplecrdv1.NetworkFinalizer) && network.DeletionTimestamp == nil {
				r.torn.Store(network.UID, network)
				queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(network)})
			}
		},
	}
}

// queue takes the controller's queue for the arbiter to wake Networks with.
func (r *Reconciler) queue() source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.arbiter.wake = func(name types.NamespacedName) { queue.Add(reconcile.Request{NamespacedName: name}) }
		return nil
	})
}
