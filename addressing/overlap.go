package addressing

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// maxConflicts bounds how many conflicts one answer names.
const maxConflicts = 5

// RuleOverlap is the Origin of the faults that Overlaps reports.
const RuleOverlap = "addressing/overlap"

// Rival is another Network of the same class and namespace, and what it holds of
// the address space.
type Rival struct {
	// Name is the rival's name; it is in the asker's own namespace, so that naming
	// it betrays no other tenant.
	Name string
	// Prefixes are what it has claimed or asks for, canonical.
	Prefixes []netip.Prefix
}

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

// Overlaps names the first five conflicts between plan and its rivals, each on
// the path of the subnet that is in the way, a rival once for each subnet.
func Overlaps(plan Plan, rivals []Rival) field.ErrorList {
	// By name, so that the same conflicts read the same every time.
	rivals = slices.SortedStableFunc(slices.Values(rivals), func(a, b Rival) int { return strings.Compare(a.Name, b.Name) })
	var errs field.ErrorList
	for _, subnet := range plan.Subnets {
		named := map[string]bool{}
		for _, rival := range rivals {
			for _, prefix := range rival.Prefixes {
				if named[rival.Name] || !subnet.Prefix.IsValid() || !prefix.Overlaps(subnet.Prefix) {
					continue
				}
				named[rival.Name] = true
				errs = append(errs, field.Invalid(subnet.Path.Child("cidr"), subnet.Written.String(),
					fmt.Sprintf("overlaps %s of Network %q; use a range apart from it", prefix, rival.Name)).WithOrigin(RuleOverlap))
				if len(errs) == maxConflicts {
					errs[maxConflicts-1].Detail += "; there may be more"
					return errs
				}
			}
		}
	}
	return errs
}
