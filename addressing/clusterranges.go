package addressing

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// RangeKind is what the cluster uses a range for, as messages name it.
type RangeKind string

const (
	// ServiceRange is a range that Services get their addresses from.
	ServiceRange RangeKind = "Service range"
	// PodRange is a range that a node gives addresses to its Pods from.
	PodRange RangeKind = "Pod range"
)

// RuleClusterRanges is the Origin of the faults that ClusterRanges.Judge reports.
const RuleClusterRanges = "addressing/cluster-ranges"

// ClusterRanges are the ranges that the cluster itself uses. Readers never wait for
// a change, and to find a subnet apart from all of them allocates nothing. A nil
// *ClusterRanges knows that there are none. See NewClusterRanges.
type ClusterRanges struct {
	index *Claims

	// mu is held while the ranges change.
	mu      sync.Mutex
	sources map[types.UID][]netip.Prefix
	unread  []RangeKind
	changed func([]netip.Prefix)
}

// clusterScope is the one scope of the index of ClusterRanges.
var clusterScope = Scope{Class: "cluster"}

// NewClusterRanges gives none, and says that no kind of them has been read.
func NewClusterRanges() *ClusterRanges {
	return &ClusterRanges{
		index:   NewClaims(),
		sources: map[types.UID][]netip.Prefix{},
		unread:  []RangeKind{ServiceRange, PodRange},
	}
}

// Set makes ranges, which are canonical, all that the object with the UID source
// says of the cluster.
func (r *ClusterRanges) Set(source types.UID, kind RangeKind, ranges []netip.Prefix) {
	if r == nil {
		return
	}
	r.mu.Lock()
	before := r.sources[source]
	changed := append(without(before, ranges), without(ranges, before)...)
	r.index.Set(Owner{UID: source, NamespacedName: types.NamespacedName{Name: string(kind)}}, clusterScope, ranges, nil)
	r.sources[source] = ranges
	if len(ranges) == 0 {
		delete(r.sources, source)
	}
	tell := r.changed
	if len(r.unread) > 0 || len(changed) == 0 {
		tell = nil
	}
	r.mu.Unlock()
	if tell != nil {
		tell(changed)
	}
}

// Remove takes out all that the object with the UID source has said.
func (r *ClusterRanges) Remove(source types.UID) { r.Set(source, "", nil) }

// MarkRead says that all there is of a kind has been read once.
func (r *ClusterRanges) MarkRead(kind RangeKind) {
	if r == nil {
		return
	}
	r.mu.Lock()
	left := without(r.unread, []RangeKind{kind})
	tell := r.changed
	if len(left) > 0 || len(r.unread) == 0 {
		tell = nil
	}
	r.unread = left
	r.mu.Unlock()
	if tell != nil {
		tell(nil)
	}
}

// Unread lists the kinds that have not all been read yet; what Judge finds is not
// complete until there are none.
func (r *ClusterRanges) Unread() []RangeKind {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unread
}

// OnChange has tell called, by whoever brought the change, with the ranges that
// came or went; with nil once all kinds have been read, and not before.
func (r *ClusterRanges) OnChange(tell func(changed []netip.Prefix)) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = tell
}

// Judge says which subnets of plan overlap a range of the cluster, each with one
// fault at its cidr. Of several ranges the narrowest around the subnet is named,
// else the first inside it. Whose they are is not told.
func (r *ClusterRanges) Judge(plan Plan) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	for i := range plan.Subnets {
		subnet := &plan.Subnets[i]
		if !subnet.Prefix.IsValid() || r.index.Free(clusterScope, subnet.Prefix, types.NamespacedName{}) {
			continue
		}
		if found, overlaps := r.first(subnet.Prefix); overlaps {
			errs = append(errs, field.Invalid(subnet.Path.Child("cidr"), subnet.Written.String(),
				fmt.Sprintf("overlaps %s, a %s of the cluster; Pods would not reach one of the two; use a range apart from it", found.Prefix, found.Owner.Name)).
				WithOrigin(RuleClusterRanges))
		}
	}
	return errs
}

// first gives the range that is named of those that overlap prefix.
func (r *ClusterRanges) first(prefix netip.Prefix) (found Claim, overlaps bool) {
	for claim := range r.index.Overlapping(clusterScope, prefix, types.NamespacedName{}) {
		switch {
		case !overlaps:
			found, overlaps = claim, true
		case claim.Prefix != found.Prefix:
			return found, true
		case claim.compare(found) < 0: // One range of two kinds.
			found = claim
		}
	}
	return found, overlaps
}

func without[T comparable](all, gone []T) []T {
	var left []T
	for _, one := range all {
		if !slices.Contains(gone, one) {
			left = append(left, one)
		}
	}
	return left
}
