package addressing

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

const (
	// maxNamed bounds how many conflicts one answer names.
	maxNamed = 5
	// maxLooked bounds among how many those are chosen, for each subnet.
	maxLooked = 64
)

// The Origins of the faults that Overlaps reports.
const (
	// RuleOverlap: nobody else holds any of a range.
	RuleOverlap = "addressing/overlap"
	// RuleOverlapAsked: nobody else who may still have it asks for any of a range.
	// Unlike the other it does not read the class: to be given one later, as a Network
	// without one is, decides nothing between two that wait.
	RuleOverlapAsked = "addressing/overlap-asked"
)

// Recorded lists the prefixes that status records as claimed.
func Recorded(status *samplecrdv1.NetworkStatus) []netip.Prefix {
	var prefixes []netip.Prefix
	for i := range status.Subnets {
		if prefix := ParsePrefix(status.Subnets[i].CIDR); prefix.IsValid() {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}

// Asked lists the prefixes that spec asks for, as far as they can be read.
func Asked(spec *samplecrdv1.NetworkSpec) []netip.Prefix {
	var prefixes []netip.Prefix
	for i := -1; i < len(spec.AdditionalSubnets); i++ {
		text := spec.CIDR
		if i >= 0 {
			text = spec.AdditionalSubnets[i].CIDR
		}
		if prefix := ParsePrefix(text); prefix.IsValid() {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}

// Overlaps names the first five claims of others that plan conflicts with: those
// held before those asked for, the older before the younger, among the first 64
// that are found for each subnet. Each is on the path of the subnet that is in the
// way. What a Network asks for that was refused is in nobody's way. Another Network
// of self's namespace is named; of another namespace's nothing is said but the range.
func (c *Claims) Overlaps(plan Plan, scope Scope, self types.NamespacedName) field.ErrorList {
	var errs field.ErrorList
	for _, subnet := range plan.Subnets {
		if !subnet.Prefix.IsValid() {
			continue
		}
		conflicts, more := c.conflicts(scope, subnet.Prefix, self)
		for _, claim := range conflicts {
			if len(errs) == maxNamed {
				more = true
				break
			}
			errs = append(errs, Overlap(subnet, claim, self))
		}
		if more && len(errs) > 0 {
			errs[len(errs)-1].Detail += "; there may be more"
			return errs
		}
	}
	return errs
}

// conflicts gives the first claims in the order of Claim.compare, an owner once.
func (c *Claims) conflicts(scope Scope, prefix netip.Prefix, self types.NamespacedName) (named []Claim, more bool) {
	looked := 0
	for claim := range c.Overlapping(scope, prefix, self) {
		if looked++; looked > maxLooked {
			more = true
			break
		}
		if claim.Recorded || !claim.Owner.Refused {
			named = append(named, claim)
		}
	}
	slices.SortFunc(named, Claim.compare)
	seen := map[types.UID]bool{}
	named = slices.DeleteFunc(named, func(claim Claim) bool {
		again := seen[claim.Owner.UID]
		seen[claim.Owner.UID] = true
		return again
	})
	if len(named) > maxNamed {
		named, more = named[:maxNamed], true
	}
	return named, more
}

// Overlap is the fault of a subnet of self's that overlaps a claim of another.
func Overlap(subnet Subnet, claim Claim, self types.NamespacedName) *field.Error {
	whose := ", which a Network of another namespace has"
	if claim.Owner.Namespace == self.Namespace {
		whose = fmt.Sprintf(" of Network %q", claim.Owner.Name)
	}
	origin := RuleOverlapAsked
	if claim.Recorded {
		origin = RuleOverlap
	}
	return field.Invalid(subnet.Path.Child("cidr"), subnet.Written.String(),
		fmt.Sprintf("overlaps %s%s; use a range apart from it", claim.Prefix, whose)).WithOrigin(origin)
}
