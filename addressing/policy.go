package addressing

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// Bounds of a class's lists. Those of the ranges are the CRD's; a schema cannot
// bound a label selector, which is Kubernetes' own type.
const (
	maxRanges       = 64
	maxRequirements = 16
	maxValues       = 64
)

// The rules of a class's policy, as field.Error.Origin names them.
const (
	rulePolicyAllowed  = "addressing/policy-allowed"
	rulePolicyReserved = "addressing/policy-reserved"
	rulePolicyLeft     = "addressing/policy-left"
	rulePolicyLengths4 = "addressing/policy-lengths-v4"
	rulePolicyLengths6 = "addressing/policy-lengths-v6"
	rulePolicySelector = "addressing/policy-selector"
)

// Policy is what a NetworkClass allows, in typed form. The zero value allows
// everything.
type Policy struct {
	class string
	// leaving says that the class is being deleted.
	leaving bool
	// restricted says that only ranges inside allowed may be had.
	restricted        bool
	allowed, reserved []netip.Prefix
	// unread says that it is not known what is reserved.
	unread bool
	// ipv4 and ipv6 bound the prefix lengths.
	ipv4, ipv6 lengths
	// selector is nil where every namespace is selected; Nothing where it cannot be
	// read.
	selector labels.Selector
	// noImport says that no network may be taken over.
	noImport bool
	warnings []string
}

// lengths is a range of prefix lengths, both ends included. The zero value is any
// length; where max is below min there is none.
type lengths struct{ min, max int }

var noLength = lengths{1, 0}

// ParsePolicy reads the policy of a class: its ranges, prefix lengths and selector.
// Every fault is reported at once, in the order of the object's fields. A Policy
// with faults is safe to judge by: what cannot be read allows nothing.
func ParsePolicy(class *samplecrdv1.NetworkClass) (Policy, field.ErrorList) {
	spec, path := &class.Spec, field.NewPath("spec")
	p := Policy{
		class: class.Name, leaving: class.DeletionTimestamp != nil, restricted: len(spec.AllowedCIDRs) > 0,
		noImport: spec.Import != samplecrdv1.ImportAllowed,
	}

	allowed, errs := p.parseRanges(spec.AllowedCIDRs, path.Child("allowedCIDRs"), rulePolicyAllowed)
	reserved, faults := p.parseRanges(spec.ReservedCIDRs, path.Child("reservedCIDRs"), rulePolicyReserved)
	errs = append(errs, validateLeft(spec.AllowedCIDRs, allowed, reserved, path.Child("allowedCIDRs"))...)
	errs = append(errs, faults...)
	p.allowed, p.reserved = readable(allowed), readable(reserved)
	p.unread = len(p.reserved) < len(spec.ReservedCIDRs)

	if spec.PrefixLengths != nil {
		at := path.Child("prefixLengths")
		p.ipv4, faults = parseLengths(spec.PrefixLengths.IPv4, 32, at.Child("ipv4"), rulePolicyLengths4)
		errs = append(errs, faults...)
		p.ipv6, faults = parseLengths(spec.PrefixLengths.IPv6, 128, at.Child("ipv6"), rulePolicyLengths6)
		errs = append(errs, faults...)
		p.warnOfNothing(p.ipv4, true, at.Child("ipv4", "max"))
		p.warnOfNothing(p.ipv6, false, at.Child("ipv6", "max"))
	}
	p.selector, faults = parseSelector(spec.NamespaceSelector, path.Child("namespaceSelector"))
	return p, append(errs, faults...)
}

// warnOfNothing tells that every allowed range of a family is smaller than the smallest
// subnet that there may be: nothing can be had of it.
func (p *Policy) warnOfNothing(bounds lengths, is4 bool, path *field.Path) {
	widest := 0
	for _, allowed := range p.allowed {
		if allowed.Addr().Is4() != is4 {
			continue
		}
		if allowed.Bits() <= bounds.max {
			return
		}
		if widest == 0 || allowed.Bits() < widest {
			widest = allowed.Bits()
		}
	}
	if widest > 0 && bounds != (lengths{}) && bounds != noLength {
		p.warnings = append(p.warnings, fmt.Sprintf("%s: no subnet can be had, since each of allowedCIDRs is smaller than a /%d; write at least %d, or allow a larger range", path, bounds.max, widest))
	}
}

// Warnings tells, one sentence each, which ranges of the class have host bits set, and
// where nothing can be had.
func (p Policy) Warnings() []string { return p.warnings }

// NeedsLabels says whether Judge looks at the labels of the tenant's namespace.
func (p Policy) NeedsLabels() bool { return p.selector != nil && !p.selector.Empty() }

// PolicyUnchanged says whether every field that the rule behind fault reads is the
// same in both specs, so that the change did not bring the fault about. It is false
// for a fault that does not come from ParsePolicy.
func PolicyUnchanged(fault *field.Error, before, after *samplecrdv1.NetworkClassSpec) bool {
	lengthsOf := func(spec *samplecrdv1.NetworkClassSpec) samplecrdv1.PrefixLengths {
		if spec.PrefixLengths == nil {
			return samplecrdv1.PrefixLengths{}
		}
		return *spec.PrefixLengths
	}
	same := equality.Semantic.DeepEqual
	switch fault.Origin {
	case rulePolicyAllowed:
		return same(before.AllowedCIDRs, after.AllowedCIDRs)
	case rulePolicyReserved:
		return same(before.ReservedCIDRs, after.ReservedCIDRs)
	case rulePolicyLeft:
		return same(before.AllowedCIDRs, after.AllowedCIDRs) && same(before.ReservedCIDRs, after.ReservedCIDRs)
	case rulePolicyLengths4:
		return same(lengthsOf(before).IPv4, lengthsOf(after).IPv4)
	case rulePolicyLengths6:
		return same(lengthsOf(before).IPv6, lengthsOf(after).IPv6)
	case rulePolicySelector:
		return same(before.NamespaceSelector, after.NamespaceSelector)
	}
	return false
}

// parseRanges reads a list of ranges: for each entry its canonical prefix, or the
// zero Prefix where it cannot be read. What is beyond the bound is not read.
func (p *Policy) parseRanges(texts []string, path *field.Path, rule string) ([]netip.Prefix, field.ErrorList) {
	var errs field.ErrorList
	if n := len(texts); n > maxRanges {
		errs = append(errs, field.TooMany(path, n, maxRanges).WithOrigin(rule))
	}
	var prefixes []netip.Prefix
	for i, text := range texts[:min(len(texts), maxRanges)] {
		written, fault := parseCIDR(text, path.Index(i))
		prefix := written.Masked()
		switch {
		case fault != nil:
			errs = append(errs, fault.WithOrigin(rule))
		case slices.Contains(prefixes, prefix):
			errs = append(errs, again(path.Index(i), text, prefix, slices.Index(prefixes, prefix)).WithOrigin(rule))
		case written != prefix:
			p.warnings = append(p.warnings, hostBits(path.Index(i), written))
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes, errs
}

// hostBits warns of a range that is written with host bits set.
func hostBits(path *field.Path, written netip.Prefix) string {
	canonical := written.Masked()
	return fmt.Sprintf("%s: %s has host bits set and is treated as %s; write %s", path, written, canonical, canonical)
}

// validateLeft refuses an allowed range of which the reserved ones, alone or
// together, leave nothing.
func validateLeft(texts []string, allowed, reserved []netip.Prefix, path *field.Path) field.ErrorList {
	var builder netipx.IPSetBuilder
	for _, prefix := range readable(reserved) {
		builder.AddPrefix(prefix)
	}
	taken, err := builder.IPSet()
	if err != nil {
		return nil // Only an invalid prefix could be behind it.
	}
	var errs field.ErrorList
	for i, prefix := range allowed {
		if prefix.IsValid() && taken.ContainsPrefix(prefix) {
			errs = append(errs, field.Invalid(path.Index(i), texts[i],
				"nothing of it is left, since reservedCIDRs cover all of it; reserve less, or leave it out").WithOrigin(rulePolicyLeft))
		}
	}
	return errs
}

func readable(prefixes []netip.Prefix) []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(prefixes), func(prefix netip.Prefix) bool { return !prefix.IsValid() })
}

// parseLengths reads the bounds of one family, whose addresses have longest bits.
func parseLengths(written *samplecrdv1.PrefixLengthRange, longest int32, path *field.Path, rule string) (lengths, field.ErrorList) {
	if written == nil {
		return lengths{}, nil
	}
	least, most := int32(1), longest
	var errs field.ErrorList
	read := func(bound *int32, into *int32, path *field.Path) {
		if bound == nil {
			return
		}
		*into = *bound
		if *bound < 1 || *bound > longest {
			errs = append(errs, field.Invalid(path, *bound, fmt.Sprintf("must be from 1 to %d", longest)).WithOrigin(rule))
		}
	}
	read(written.Min, &least, path.Child("min"))
	read(written.Max, &most, path.Child("max"))
	if len(errs) == 0 && least > most {
		errs = append(errs, field.Invalid(path.Child("min"), least, fmt.Sprintf("must not be above max %d", most)).WithOrigin(rule))
	}
	if len(errs) > 0 {
		return noLength, errs
	}
	return lengths{int(least), int(most)}, nil
}

// parseSelector reads a selector of namespaces.
func parseSelector(written *metav1.LabelSelector, path *field.Path) (labels.Selector, field.ErrorList) {
	if written == nil {
		return nil, nil
	}
	errs := validateSelector(written, path)
	if len(errs) == 0 {
		selector, err := metav1.LabelSelectorAsSelector(written)
		if err == nil {
			return selector, nil
		}
		errs = append(errs, field.Invalid(path, "", err.Error()))
	}
	for _, fault := range errs {
		fault.Origin = rulePolicySelector
		if fault.Type == field.ErrorTypeInvalid {
			fault.BadValue = clip(fmt.Sprint(fault.BadValue))
		}
	}
	// Labels are a map: what is said of them must not change with its order.
	slices.SortStableFunc(errs, func(a, b *field.Error) int {
		return cmp.Or(cmp.Compare(a.Field, b.Field), cmp.Compare(a.Error(), b.Error()))
	})
	return labels.Nothing(), errs
}

// validateSelector judges a selector. One that is too large is looked at no further.
func validateSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if n := len(selector.MatchLabels) + len(selector.MatchExpressions); n > maxRequirements {
		return field.ErrorList{field.TooMany(path, n, maxRequirements)}
	}
	operators := []metav1.LabelSelectorOperator{
		metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist,
	}
	var errs field.ErrorList
	for i, requirement := range selector.MatchExpressions {
		at := path.Child("matchExpressions").Index(i)
		if n := len(requirement.Values); n > maxValues {
			return field.ErrorList{field.TooMany(at.Child("values"), n, maxValues)}
		}
		if !slices.Contains(operators, requirement.Operator) {
			errs = append(errs, field.NotSupported(at.Child("operator"), clip(requirement.Operator), operators))
		}
	}
	// That of apimachinery does not say which operators there are.
	return append(errs, validation.ValidateLabelSelector(selector, validation.LabelSelectorValidationOptions{AllowUnknownOperatorInRequirement: true}, path)...)
}
