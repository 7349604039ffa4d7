package network

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// someRanges are one or two of few ranges, so that many overlap.
func (s *sim) someRanges() []string {
	all := []string{"10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24", "10.0.0.0/23", "10.0.2.0/23", "10.0.0.0/22", "2001:db8::/64", "2001:db8::/63"}
	first := all[s.random.IntN(len(all))]
	for _, second := range []string{all[s.random.IntN(len(all))]} {
		if s.random.IntN(3) == 0 && !addressing.ParsePrefix(first).Overlaps(addressing.ParsePrefix(second)) {
			return []string{first, second}
		}
	}
	return []string{first}
}

// newcomers are Networks of all scopes, ages and namespaces.
func (s *sim) newcomer() {
	s.create([]string{"shop", "bank"}[s.random.IntN(2)], []string{"wide", "narrow", "open"}[s.random.IntN(3)], s.random.IntN(6), s.someRanges()...)
}

func (s *sim) threeClasses() {
	s.setClass("wide", simClass("wide", samplecrdv1.OverlapClass))
	s.setClass("narrow", simClass("narrow", samplecrdv1.OverlapNamespace))
	s.setClass("open", simClass("open", samplecrdv1.OverlapNone))
}

// Of Networks that are all there when the controller starts, those win that the
// oracle says, in whatever order they are looked at; and again after each winner
// that goes.
func TestArbiterDecidesAsTheOracle(t *testing.T) {
	for seed := range uint64(60) {
		s := newSim(t, seed)
		s.threeClasses()
		for range 12 {
			s.newcomer()
		}
		s.deliverAll()
		for range 3 {
			want := s.oracle()
			s.settle()
			if got := s.winners(); !maps.Equal(got, want) {
				t.Fatalf("seed %d: won are %v, want %v", seed, got, want)
			}
			for key, network := range s.latest {
				if want[network.UID] && s.random.IntN(3) == 0 {
					s.remove(key)
				}
			}
			// Those that go first let go; who comes next depends on who is gone.
			for key := range s.latest {
				if s.latest[key].DeletionTimestamp != nil {
					s.releaseAlone(key)
				}
			}
		}
	}
}

// releaseAlone lets one Network go before anything else happens.
func (s *sim) releaseAlone(key types.NamespacedName) {
	s.t.Helper()
	for range 20 {
		for len(s.pending[key]) > 0 {
			s.deliver(key)
		}
		if s.latest[key] == nil {
			return
		}
		s.look(key)
	}
	s.t.Fatalf("%v does not go", key)
}

// Whatever happens, in whatever order, and wherever the process ends: see checkApart
// and checkKept; and at rest nobody is left out that could have what it asks for.
func TestArbiterHoldsWhateverHappens(t *testing.T) {
	for seed := range uint64(120) {
		s := newSim(t, seed)
		s.threeClasses()
		s.busy = true
		for range 120 {
			s.happen()
		}
		if s.classes["wide"] == nil || s.classes["narrow"] == nil || s.classes["open"] == nil {
			s.threeClasses()
		}
		s.writesLeft, s.stumbles, s.busy = -1, false, false
		s.settle()
		want, got := s.oracle(), s.winners()
		if !maps.Equal(got, want) {
			t.Fatalf("seed %d: at rest won are %v, want %v", seed, got, want)
		}
		for uid := range s.backend.Networks() {
			if _, there := got[uid]; !there {
				t.Fatalf("seed %d: the backend holds the network of %s, which has gone", seed, uid)
			}
		}
	}
}

// happen does one thing.
func (s *sim) happen() {
	s.t.Helper()
	keys := slices.Collect(maps.Keys(s.latest))
	switch choice := s.random.IntN(100); {
	case choice < 8 || len(keys) == 0:
		s.newcomer()
	case choice < 13:
		if key := s.pick(keys); s.latest[key].DeletionTimestamp == nil {
			s.change(key, s.someRanges()...)
		}
	case choice < 18:
		s.remove(s.pick(keys))
	case choice < 20:
		s.setClass("wide", simClass("wide", samplecrdv1.OverlapClass, [][]string{nil, {"10.0.0.0/23"}, {"2001:db8::/32"}}[s.random.IntN(3)]...))
	case choice < 22:
		class := s.classes["narrow"]
		if class == nil {
			class = simClass("narrow", samplecrdv1.OverlapNamespace)
		} else {
			class = nil
		}
		s.setClass("narrow", class)
	case choice < 24:
		s.start()
	case choice < 28:
		s.writesLeft, s.arrives = s.random.IntN(3), s.random.IntN(2) == 0
	case choice < 32:
		s.stumbles, s.arrives = true, s.random.IntN(2) == 0
	case choice < 62 && len(s.pending) > 0:
		s.deliver(s.pick(slices.Collect(maps.Keys(s.pending))))
	case len(s.queue) > 0:
		s.look(s.pick(slices.Collect(maps.Keys(s.queue))))
	}
}

// A new leader whose cache has not seen what the old one recorded last holds to it.
func TestArbiterRemembersWhatTheLastLeaderRecorded(t *testing.T) {
	for _, cached := range []bool{true, false} {
		t.Run(fmt.Sprintf("the winner is in the cache: %t", cached), func(t *testing.T) {
			s := newSim(t, 1)
			s.threeClasses()
			winner := s.create("shop", "wide", 0, "10.0.0.0/24")
			key := types.NamespacedName{Namespace: "shop", Name: winner.Name}
			s.settle()
			if len(s.latest[key].Status.Subnets) != 1 {
				t.Fatal("nothing is recorded")
			}
			// The cache of the new leader shows the winner as it was made, or not at all.
			delete(s.shown, key)
			if cached {
				s.shown[key] = winner
			}
			older := s.create("bank", "wide", 9, "10.0.0.0/24")
			s.deliver(types.NamespacedName{Namespace: "bank", Name: older.Name})
			s.start()
			for range 10 {
				s.look(types.NamespacedName{Namespace: "bank", Name: older.Name})
				s.look(key)
			}
			lost := condition(s.latest[types.NamespacedName{Namespace: "bank", Name: older.Name}], samplecrdv1.NetworkConditionAccepted)
			if lost == nil || lost.Reason != samplecrdv1.NetworkReasonOverlap {
				t.Errorf("the latecomer has %v", lost)
			}
		})
	}
}

// A claim that was taken in memory and never recorded is let go of, and those who
// lost to it are told.
func TestArbiterLetsGoOfWhatWasNeverRecorded(t *testing.T) {
	s := newSim(t, 1)
	s.threeClasses()
	fickle := s.create("shop", "wide", 5, "10.0.0.0/24")
	s.settle()
	key := types.NamespacedName{Namespace: "shop", Name: fickle.Name}
	s.change(key, "10.0.1.0/24")
	s.deliver(key)
	s.stumbles = true
	s.look(key)
	if len(s.latest[key].Status.Subnets) != 1 {
		t.Fatal("the claim is recorded")
	}
	other := s.create("bank", "wide", 0, "10.0.1.0/24")
	otherKey := types.NamespacedName{Namespace: "bank", Name: other.Name}
	s.deliver(otherKey)
	s.look(otherKey)
	if lost := condition(s.latest[otherKey], samplecrdv1.NetworkConditionAccepted); lost == nil || lost.Reason != samplecrdv1.NetworkReasonOverlap {
		t.Fatalf("the other one has %v", lost)
	}
	s.change(key, "10.0.0.0/24")
	s.deliver(key)
	s.settle()
	if won := s.winners(); !won[fickle.UID] || !won[other.UID] {
		t.Errorf("won are %v, want both", won)
	}
}

// A status that was stored although the write failed is put right: the cache does not
// show it yet, and its event is one of our own.
func TestStatusWhoseAnswerWasLost(t *testing.T) {
	s := newSim(t, 1)
	s.threeClasses()
	network := s.create("shop", "wide", 0, "10.0.0.0/24")
	key := types.NamespacedName{Namespace: "shop", Name: network.Name}
	s.settle()
	s.setClass("wide", nil)
	s.stumbles, s.arrives = true, true
	s.look(key)
	if s.winners()[network.UID] {
		t.Fatal("the write has not arrived")
	}
	s.setClass("wide", simClass("wide", samplecrdv1.OverlapClass))
	s.look(key)
	s.settle()
	if !s.winners()[network.UID] {
		t.Errorf("the status still says %v", s.latest[key].Status.Conditions)
	}
}
