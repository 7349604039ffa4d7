// Package network makes Networks real.
package network

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/pace"
	"github.com/samplecrd/samplecrd/providers"
)

// Name is the controller's name: in logs, metrics, events and managed fields.
const Name = "network"

// confirm is the pause before another look at a backend whose watch is not there,
// or has not shown yet what was written: its kind may have been away.
const confirm = 5 * time.Second

// workers wait for backends most of the time. They are more than a backend works for one
// cloud with, so that one which is slow does not keep others waiting.
const workers = 16

// +kubebuilder:rbac:groups=samplecrd.k8s.io,resources=networks,verbs=list;watch;patch
// +kubebuilder:rbac:groups=samplecrd.k8s.io,resources=networks/status,verbs=patch
// +kubebuilder:rbac:groups=samplecrd.k8s.io,resources=networks/finalizers,verbs=update
// +kubebuilder:rbac:groups=samplecrd.k8s.io,resources=networkclasses,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler brings the backend to what a Network asks for, and the status to
// what the backend holds.
type Reconciler struct {
	client client.Client
	// live reads from the API server.
	live       client.Reader
	recorder   events.EventRecorder
	backends   map[samplecrdv1.ProviderType]providers.Provider
	cluster    *addressing.ClusterRanges
	controller controller.Controller
	own        pace.Writes
	arbiter    *arbiter
	// untouched says of Networks by UID, from when they get their finalizer, whether no
	// backend was asked for them yet; the finalizer comes before.
	untouched sync.Map
	// torn are Networks that went with our finalizer still on them, by UID; see sweep.
	torn sync.Map

	recalling sync.Mutex
	recalled  bool

	watching sync.Mutex
	watched  map[providers.Provider]bool
}

// SetupWithManager adds the controller to mgr. space is as the cache shows it.
func SetupWithManager(mgr ctrl.Manager, backends map[samplecrdv1.ProviderType]providers.Provider, space addressing.Space) error {
	r := &Reconciler{
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		recorder: mgr.GetEventRecorder(Name),
		backends: backends,
		cluster:  space.Cluster,
		watched:  map[providers.Provider]bool{},
	}
	r.arbiter = newArbiter(space.Claims, r.shown)
	options := pace.Options()
	options.MaxConcurrentReconciles = workers
	var err error
	r.controller, err = ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		For(&samplecrdv1.Network{}, builder.WithPredicates(asked)).
		Watches(&samplecrdv1.Network{}, r.own.Gone()).
		Watches(&samplecrdv1.Network{}, r.forgets()).
		WatchesRawSource(r.queue()).
		WatchesRawSource(r.ranges()).
		Watches(&samplecrdv1.NetworkClass{}, handler.EnqueueRequestsFromMapFunc(r.ofClass), builder.WithPredicates(classChanged)).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.ofNamespace), builder.WithPredicates(relabelled)).
		WithOptions(options).
		Build(r.sweeping(reconcile.AsReconciler(mgr.GetClient(), r)))
	return err
}

// asked passes all but our own writes, of a status or of our finalizer: the pass that
// wrote one has said itself when the next is due, and its back-off must not be cut
// short. A status that somebody cleared comes through.
var asked = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, isNetwork := e.ObjectOld.(*samplecrdv1.Network)
		after, isNetworkToo := e.ObjectNew.(*samplecrdv1.Network)
		if !isNetwork || !isNetworkToo || before == nil || after == nil {
			return false
		}
		observed := after.Status.ObservedGeneration
		before, after = before.DeepCopy(), after.DeepCopy()
		if controllerutil.ContainsFinalizer(after, samplecrdv1.NetworkFinalizer) {
			controllerutil.AddFinalizer(before, samplecrdv1.NetworkFinalizer)
			slices.Sort(before.Finalizers)
			slices.Sort(after.Finalizers)
		}
		for _, network := range []*samplecrdv1.Network{before, after} {
			network.Status, network.ResourceVersion, network.ManagedFields = samplecrdv1.NetworkStatus{}, "", nil
		}
		statusAlone := equality.Semantic.DeepEqual(before, after)
		return !statusAlone || observed == nil || *observed != after.Generation
	},
}

// relabelled passes the change of a namespace's labels: a class may select by them.
var relabelled = predicate.And(predicate.LabelChangedPredicate{}, predicate.Funcs{
	CreateFunc:  func(event.CreateEvent) bool { return false },
	DeleteFunc:  func(event.DeleteEvent) bool { return false },
	GenericFunc: func(event.GenericEvent) bool { return false },
})

// classChanged passes all but a class's own status updates.
var classChanged = predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})

// ofClass asks for another look at the Networks of a class, and at those that
// wait for a default class.
func (r *Reconciler) ofClass(ctx context.Context, object client.Object) []reconcile.Request {
	class, isClass := object.(*samplecrdv1.NetworkClass)
	if !isClass || class == nil {
		return stranger(ctx, object)
	}
	var requests []reconcile.Request
	for _, name := range []string{class.Name, ""} {
		requests = append(requests, r.requests(ctx, client.MatchingFields{samplecrdv1.FieldNetworkClassName: name})...)
	}
	return requests
}

// ofNamespace asks for another look at the Networks of a namespace.
func (r *Reconciler) ofNamespace(ctx context.Context, object client.Object) []reconcile.Request {
	namespace, isMetadata := object.(*metav1.PartialObjectMetadata)
	if !isMetadata || namespace == nil {
		return stranger(ctx, object)
	}
	return r.requests(ctx, client.InNamespace(namespace.Name))
}

// stranger is the answer to an event that tells of nothing we know.
func stranger(ctx context.Context, object client.Object) []reconcile.Request {
	ctrl.LoggerFrom(ctx).Info("Ignoring an event of an unexpected type", "type", fmt.Sprintf("%T", object))
	return nil
}

func (r *Reconciler) requests(ctx context.Context, which client.ListOption) []reconcile.Request {
	var networks samplecrdv1.NetworkList
	if err := r.client.List(ctx, &networks, which, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing Networks")
		return nil
	}
	requests := make([]reconcile.Request, len(networks.Items))
	for i := range networks.Items {
		requests[i] = reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&networks.Items[i])}
	}
	return requests
}

// watch starts the watch of a backend that has one, once it can be watched, and
// says whether nothing is left to start.
func (r *Reconciler) watch(ctx context.Context, backend providers.Provider) bool {
	watcher, watches := backend.(providers.Watcher)
	if !watches {
		return true
	}
	r.watching.Lock()
	defer r.watching.Unlock()
	if r.watched[backend] {
		return true
	}
	src, err := watcher.Source()
	if err == nil {
		err = r.controller.Watch(src)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("The backend cannot be watched yet", "cause", err.Error())
		return false
	}
	r.watched[backend] = true
	return true
}

func identity(network *samplecrdv1.Network) providers.Identity {
	id := providers.Identity{
		UID:            network.UID,
		NamespacedName: types.NamespacedName{Namespace: network.Namespace, Name: network.Name},
		Recorded:       ptr.Deref(network.Status.ProviderID, ""),
	}
	if network.Spec.ImportID != "" {
		id.Imported, _ = addressing.Parse(&network.Spec, field.NewPath("spec"))
	}
	return id
}
