// Package pace says when a controller looks at an object again.
package pace

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	workers = 4
	// timeout bounds one pass. Its steps get less, so that the status can still be
	// written when they took too long.
	timeout = 2 * time.Minute
	// StepsTimeout bounds the steps of one pass.
	StepsTimeout = 90 * time.Second
	// The delays of a retry that is due soon; they double in between.
	retryBase, retryMost = 100 * time.Millisecond, 30 * time.Second
	// A retry that waits for somebody comes after four to six minutes, at random,
	// so that many objects do not ask at once.
	slowRetryLeast, slowRetrySpread = 4 * time.Minute, 0.5
	// CatchUp is the pause in which the cache learns of our own write.
	CatchUp = 20 * time.Millisecond
)

// Options are those of every controller that does work.
func Options() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		ReconciliationTimeout:   timeout,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryBase, retryMost),
	}
}

// Slowly is the delay of a retry that waits for somebody.
func Slowly() time.Duration { return wait.Jitter(slowRetryLeast, slowRetrySpread) }

// Writes remembers the last resource version that we wrote of each object of one
// kind, so that no pass acts on a cache that is behind it. The zero value is empty.
type Writes struct{ versions, doubts sync.Map }

// Wrote remembers what the API server answered.
func (w *Writes) Wrote(key types.NamespacedName, resourceVersion string) {
	w.versions.Store(key, resourceVersion)
	w.doubts.Delete(key)
}

// failed remembers that a write failed: it may have arrived all the same.
func (w *Writes) failed(key types.NamespacedName) { w.doubts.Store(key, true) }

// inDoubt says that the object may be another than the cache shows, by a write of ours
// that failed.
func (w *Writes) inDoubt(key types.NamespacedName) bool {
	_, doubted := w.doubts.Load(key)
	return doubted
}

// StoreStatus stores the status of after, which is before but for that, and says
// whether it is another one. One that says nothing new is not written, unless the
// last write failed: then the next has to carry the resource version, be there
// nothing to change. An object that is gone has no status.
func (w *Writes) StoreStatus(ctx context.Context, c client.Client, before, after client.Object, owner client.FieldOwner) (changed bool, err error) {
	key := client.ObjectKeyFromObject(after)
	same, doubted := equality.Semantic.DeepEqual(before, after), w.inDoubt(key)
	if same && !doubted {
		return false, nil
	}
	patch := client.MergeFrom(before)
	if doubted {
		patch = client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	}
	written := after.DeepCopyObject().(client.Object)
	err = c.Status().Patch(ctx, written, patch, owner)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		w.failed(key)
		return false, fmt.Errorf("writing the status: %w", err)
	}
	w.Wrote(key, written.GetResourceVersion())
	return !same, nil
}

// Is says that this version of the object is the one that we wrote.
func (w *Writes) Is(object client.Object) bool {
	version, wrote := w.versions.Load(client.ObjectKeyFromObject(object))
	return wrote && version == object.GetResourceVersion()
}

// Behind says that the cache, which holds resourceVersion or "" for nothing, does
// not have our last write yet.
func (w *Writes) Behind(key types.NamespacedName, resourceVersion string) bool {
	version, wrote := w.versions.Load(key)
	if !wrote {
		return false
	}
	return resourceVersion == "" || older(resourceVersion, version.(string))
}

// Gone forgets what was written of an object once the cache has seen it go.
func (w *Writes) Gone() handler.EventHandler {
	return handler.Funcs{
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			key := client.ObjectKeyFromObject(e.Object)
			w.doubts.Delete(key)
			if version, wrote := w.versions.Load(key); wrote && !older(e.Object.GetResourceVersion(), version.(string)) {
				w.versions.CompareAndDelete(key, version)
			}
		},
	}
}

func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}
