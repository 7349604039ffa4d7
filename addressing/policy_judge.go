package addressing

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The Origins of the faults that Policy.Judge reports.
const (
	// RuleAllowedCIDRs: every subnet lies inside one of the class's allowedCIDRs.
	RuleAllowedCIDRs = "addressing/allowed-cidrs"
	// RuleReservedCIDRs: no subnet touches one of its reservedCIDRs.
	RuleReservedCIDRs = "addressing/reserved-cidrs"
	// RulePrefixLengths: every subnet is as large as its prefixLengths say.
	RulePrefixLengths = "addressing/prefix-lengths"
	// RuleNamespace: its namespaceSelector selects the Network's namespace.
	RuleNamespace = "addressing/namespace"
	// RuleClassStays: a class that is being deleted takes no new Networks.
	RuleClassStays = "addressing/class-stays"
	// RuleImport: a network is taken over only where its import is Allowed.
	RuleImport = "addressing/import"
)

// Tenant is the namespace of a Network.
type Tenant struct {
	// Namespace is its name.
	Namespace string
	// Labels are those of the Namespace object. They may be left out where
	// Policy.NeedsLabels is false.
	Labels labels.Set
}

// Judge says what of plan the class does not allow, each fault at the subnet's
// cidr, at networkClassName or at importID. A subnet that could not be read is not judged. Nothing is
// said of other namespaces, nor of what the selector selects, which may name them.
func (p Policy) Judge(plan Plan, tenant Tenant) field.ErrorList {
	var errs field.ErrorList
	for i := range plan.Subnets {
		subnet := &plan.Subnets[i]
		if !subnet.Prefix.IsValid() {
			continue
		}
		for _, rule := range []struct{ origin, problem string }{
			{RuleAllowedCIDRs, p.outside(subnet.Prefix)},
			{RuleReservedCIDRs, p.reservedBy(subnet.Prefix)},
			{RulePrefixLengths, p.wrongLength(subnet.Prefix)},
		} {
			if rule.problem != "" {
				errs = append(errs, field.Invalid(subnet.Path.Child("cidr"), subnet.Written.String(), rule.problem).WithOrigin(rule.origin))
			}
		}
	}
	spec := plan.Subnets[0].Path
	className := spec.Child("networkClassName")
	if p.leaving {
		errs = append(errs, field.Invalid(className, p.class,
			fmt.Sprintf("NetworkClass %q is being deleted; create the Network in another class", p.class)).WithOrigin(RuleClassStays))
	}
	if p.selector != nil && !p.selector.Matches(tenant.Labels) {
		errs = append(errs, field.Invalid(className, p.class,
			fmt.Sprintf("NetworkClass %q is not for namespace %q; create the Network in another class, or have the namespace given labels that its namespaceSelector selects", p.class, tenant.Namespace)).
			WithOrigin(RuleNamespace))
	}
	if p.noImport && plan.ImportID != "" {
		errs = append(errs, field.Forbidden(spec.Child("importID"),
			fmt.Sprintf("NetworkClass %q lets no network be taken over; remove it to have one made, or have the class say import: Allowed", p.class)).WithOrigin(RuleImport))
	}
	return errs
}

// Discreet leaves out of errs what else is wrong where a class is not for a namespace:
// what the class allows, and what others have of it, is not for its tenant to know.
func Discreet(errs field.ErrorList) field.ErrorList {
	if !slices.ContainsFunc(errs, func(fault *field.Error) bool { return fault.Origin == RuleNamespace }) {
		return errs
	}
	ofClass := []string{RuleAllowedCIDRs, RuleReservedCIDRs, RulePrefixLengths, RuleImport, RuleOverlap, RuleOverlapAsked, RuleClusterRanges}
	return slices.DeleteFunc(errs, func(fault *field.Error) bool { return slices.Contains(ofClass, fault.Origin) })
}

// outside says why prefix is in none of the allowed ranges; it is "" when it is in
// one. Two that lie side by side are not one.
func (p Policy) outside(prefix netip.Prefix) string {
	if !p.restricted {
		return ""
	}
	for _, allowed := range p.allowed {
		if allowed.Bits() <= prefix.Bits() && allowed.Contains(prefix.Addr()) {
			return ""
		}
	}
	sameFamily := slices.DeleteFunc(slices.Clone(p.allowed), func(allowed netip.Prefix) bool { return family(allowed) != family(prefix) })
	switch {
	case len(p.allowed) == 0:
		return fmt.Sprintf("NetworkClass %q allows no range, since its allowedCIDRs cannot be read; have them mended", p.class)
	case len(sameFamily) == 0:
		return fmt.Sprintf("NetworkClass %q allows no %s range; use a part of one that it allows: %s", p.class, family(prefix), some(p.allowed))
	}
	return fmt.Sprintf("not inside one range that NetworkClass %q allows; use a part of %s", p.class, some(sameFamily))
}

// reservedBy says which reserved ranges prefix touches.
func (p Policy) reservedBy(prefix netip.Prefix) string {
	var touched []netip.Prefix
	for _, reserved := range p.reserved {
		if reserved.Overlaps(prefix) {
			touched = append(touched, reserved)
		}
	}
	switch {
	case len(touched) > 0:
		return fmt.Sprintf("overlaps %s, reserved by NetworkClass %q; use a range apart from it", some(touched), p.class)
	case p.unread:
		return fmt.Sprintf("NetworkClass %q allows no range, since its reservedCIDRs cannot be read; have them mended", p.class)
	}
	return ""
}

// wrongLength says which prefix lengths there may be instead of prefix's.
func (p Policy) wrongLength(prefix netip.Prefix) string {
	bounds := p.ipv4
	if prefix.Addr().Is6() {
		bounds = p.ipv6
	}
	switch bits := prefix.Bits(); {
	case bounds == lengths{} || (bounds.min <= bits && bits <= bounds.max):
		return ""
	case bounds == noLength:
		return fmt.Sprintf("NetworkClass %q allows no %s prefix length, since its prefixLengths cannot be read; have them mended", p.class, family(prefix))
	case bounds.min == bounds.max:
		return fmt.Sprintf("must have the prefix length %d, the only one of %s that NetworkClass %q allows", bounds.min, family(prefix), p.class)
	}
	return fmt.Sprintf("must have a prefix length from %d to %d, those of %s that NetworkClass %q allows", bounds.min, bounds.max, family(prefix), p.class)
}

func family(prefix netip.Prefix) string {
	if prefix.Addr().Is4() {
		return "IPv4"
	}
	return "IPv6"
}

// some names the first of ranges, in the order of the class.
func some(ranges []netip.Prefix) string {
	const most = 4
	texts := make([]string, 0, most)
	for _, prefix := range ranges[:min(len(ranges), most)] {
		texts = append(texts, prefix.String())
	}
	joined := strings.Join(texts, ", ")
	if len(ranges) > most {
		joined += " and others"
	}
	return joined
}
