package clusterranges

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	"github.com/samplecrd/samplecrd/addressing"
	"github.com/samplecrd/samplecrd/apis"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

var (
	classKind       = samplecrdv1.SchemeGroupVersion.WithKind("NetworkClass")
	nodeKind        = corev1.SchemeGroupVersion.WithKind("Node")
	serviceCIDRKind = networkingv1.SchemeGroupVersion.WithKind("ServiceCIDR")
)

// served is a cache of an API server that serves what is said here.
type served struct {
	informertest.FakeInformers
	missing, broken atomic.Bool
	asked           atomic.Int64
}

func (s *served) GetInformer(ctx context.Context, object client.Object, opts ...ctrlcache.InformerGetOption) (ctrlcache.Informer, error) {
	_, isServiceCIDR := object.(*networkingv1.ServiceCIDR)
	s.asked.Add(1)
	switch {
	case s.broken.Load():
		return nil, errors.New("no answer")
	case s.missing.Load() && isServiceCIDR:
		return nil, &meta.NoKindMatchError{GroupKind: serviceCIDRKind.GroupKind()}
	}
	return s.FakeInformers.GetInformer(ctx, object, opts...)
}

// world is a cache in which each kind is told of by hand.
type world struct {
	served                       served
	classes, nodes, serviceCIDRs *controllertest.FakeInformer
	ranges                       *addressing.ClusterRanges
}

// inWorld feeds ranges from a world, by a clock that does not wait.
func inWorld(t *testing.T, do func(*testing.T, *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{classes: controllertest.NewFakeInformer(controllertest.Synced), nodes: controllertest.NewFakeInformer(), serviceCIDRs: controllertest.NewFakeInformer()}
		scheme := runtime.NewScheme()
		if err := errors.Join(apis.AddToScheme(scheme), clientgoscheme.AddToScheme(scheme)); err != nil {
			t.Fatal(err)
		}
		shared := &informertest.FakeInformers{Scheme: scheme, InformersByGVK: map[schema.GroupVersionKind]cache.SharedIndexInformer{classKind: w.classes}}
		w.served.Scheme = scheme
		w.served.InformersByGVK = map[schema.GroupVersionKind]cache.SharedIndexInformer{nodeKind: w.nodes, serviceCIDRKind: w.serviceCIDRs}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.ranges = addressing.NewClusterRanges()
		if err := (&feed{cache: &w.served, ranges: w.ranges}).await(ctx, shared); err != nil {
			t.Fatal(err)
		}
		do(t, w)
	})
}

// class is one that has the policy.
func class(policy samplecrdv1.ClusterRangesPolicy) *samplecrdv1.NetworkClass {
	return &samplecrdv1.NetworkClass{Spec: samplecrdv1.NetworkClassSpec{ClusterRanges: policy}}
}

func (w *world) unread(t *testing.T, want ...addressing.RangeKind) {
	t.Helper()
	synctest.Wait()
	if got := w.ranges.Unread(); len(got) != len(want) || (len(got) > 0 && !reflect.DeepEqual(got, want)) {
		t.Errorf("%v are unread, want %v", got, want)
	}
}

// uses says whether the cluster is known to use a part of cidr.
func (w *world) uses(t *testing.T, cidr string, want string) {
	t.Helper()
	synctest.Wait()
	plan, _ := addressing.Parse(&samplecrdv1.NetworkSpec{CIDR: cidr}, field.NewPath("spec"))
	said := ""
	for _, err := range w.ranges.Judge(plan) {
		said = err.Detail
	}
	if (want == "") != (said == "") || !strings.HasPrefix(said, want) {
		t.Errorf("of %s it says %q, want %q", cidr, said, want)
	}
}

func node(uid types.UID, cidrs ...string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", UID: uid}, Spec: corev1.NodeSpec{PodCIDRs: cidrs}}
}

func serviceCIDR(uid types.UID, cidrs ...string) *networkingv1.ServiceCIDR {
	return &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes", UID: uid}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs}}
}

func TestFeedBeginsWithAClassThatAsks(t *testing.T) {
	for name, tc := range map[string]struct {
		classes []samplecrdv1.ClusterRangesPolicy
		begins  bool
	}{
		"none":                      {nil, false},
		"one that ignores ranges":   {[]samplecrdv1.ClusterRangesPolicy{samplecrdv1.ClusterRangesIgnore}, false},
		"one that warns of them":    {[]samplecrdv1.ClusterRangesPolicy{samplecrdv1.ClusterRangesWarn}, true},
		"one that forbids them":     {[]samplecrdv1.ClusterRangesPolicy{samplecrdv1.ClusterRangesForbid}, true},
		"one without, which warns":  {[]samplecrdv1.ClusterRangesPolicy{""}, true},
		"one that asks after many":  {[]samplecrdv1.ClusterRangesPolicy{samplecrdv1.ClusterRangesIgnore, samplecrdv1.ClusterRangesIgnore, samplecrdv1.ClusterRangesForbid}, true},
		"several that ask, at once": {[]samplecrdv1.ClusterRangesPolicy{"", samplecrdv1.ClusterRangesWarn, samplecrdv1.ClusterRangesForbid}, true},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				for _, policy := range tc.classes {
					w.classes.Add(class(policy))
				}
				synctest.Wait()
				want := int64(0)
				if tc.begins {
					want = 2 // Each kind is looked for once.
				}
				if got := w.served.asked.Load(); got != want {
					t.Errorf("the cache is asked %d times, want %d", got, want)
				}
			})
		})
	}
}

func TestFeedBeginsWithAClassThatChanges(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.classes.Add(class(samplecrdv1.ClusterRangesIgnore))
		w.classes.Update(class(samplecrdv1.ClusterRangesIgnore), class(samplecrdv1.ClusterRangesForbid))
		synctest.Wait()
		if w.served.asked.Load() != 2 {
			t.Error("nothing is read")
		}
		w.classes.Delete(class(samplecrdv1.ClusterRangesForbid))
	})
}

func TestFeedFollows(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.classes.Add(class(""))
		w.unread(t, addressing.ServiceRange, addressing.PodRange)
		w.nodes.Add(node("1", "10.244.0.0/24", "fd00:244::/64"))
		w.uses(t, "10.244.0.0/16", "overlaps 10.244.0.0/24, a Pod range")
		w.uses(t, "fd00:244::/48", "overlaps fd00:244::/64, a Pod range")
		w.nodes.Synced()
		w.unread(t, addressing.ServiceRange)
		w.serviceCIDRs.Add(serviceCIDR("2", "10.96.0.0/12"))
		w.serviceCIDRs.Synced()
		w.unread(t)
		w.uses(t, "10.96.0.0/16", "overlaps 10.96.0.0/12, a Service range")

		w.nodes.Update(node("1", "10.244.0.0/24", "fd00:244::/64"), node("1", "10.245.0.0/24"))
		w.uses(t, "10.244.0.0/16", "")
		w.uses(t, "10.245.0.0/16", "overlaps 10.245.0.0/24, a Pod range")
		// One that was made anew while the watch was away.
		w.nodes.Update(node("1", "10.245.0.0/24"), node("3", "10.246.0.0/24"))
		w.uses(t, "10.245.0.0/16", "")
		w.uses(t, "10.246.0.0/16", "overlaps 10.246.0.0/24, a Pod range")
		w.nodes.Delete(node("3", "10.246.0.0/24"))
		w.uses(t, "10.246.0.0/16", "")
		w.serviceCIDRs.Delete(serviceCIDR("2", "10.96.0.0/12"))
		w.uses(t, "0.0.0.0/1", "")
	})
}

func TestFeedReadsWhatTheAPISays(t *testing.T) {
	old := node("1")
	old.Spec.PodCIDR = "10.1.0.0/24"
	both := node("1", "10.2.0.0/24", "fd00:2::/64")
	both.Spec.PodCIDR = "10.2.0.0/24"
	for name, tc := range map[string]struct {
		node        *corev1.Node
		uses, apart []string
	}{
		"a node without a range":           {node("1"), nil, []string{"0.0.0.0/1", "128.0.0.0/1", "::/1"}},
		"a node of before dual stack":      {old, []string{"10.1.0.0/16"}, nil},
		"a node with both fields":          {both, []string{"10.2.0.0/16", "fd00:2::/48"}, nil},
		"a range with host bits":           {node("1", "10.3.0.9/24"), []string{"10.3.0.0/30"}, []string{"10.3.1.0/24"}},
		"the rest of one that is no range": {node("1", "10.4.0.0", "010.4.0.0/24", "", "10.5.0.0/24"), []string{"10.5.0.0/16"}, []string{"10.4.0.0/16", "8.0.0.0/8"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.classes.Add(class(""))
				synctest.Wait()
				w.nodes.Add(tc.node)
				for _, cidr := range tc.uses {
					w.uses(t, cidr, "overlaps ")
				}
				for _, cidr := range tc.apart {
					w.uses(t, cidr, "")
				}
			})
		})
	}
}

// What is not served has no ranges, and is looked for again.
func TestFeedWithoutServiceCIDRs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.served.missing.Store(true)
		w.classes.Add(class(samplecrdv1.ClusterRangesForbid))
		w.unread(t, addressing.PodRange)
		w.nodes.Synced()
		w.unread(t)

		w.served.missing.Store(false)
		time.Sleep(2 * lookAgain)
		w.serviceCIDRs.Add(serviceCIDR("2", "10.96.0.0/12"))
		w.uses(t, "10.96.0.0/16", "overlaps 10.96.0.0/12, a Service range")
		w.serviceCIDRs.Synced()
		w.unread(t)
	})
}

// An API server that does not answer says nothing of what is served.
func TestFeedWithoutAnswer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.served.broken.Store(true)
		w.nodes.Synced()
		w.serviceCIDRs.Synced()
		w.classes.Add(class(samplecrdv1.ClusterRangesForbid))
		w.unread(t, addressing.ServiceRange, addressing.PodRange)
		time.Sleep(10 * lookAgain)
		if asked := w.served.asked.Load(); asked > 2*11 {
			t.Errorf("asked %d times in 10 minutes", asked)
		}
		w.unread(t, addressing.ServiceRange, addressing.PodRange)
		w.served.broken.Store(false)
		time.Sleep(2 * lookAgain)
		w.unread(t)
	})
}

// CN-12: no event makes the handlers panic, tombstones included.
func TestFeedTakesAnyEvent(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.classes.Add(class(""))
		synctest.Wait()
		for _, s := range (&feed{ranges: w.ranges}).sources() {
			for _, stranger := range []any{nil, "text", class(""), cache.DeletedFinalStateUnknown{}, cache.DeletedFinalStateUnknown{Key: "x", Obj: "text"}} {
				s.handler.OnAdd(stranger, false)
				s.handler.OnUpdate(stranger, stranger)
				s.handler.OnDelete(stranger)
			}
			s.handler.OnAdd(node("1", "10.244.0.0/24"), false)
			s.handler.OnAdd(serviceCIDR("2", "10.96.0.0/12"), false)
			w.uses(t, "10.0.0.0/8", "overlaps ")
			s.handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "node", Obj: node("1", "10.244.0.0/24")})
			s.handler.OnDelete(cache.DeletedFinalStateUnknown{Key: "kubernetes", Obj: serviceCIDR("2", "10.96.0.0/12")})
			w.uses(t, "10.0.0.0/8", "")
		}
	})
}
