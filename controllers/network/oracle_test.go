package network

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// competing says that two Networks may not overlap.
func (s *sim) competing(a, b *samplecrdv1.Network) bool {
	class := s.classes[a.Spec.NetworkClassName]
	if class == nil || a.UID == b.UID || a.Spec.NetworkClassName != b.Spec.NetworkClassName {
		return false
	}
	switch class.Spec.OverlapScope {
	case samplecrdv1.OverlapNone:
		return false
	case samplecrdv1.OverlapClass:
		return true
	}
	return a.Namespace == b.Namespace
}

// checkApart: no two that compete have ever recorded, or hold on the backend, ranges
// that overlap.
func (s *sim) checkApart() {
	s.t.Helper()
	held := s.backend.Networks()
	for _, a := range s.latest {
		// A loser is free to go, wherever the process ended.
		if len(a.Finalizers) > 0 && len(a.Status.Subnets) == 0 {
			s.t.Fatalf("%s holds nothing, and has %v", a.Name, a.Finalizers)
		}
		for _, b := range s.latest {
			if !s.competing(a, b) {
				continue
			}
			for _, mine := range addressing.Recorded(&a.Status) {
				for _, others := range addressing.Recorded(&b.Status) {
					if mine.Overlaps(others) {
						s.t.Fatalf("%s and %s have both won: %s and %s", a.Name, b.Name, mine, others)
					}
				}
			}
			for _, mine := range held[a.UID].Subnets {
				for _, others := range held[b.UID].Subnets {
					if mine.Prefix.Overlaps(others.Prefix) {
						s.t.Fatalf("the backend holds %s of %s and %s of %s", mine.Prefix, a.Name, others.Prefix, b.Name)
					}
				}
			}
		}
	}
}

// checkKept: what is recorded stays until a spec that was looked at no longer asks for
// it, or the Network goes.
func (s *sim) checkKept(before, after *samplecrdv1.Network) {
	s.t.Helper()
	if before == nil || after.DeletionTimestamp != nil || after.Status.ObservedGeneration == nil || *after.Status.ObservedGeneration != after.Generation {
		return
	}
	for _, prefix := range addressing.Recorded(&before.Status) {
		if slices.Contains(addressing.Asked(&after.Spec), prefix) && !slices.Contains(addressing.Recorded(&after.Status), prefix) {
			s.t.Fatalf("%s has lost %s, which it had won", after.Name, prefix)
		}
	}
}

// accepts says that a Network could be had if nobody else were there.
func (s *sim) accepts(network *samplecrdv1.Network) bool {
	class := s.classes[network.Spec.NetworkClassName]
	if class == nil || network.DeletionTimestamp != nil {
		return false
	}
	judged, err := s.r.judge(s.t.Context(), network, class)
	return err == nil && judged.reason == ""
}

// oracle says who wins, by looking at every pair: what is recorded stays, then the
// older goes first.
func (s *sim) oracle() map[types.UID]bool {
	networks := slices.SortedFunc(maps.Values(s.latest), func(a, b *samplecrdv1.Network) int {
		return addressing.OwnerOf(a).Compare(addressing.OwnerOf(b))
	})
	taken := map[types.UID][]string{}
	for _, network := range networks {
		for _, prefix := range addressing.Recorded(&network.Status) {
			taken[network.UID] = append(taken[network.UID], prefix.String())
		}
	}
	won := map[types.UID]bool{}
	for _, network := range networks {
		free := s.accepts(network)
		for _, other := range networks {
			for _, text := range taken[other.UID] {
				for _, prefix := range addressing.Asked(&network.Spec) {
					free = free && !(s.competing(network, other) && addressing.ParsePrefix(text).Overlaps(prefix))
				}
			}
		}
		if won[network.UID] = free; free {
			for _, prefix := range addressing.Asked(&network.Spec) {
				taken[network.UID] = append(taken[network.UID], prefix.String())
			}
		}
	}
	return won
}

// winners are those that are ready by their own status.
func (s *sim) winners() map[types.UID]bool {
	won := map[types.UID]bool{}
	for _, network := range s.latest {
		ready := condition(network, ready)
		won[network.UID] = ready != nil && ready.Status == "True" && ready.ObservedGeneration == network.Generation
	}
	return won
}

const ready = samplecrdv1.NetworkConditionReady
