package claims

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/samplecrd/samplecrd/addressing"
	"github.com/samplecrd/samplecrd/apis"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/changes"
)

// store is a cache as the feed sees it: what is there, and two handlers that are told
// later of what changed.
type store struct {
	t      *testing.T
	client client.Client
	feed   *feed
}

func newStore(t *testing.T) *store {
	scheme := runtime.NewScheme()
	if err := apis.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithIndex(&samplecrdv1.Network{}, samplecrdv1.FieldNetworkClassName, classOf).Build()
	return &store{t: t, client: reader, feed: newFeed(reader)}
}

// change stores an object, or with before alone takes it out, and gives what tells
// the feed.
func (s *store) change(before, after client.Object) (tell func()) {
	s.t.Helper()
	var err error
	switch {
	case before == nil:
		err = s.client.Create(s.t.Context(), after.DeepCopyObject().(client.Object))
	case after == nil:
		err = s.client.Delete(s.t.Context(), before.DeepCopyObject().(client.Object))
	default:
		stored := before.DeepCopyObject().(client.Object)
		if err = s.client.Get(s.t.Context(), client.ObjectKeyFromObject(after), stored); err == nil {
			next := after.DeepCopyObject().(client.Object)
			next.SetResourceVersion(stored.GetResourceVersion())
			err = s.client.Update(s.t.Context(), next)
		}
	}
	if err != nil {
		s.t.Fatal(err)
	}
	handle := changes.Handler(s.feed.network)
	for _, object := range []client.Object{before, after} {
		if _, isClass := object.(*samplecrdv1.NetworkClass); isClass {
			handle = changes.Handler(func(before, after *samplecrdv1.NetworkClass) { s.feed.class(s.t.Context(), before, after) })
		}
	}
	return func() {
		switch {
		case before == nil:
			handle.OnAdd(after, false)
		case after == nil:
			handle.OnDelete(before)
		default:
			handle.OnUpdate(before, after)
		}
	}
}

func class(name string, scope samplecrdv1.OverlapScope) *samplecrdv1.NetworkClass {
	class := &samplecrdv1.NetworkClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	class.Spec.OverlapScope = scope
	return class
}

func network(namespace, name, class, cidr string, recorded ...string) *samplecrdv1.Network {
	network := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + name)}}
	network.Spec.CIDR, network.Spec.NetworkClassName = cidr, class
	for _, text := range recorded {
		network.Status.Subnets = append(network.Status.Subnets, samplecrdv1.SubnetStatus{CIDR: text, State: samplecrdv1.SubnetActive})
	}
	return network
}

// claimed lists what the table has in a scope.
func (s *store) claimed(scope addressing.Scope) []string {
	var all []string
	for _, half := range []string{"0.0.0.0/1", "128.0.0.0/1", "::/1"} {
		for claim := range s.feed.table.Overlapping(scope, netip.MustParsePrefix(half), types.NamespacedName{}) {
			text := claim.Owner.Name + " asks for " + claim.Prefix.String()
			if claim.Recorded {
				text = claim.Owner.Name + " has " + claim.Prefix.String()
			}
			all = append(all, text)
		}
	}
	slices.Sort(all)
	return all
}

func (s *store) check(scope addressing.Scope, want ...string) {
	s.t.Helper()
	if got := s.claimed(scope); !slices.Equal(got, want) {
		s.t.Errorf("in %v: got %q, want %q", scope, got, want)
	}
}

var (
	wide   = addressing.Scope{Class: "standard"}
	narrow = addressing.Scope{Class: "standard", Namespace: "shop"}
)

func TestFeedFollowsANetwork(t *testing.T) {
	s := newStore(t)
	s.change(nil, class("standard", samplecrdv1.OverlapNamespace))()
	first := network("shop", "a", "standard", "10.0.0.9/24")
	s.change(nil, first)()
	s.check(narrow, "a asks for 10.0.0.0/24")
	moving := network("shop", "a", "standard", "10.0.1.0/24", "10.0.0.0/24")
	s.change(first, moving)()
	s.check(narrow, "a asks for 10.0.1.0/24", "a has 10.0.0.0/24")
	s.change(moving, nil)()
	s.check(narrow)
}

// A terminating Network still counts: its backend has not let go.
func TestFeedKeepsATerminatingNetwork(t *testing.T) {
	s := newStore(t)
	s.change(nil, class("standard", samplecrdv1.OverlapNamespace))()
	terminating := network("shop", "a", "standard", "10.0.0.0/24", "10.0.0.0/24")
	terminating.DeletionTimestamp = new(metav1.Now())
	s.feed.network(nil, terminating)
	s.check(narrow, "a has 10.0.0.0/24")
}

// A Network that was deleted and made anew between two looks comes as one update.
func TestFeedForgetsTheFormerOfTwoOfOneName(t *testing.T) {
	s := newStore(t)
	s.change(nil, class("standard", samplecrdv1.OverlapNamespace))()
	former, latter := network("shop", "a", "standard", "10.0.0.0/24"), network("shop", "a", "standard", "10.0.1.0/24")
	latter.UID = "another"
	s.feed.network(nil, former)
	s.feed.network(former, latter)
	s.check(narrow, "a asks for 10.0.1.0/24")
}

func TestFeedPutsNetworksWhereTheirClassSays(t *testing.T) {
	for name, tc := range map[string]struct {
		scope            samplecrdv1.OverlapScope
		inClass, inSpace []string
	}{
		"in their namespace": {samplecrdv1.OverlapNamespace, nil, []string{"a asks for 10.0.0.0/24"}},
		"in the class":       {samplecrdv1.OverlapClass, []string{"a asks for 10.0.0.0/24", "b asks for 10.0.0.0/24"}, nil},
		"nowhere":            {samplecrdv1.OverlapNone, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			s.change(nil, network("shop", "a", "standard", "10.0.0.0/24"))()
			s.change(nil, network("bank", "b", "standard", "10.0.0.0/24"))()
			s.change(nil, network("bank", "c", "another", "10.0.0.0/24"))()
			s.check(narrow)
			s.check(wide)
			// The class comes last, goes, and comes back.
			it := class("standard", tc.scope)
			for range 2 {
				s.change(nil, it)()
				s.check(wide, tc.inClass...)
				s.check(narrow, tc.inSpace...)
				s.change(it, nil)()
				s.check(narrow)
				s.check(wide)
			}
			s.change(nil, class("standard", samplecrdv1.OverlapClass))()
			s.check(wide, "a asks for 10.0.0.0/24", "b asks for 10.0.0.0/24")
		})
	}
}

// The handlers of the two kinds are told in any order of what the cache has already:
// the table ends up as if each had been told in turn.
func TestFeedDoesNotDependOnTheOrderOfEvents(t *testing.T) {
	for seed := range uint64(100) {
		s, random := newStore(t), rand.New(rand.NewPCG(seed, 0))
		before, after := network("shop", "a", "standard", "10.0.0.0/24"), network("shop", "a", "standard", "10.0.1.0/24")
		gone, old, now := network("shop", "b", "standard", "10.0.2.0/24"), class("standard", samplecrdv1.OverlapClass), class("standard", samplecrdv1.OverlapNamespace)
		queues := [][]func(){
			{s.change(nil, before), s.change(before, after), s.change(nil, gone), s.change(gone, nil)},
			{s.change(nil, old), s.change(old, nil), s.change(nil, now)},
		}
		for len(queues[0])+len(queues[1]) > 0 {
			i := random.IntN(2)
			if len(queues[i]) == 0 {
				i = 1 - i
			}
			queues[i][0]()
			queues[i] = queues[i][1:]
		}
		s.check(narrow, "a asks for 10.0.1.0/24")
		s.check(wide)
	}
}

// CN-12: no event makes the handlers panic, tombstones included.
func TestCN12HandlersDoNotPanic(t *testing.T) {
	s := newStore(t)
	s.change(nil, class("standard", ""))()
	it := network("shop", "a", "standard", "10.0.0.0/24")
	h := changes.Handler(s.feed.network)
	h.OnAdd(it, false)
	s.check(narrow, "a asks for 10.0.0.0/24")
	for _, stranger := range []any{nil, "text", class("x", ""), cache.DeletedFinalStateUnknown{}, cache.DeletedFinalStateUnknown{Key: "x", Obj: "text"}} {
		h.OnAdd(stranger, false)
		h.OnUpdate(stranger, stranger)
		h.OnUpdate(it, stranger)
		h.OnDelete(stranger)
	}
	s.check(narrow, "a asks for 10.0.0.0/24")
	h.OnDelete(cache.DeletedFinalStateUnknown{Key: "shop/a", Obj: it})
	s.check(narrow)
}

// A Network without a class competes where it will be, once there is a default class.
func TestFeedFollowsTheDefaultClass(t *testing.T) {
	s := newStore(t)
	s.change(nil, network("shop", "a", "", "10.0.0.0/24"))()
	plain, marked := class("standard", samplecrdv1.OverlapClass), class("standard", samplecrdv1.OverlapClass)
	marked.Annotations = map[string]string{samplecrdv1.AnnotationIsDefaultClass: "true"}
	s.change(nil, plain)()
	s.check(wide)
	s.change(plain, marked)()
	s.check(wide, "a asks for 10.0.0.0/24")
	s.change(nil, network("bank", "b", "", "10.0.1.0/24"))()
	s.check(wide, "a asks for 10.0.0.0/24", "b asks for 10.0.1.0/24")
	s.change(marked, plain)()
	s.check(wide)
	s.change(plain, nil)()
	s.change(nil, marked)()
	s.check(wide, "a asks for 10.0.0.0/24", "b asks for 10.0.1.0/24")
}
