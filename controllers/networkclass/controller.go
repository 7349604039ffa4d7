// Package networkclass says of each NetworkClass whether it can be used, and keeps
// it until no Network names it any more.
package networkclass

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/pace"
	"github.com/samplecrd/samplecrd/providers"
)

// Name is the controller's name: in logs, metrics and managed fields.
const Name = "networkclass"

// +kubebuilder:rbac:groups=samplecrd.k8s.io,resources=networkclasses,verbs=list;watch;patch
// +kubebuilder:rbac:groups=samplecrd.k8s.io,resources=networkclasses/status,verbs=patch
// +kubebuilder:rbac:groups=samplecrd.k8s.io,resources=networks,verbs=list;watch

// Reconciler keeps the finalizer and the status of NetworkClasses.
type Reconciler struct {
	client client.Client
	// live asks the API server itself: a cache that is behind must not let a class
	// go that a Network names.
	live     client.Reader
	backends map[samplecrdv1.ProviderType]providers.Provider
	own      pace.Writes
}

// SetupWithManager adds the controller to mgr.
func SetupWithManager(mgr ctrl.Manager, backends map[samplecrdv1.ProviderType]providers.Provider) error {
	r := &Reconciler{client: mgr.GetClient(), live: mgr.GetAPIReader(), backends: backends}
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&samplecrdv1.NetworkClass{}, builder.WithPredicates(asked)).
		Watches(&samplecrdv1.NetworkClass{}, r.own.Gone()).
		Watches(&samplecrdv1.Network{}, handler.EnqueueRequestsFromMapFunc(r.leavingClass), builder.WithPredicates(letsGo)).
		WithOptions(pace.Options()).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// asked passes a class that is new, of which another spec or the end is asked, or
// that has lost what we gave it.
var asked = predicate.Funcs{
	DeleteFunc: func(event.DeleteEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, isClass := e.ObjectOld.(*samplecrdv1.NetworkClass)
		after, isClassToo := e.ObjectNew.(*samplecrdv1.NetworkClass)
		if !isClass || !isClassToo || before == nil || after == nil {
			return false
		}
		observed := after.Status.ObservedGeneration
		return before.Generation != after.Generation ||
			(before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) ||
			observed == nil || *observed != after.Generation ||
			!controllerutil.ContainsFinalizer(after, samplecrdv1.NetworkClassFinalizer)
	},
}

// letsGo passes the events after which a Network may no longer name its class.
var letsGo = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, isNetwork := e.ObjectOld.(*samplecrdv1.Network)
		after, isNetworkToo := e.ObjectNew.(*samplecrdv1.Network)
		return isNetwork && isNetworkToo && before != nil && after != nil &&
			before.Spec.NetworkClassName != after.Spec.NetworkClassName
	},
}

// leavingClass asks for another look at the class of a Network if it is being
// deleted.
func (r *Reconciler) leavingClass(ctx context.Context, object client.Object) []reconcile.Request {
	network, isNetwork := object.(*samplecrdv1.Network)
	if !isNetwork || network == nil || network.Spec.NetworkClassName == "" {
		return nil
	}
	key := types.NamespacedName{Name: network.Spec.NetworkClassName}
	var class samplecrdv1.NetworkClass
	err := r.client.Get(ctx, key, &class, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) || (err == nil && class.DeletionTimestamp == nil) {
		return nil
	}
	return []reconcile.Request{{NamespacedName: key}}
}
