// Package foo keeps the Deployments of Foos.
package foo

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/controllers/pace"
)

// Name is the controller's name: in logs, metrics, events and managed fields.
const Name = "foo"

// +kubebuilder:rbac:groups=samplecontroller.k8s.io,resources=foos,verbs=list;watch
// +kubebuilder:rbac:groups=samplecontroller.k8s.io,resources=foos/status,verbs=patch
// +kubebuilder:rbac:groups=samplecontroller.k8s.io,resources=foos/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=podtemplates,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler brings the Deployment of a Foo to what the Foo asks for, and the
// status to what was seen of it.
type Reconciler struct {
	client client.Client
	// live reads what the cache has not seen yet.
	live     client.Reader
	recorder events.EventRecorder
	// image is that of Foos without a PodTemplate.
	image string
	// foos and deployments are our own last writes of each.
	foos, deployments pace.Writes
}

// SetupWithManager adds the controller to mgr. image is the one that Foos without
// a PodTemplate run.
func SetupWithManager(mgr ctrl.Manager, image string) error {
	r := &Reconciler{
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		recorder: mgr.GetEventRecorder(Name),
		image:    image,
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&samplev1alpha1.Foo{}, builder.WithPredicates(predicate.NewPredicateFuncs(r.foreign))).
		Watches(&samplev1alpha1.Foo{}, r.foos.Gone()).
		Watches(&samplev1alpha1.Foo{}, handler.EnqueueRequestsFromMapFunc(r.rivals), builder.WithPredicates(letsGo)).
		Owns(&appsv1.Deployment{}).
		Watches(&appsv1.Deployment{}, r.deployments.Gone()).
		Watches(&appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(r.named), builder.WithPredicates(changesHands)).
		Watches(&corev1.PodTemplate{}, handler.EnqueueRequestsFromMapFunc(r.madeFrom)).
		WithOptions(pace.Options()).
		Complete(reconcile.AsReconciler(mgr.GetClient(), r))
}

// foreign passes all but our own status writes: the pass that wrote one has said
// itself when the next is due, and its back-off must not be cut short. One that
// speaks of an older generation has met a change of the spec.
func (r *Reconciler) foreign(object client.Object) bool {
	foo, isFoo := object.(*samplev1alpha1.Foo)
	return isFoo && foo != nil && (!r.foos.Is(foo) || ptr.Deref(foo.Status.ObservedGeneration, -1) != foo.Generation)
}

// letsGo passes the events after which a Foo may leave a name to another one.
var letsGo = predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration()
	},
}

// changesHands passes the events after which a Deployment may be another's, or
// may be ours to take.
var changesHands = predicate.Funcs{
	GenericFunc: func(event.GenericEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld, e.ObjectNew
		return before.GetUID() != after.GetUID() ||
			before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
			before.GetAnnotations()[samplev1alpha1.AnnotationAdoptBy] != after.GetAnnotations()[samplev1alpha1.AnnotationAdoptBy] ||
			!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences())
	},
}

// rivals asks for another look at the other Foos that name the Deployment that a
// Foo names, or named.
func (r *Reconciler) rivals(ctx context.Context, object client.Object) []reconcile.Request {
	foo, isFoo := object.(*samplev1alpha1.Foo)
	if !isFoo || foo == nil {
		return nil
	}
	return r.naming(ctx, foo.Namespace, samplev1alpha1.FieldDeploymentName, foo.Spec.DeploymentName)
}

// named asks for another look at the Foos that name a Deployment, whoever's it is.
func (r *Reconciler) named(ctx context.Context, object client.Object) []reconcile.Request {
	return r.naming(ctx, object.GetNamespace(), samplev1alpha1.FieldDeploymentName, object.GetName())
}

// madeFrom asks for another look at the Foos that name a PodTemplate.
func (r *Reconciler) madeFrom(ctx context.Context, object client.Object) []reconcile.Request {
	return r.naming(ctx, object.GetNamespace(), fieldPodTemplateName, object.GetName())
}

func (r *Reconciler) naming(ctx context.Context, namespace, field, name string) []reconcile.Request {
	var foos samplev1alpha1.FooList
	if err := r.client.List(ctx, &foos, client.InNamespace(namespace), client.MatchingFields{field: name}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing Foos")
		return nil
	}
	requests := make([]reconcile.Request, len(foos.Items))
	for i := range foos.Items {
		requests[i].NamespacedName = client.ObjectKeyFromObject(&foos.Items[i])
	}
	return requests
}
