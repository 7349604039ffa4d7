package networkclass

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/webhooks/gate"
)

const minVLAN, maxVLAN = 1, 4094

// maxEcho bounds a value in a refusal, in bytes: the schema, which bounds it, comes
// later.
const maxEcho = 64

// Validate judges a NetworkClass. Faults that the stored one has as well are
// forgiven when the update did not touch what they come from.
func (*webhook) Validate(class, old *samplecrdv1.NetworkClass, _ facts) ([]string, field.ErrorList) {
	policy, errs := judge(class)
	if old != nil {
		_, stored := judge(old)
		errs = gate.Forgive(errs, stored, func(fault *field.Error) bool {
			return unchanged(fault, &old.Spec, &class.Spec)
		})
		errs = append(errs, validateUnchanged(&class.Spec, &old.Spec)...)
	}
	return policy.Warnings(), errs
}

var (
	multusPath         = specPath.Child("multus")
	overlapScopePath   = specPath.Child("overlapScope")
	clusterRangesPath  = specPath.Child("clusterRanges")
	importPath         = specPath.Child("import")
	deletionPolicyPath = specPath.Child("deletionPolicy")
)

// judge applies the rules that look at one class. The schema fills in what is
// absent, so that an empty value was written as such.
func judge(class *samplecrdv1.NetworkClass) (addressing.Policy, field.ErrorList) {
	spec := &class.Spec
	errs := mandatory(specPath.Child("provider"), spec.Provider, samplecrdv1.ProviderMultus, samplecrdv1.ProviderNeutron)
	if equality.Semantic.DeepEqual(*spec, samplecrdv1.NetworkClassSpec{}) {
		// There is no spec, and so nothing that the schema filled in.
		return addressing.Policy{}, errs
	}
	switch spec.Provider {
	case samplecrdv1.ProviderMultus:
		errs = append(errs, validateMultus(spec.Multus)...)
		errs = append(errs, foreign(spec.Neutron, neutronPath, spec.Provider)...)
	case samplecrdv1.ProviderNeutron:
		errs = append(errs, foreign(spec.Multus, multusPath, spec.Provider)...)
		errs = append(errs, validateNeutron(spec.Neutron)...)
	}
	errs = append(errs, gate.OneOf(overlapScopePath, spec.OverlapScope,
		samplecrdv1.OverlapNamespace, samplecrdv1.OverlapClass, samplecrdv1.OverlapNone)...)
	policy, faults := addressing.ParsePolicy(class)
	errs = append(errs, faults...)
	errs = append(errs, gate.OneOf(clusterRangesPath, spec.ClusterRanges,
		samplecrdv1.ClusterRangesWarn, samplecrdv1.ClusterRangesForbid, samplecrdv1.ClusterRangesIgnore)...)
	errs = append(errs, gate.OneOf(importPath, spec.Import, samplecrdv1.ImportForbidden, samplecrdv1.ImportAllowed)...)
	return policy, append(errs, gate.OneOf(deletionPolicyPath, spec.DeletionPolicy, samplecrdv1.DeletionDelete, samplecrdv1.DeletionRetain)...)
}

// unchanged says whether the fields that the rule behind fault reads are the same.
func unchanged(fault *field.Error, before, after *samplecrdv1.NetworkClassSpec) bool {
	switch fault.Field {
	case overlapScopePath.String():
		return before.OverlapScope == after.OverlapScope
	case clusterRangesPath.String():
		return before.ClusterRanges == after.ClusterRanges
	case importPath.String():
		return before.Import == after.Import
	case deletionPolicyPath.String():
		return before.DeletionPolicy == after.DeletionPolicy
	}
	if fault.Origin != "" {
		return addressing.PolicyUnchanged(fault, before, after)
	}
	if strings.HasPrefix(fault.Field, neutronPath.String()) {
		return neutronUnchanged(fault, before, after)
	}
	return before.Provider == after.Provider && equality.Semantic.DeepEqual(before.Multus, after.Multus)
}

// foreign refuses the member of another provider.
func foreign[T any](member *T, path *field.Path, provider samplecrdv1.ProviderType) field.ErrorList {
	if member == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf("remove it, since provider is %s", provider))}
}

// validateMultus judges the member of provider Multus.
func validateMultus(multus *samplecrdv1.MultusSpec) field.ErrorList {
	path := multusPath
	if multus == nil {
		return field.ErrorList{field.Required(path, "set it, for example to {type: Bridge}, since provider is Multus")}
	}
	errs := mandatory(path.Child("type"), multus.Type, samplecrdv1.MultusBridge)
	if id := multus.VLANID; id != nil && (*id < minVLAN || *id > maxVLAN) {
		errs = append(errs, field.Invalid(path.Child("vlanID"), *id, fmt.Sprintf("must be from %d to %d", minVLAN, maxVLAN)))
	}
	return append(errs, gate.OneOf(path.Child("ipam"), multus.IPAM, samplecrdv1.IPAMHostLocal)...)
}

// mandatory refuses a value that is absent, and one that is not among those known.
func mandatory[T ~string](path *field.Path, value T, known ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, fmt.Sprintf("set it to one of %q", known))}
	}
	return gate.OneOf(path, value, known...)
}

// unchangeable is said of what is held fast.
const unchangeable = "cannot be changed; create another NetworkClass"

// validateUnchanged holds the backend and the scope fast: Networks that exist were
// made by the one and admitted by the other.
func validateUnchanged(spec, old *samplecrdv1.NetworkClassSpec) field.ErrorList {
	var errs field.ErrorList
	if spec.Provider != old.Provider {
		errs = append(errs, field.Invalid(specPath.Child("provider"), gate.Clip(string(spec.Provider), maxEcho), unchangeable))
	}
	// One that stands beside another provider may go.
	gone := spec.Multus == nil && old.Provider == samplecrdv1.ProviderNeutron
	if old.Multus != nil && !gone && !equality.Semantic.DeepEqual(spec.Multus, old.Multus) {
		errs = append(errs, field.Forbidden(multusPath, unchangeable))
	}
	errs = append(errs, validateNeutronUnchanged(spec, old)...)
	if old.OverlapScope != "" && spec.OverlapScope != old.OverlapScope {
		errs = append(errs, field.Invalid(overlapScopePath, gate.Clip(string(spec.OverlapScope), maxEcho),
			fmt.Sprintf("cannot be changed, and is Namespace where it is left out; write %s, or create another NetworkClass", old.OverlapScope)))
	}
	return errs
}
