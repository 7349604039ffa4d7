// Package clusterranges tells, on every replica, which ranges the cluster uses for
// its Services and Pods, as the cache shows it. Nothing is read before a
// NetworkClass asks for it, and nobody waits for what is read.
package clusterranges

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/changes"
)

// +kubebuilder:rbac:groups="",resources=nodes,verbs=list;watch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=servicecidrs,verbs=list;watch

// lookAgain is the pause before another look for a kind that is not served, or
// could not be asked for.
const lookAgain = time.Minute

// feed keeps ranges as its cache is.
type feed struct {
	cache  ctrlcache.Cache
	ranges *addressing.ClusterRanges
	begin  sync.Once
}

// Feed gives the ranges and keeps them as mgr's cluster is until ctx ends, from when
// a NetworkClass does not ignore them. They are read into a cache of their own:
// controllers wait for all that is in mgr's, and would never start without the right
// to list Nodes.
func Feed(ctx context.Context, mgr cluster.Cluster) (*addressing.ClusterRanges, error) {
	own, err := ctrlcache.New(mgr.GetConfig(), ctrlcache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(), DefaultTransform: slim,
	})
	if err != nil {
		return nil, err
	}
	f := &feed{cache: own, ranges: addressing.NewClusterRanges()}
	return f.ranges, f.await(ctx, mgr.GetCache())
}

// await begins with the first class that asks, and never ends: the next may ask again.
func (f *feed) await(ctx context.Context, shared ctrlcache.Informers) error {
	classes, err := shared.GetInformer(ctx, &samplecrdv1.NetworkClass{})
	if err != nil {
		return err
	}
	_, err = classes.AddEventHandler(changes.Handler(func(_, class *samplecrdv1.NetworkClass) {
		if class != nil && class.Spec.ClusterRanges != samplecrdv1.ClusterRangesIgnore {
			f.begin.Do(func() { f.start(ctx) })
		}
	}))
	return err
}

func (f *feed) start(ctx context.Context) {
	go func() {
		if err := f.cache.Start(ctx); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Reading the cluster's ranges")
		}
	}()
	for _, s := range f.sources() {
		go f.follow(ctx, s)
	}
}

// source is one kind of object that tells of ranges.
type source struct {
	object  client.Object
	tellsOf addressing.RangeKind
	handler cache.ResourceEventHandler
}

func (f *feed) sources() []source {
	return []source{
		{&corev1.Node{}, addressing.PodRange, handler(f.ranges, addressing.PodRange, podCIDRs)},
		{&networkingv1.ServiceCIDR{}, addressing.ServiceRange, handler(f.ranges, addressing.ServiceRange, serviceCIDRs)},
	}
}

// follow watches a source once it is served, and says when all of it has been read.
// What is not served has no ranges. A list that is forbidden is repeated by the
// informer, with back-off.
func (f *feed) follow(ctx context.Context, s source) {
	var registration cache.ResourceEventHandlerRegistration
	err := wait.PollUntilContextCancel(ctx, lookAgain, true, func(ctx context.Context) (bool, error) {
		informer, err := f.cache.GetInformer(ctx, s.object, ctrlcache.BlockUntilSynced(false))
		if meta.IsNoMatchError(err) {
			f.ranges.MarkRead(s.tellsOf)
		}
		if err == nil {
			registration, err = informer.AddEventHandler(s.handler)
		}
		if err != nil {
			ctrl.LoggerFrom(ctx).V(1).Info("Ranges of the cluster cannot be watched yet", "type", fmt.Sprintf("%T", s.object), "cause", err.Error())
		}
		return err == nil, nil
	})
	if err != nil {
		return // Only because ctx has ended.
	}
	select {
	case <-registration.HasSyncedChecker().Done():
		f.ranges.MarkRead(s.tellsOf)
	case <-ctx.Done():
	}
}

// handler keeps what the objects of one kind say.
func handler[T interface {
	comparable
	client.Object
}](ranges *addressing.ClusterRanges, kind addressing.RangeKind, cidrs func(T) []string) cache.ResourceEventHandler {
	var none T
	return changes.Handler(func(before, after T) {
		if before != none && (after == none || after.GetUID() != before.GetUID()) {
			ranges.Remove(before.GetUID())
		}
		if after != none {
			ranges.Set(after.GetUID(), kind, readable(cidrs(after)))
		}
	})
}

// readable reads ranges; what cannot be read is left out, since the API server
// accepts older spellings than we do.
func readable(texts []string) []netip.Prefix {
	var prefixes []netip.Prefix
	for _, text := range texts {
		if prefix := addressing.ParsePrefix(text); prefix.IsValid() {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}

// podCIDRs are the ranges that a node gives addresses to its Pods from, if it is
// Kubernetes that says so. Objects of before dual stack have the one field alone.
func podCIDRs(node *corev1.Node) []string {
	if len(node.Spec.PodCIDRs) == 0 {
		return []string{node.Spec.PodCIDR}
	}
	return node.Spec.PodCIDRs
}

func serviceCIDRs(object *networkingv1.ServiceCIDR) []string { return object.Spec.CIDRs }

// slim is the transform of the cache: Nodes are many and large, and change often;
// only what is read here stays.
func slim(object any) (any, error) {
	node, isNode := object.(*corev1.Node)
	if !isNode {
		return ctrlcache.TransformStripManagedFields()(object)
	}
	return &corev1.Node{
		TypeMeta:   node.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion},
		Spec:       corev1.NodeSpec{PodCIDR: node.Spec.PodCIDR, PodCIDRs: node.Spec.PodCIDRs},
	}, nil
}
