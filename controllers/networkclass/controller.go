// Package networkclass says of each NetworkClass whether it can be used.
package networkclass

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// Name is the controller's name: in logs, metrics and managed fields.
const Name = "networkclass"

// +kubebuilder:rbac:groups=samplecrd.k8s.io,resources=networkclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups=samplecrd.k8s.io,resources=networkclasses/status,verbs=patch

// Reconciler keeps the status of NetworkClasses.
type Reconciler struct {
	client   client.Client
	backends map[samplecrdv1.ProviderType]providers.Provider
}

// SetupWithManager adds the controller to mgr.
func SetupWithManager(mgr ctrl.Manager, backends map[samplecrdv1.ProviderType]providers.Provider) error {
	r := &Reconciler{client: mgr.GetClient(), backends: backends}
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&samplecrdv1.NetworkClass{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// Reconcile writes the status of one class, if it says something new.
func (r *Reconciler) Reconcile(ctx context.Context, class *samplecrdv1.NetworkClass) (ctrl.Result, error) {
	ready := metav1.Condition{
		Type: samplecrdv1.NetworkClassConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: class.Generation,
		Reason: samplecrdv1.NetworkClassReasonReady, Message: "Networks of this class can be made",
	}
	if r.backends[class.Spec.Provider] == nil {
		ready.Status, ready.Reason = metav1.ConditionFalse, samplecrdv1.NetworkClassReasonUnsupported
		ready.Message = fmt.Sprintf("This build has no provider %q", class.Spec.Provider)
	}
	observed := class.DeepCopy()
	observed.Status.ObservedGeneration = &class.Generation
	meta.SetStatusCondition(&observed.Status.Conditions, ready)
	if equality.Semantic.DeepEqual(class.Status, observed.Status) {
		return ctrl.Result{}, nil
	}
	err := r.client.Status().Patch(ctx, observed, client.MergeFrom(class), client.FieldOwner(Name))
	return ctrl.Result{}, client.IgnoreNotFound(err)
}
