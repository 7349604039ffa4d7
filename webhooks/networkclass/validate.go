package networkclass

import (
	"fmt"

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
	overlapScopePath   = specPath.Child("overlapScope")
	clusterRangesPath  = specPath.Child("clusterRanges")
	deletionPolicyPath = specPath.Child("deletionPolicy")
)

// judge applies the rules that look at one class. The schema fills in what is
// absent, so that an empty value was written as such.
func judge(class *samplecrdv1.NetworkClass) (addressing.Policy, field.ErrorList) {
	spec := &class.Spec
	if equality.Semantic.DeepEqual(*spec, samplecrdv1.NetworkClassSpec{}) {
		// There is no spec, and so nothing that the schema filled in.
		return addressing.Policy{}, mandatory(specPath.Child("provider"), spec.Provider, samplecrdv1.ProviderMultus)
	}
	errs := mandatory(specPath.Child("provider"), spec.Provider, samplecrdv1.ProviderMultus)
	if spec.Provider == samplecrdv1.ProviderMultus {
		errs = append(errs, validateMultus(spec.Multus, specPath.Child("multus"))...)
	}
	errs = append(errs, gate.OneOf(overlapScopePath, spec.OverlapScope,
		samplecrdv1.OverlapNamespace, samplecrdv1.OverlapClass, samplecrdv1.OverlapNone)...)
	policy, faults := addressing.ParsePolicy(class)
	errs = append(errs, faults...)
	errs = append(errs, gate.OneOf(clusterRangesPath, spec.ClusterRanges,
		samplecrdv1.ClusterRangesWarn, samplecrdv1.ClusterRangesForbid, samplecrdv1.ClusterRangesIgnore)...)
	return policy, append(errs, gate.OneOf(deletionPolicyPath, spec.DeletionPolicy, samplecrdv1.DeletionDelete, samplecrdv1.DeletionRetain)...)
}

// unchanged says whether the fields that the rule behind fault reads are the same.
func unchanged(fault *field.Error, before, after *samplecrdv1.NetworkClassSpec) bool {
	switch fault.Field {
	case overlapScopePath.String():
		return before.OverlapScope == after.OverlapScope
	case clusterRangesPath.String():
		return before.ClusterRanges == after.ClusterRanges
	case deletionPolicyPath.String():
		return before.DeletionPolicy == after.DeletionPolicy
	}
	if fault.Origin != "" {
		return addressing.PolicyUnchanged(fault, before, after)
	}
	return before.Provider == after.Provider && equality.Semantic.DeepEqual(before.Multus, after.Multus)
}

func validateMultus(multus *samplecrdv1.MultusSpec, path *field.Path) field.ErrorList {
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

// validateUnchanged holds the backend and the scope fast: Networks that exist were
// made by the one and admitted by the other.
func validateUnchanged(spec, old *samplecrdv1.NetworkClassSpec) field.ErrorList {
	const remedy = "cannot be changed; create another NetworkClass"
	var errs field.ErrorList
	if spec.Provider != old.Provider {
		errs = append(errs, field.Invalid(specPath.Child("provider"), gate.Clip(string(spec.Provider), maxEcho), remedy))
	}
	if old.Multus != nil && !equality.Semantic.DeepEqual(spec.Multus, old.Multus) {
		errs = append(errs, field.Forbidden(specPath.Child("multus"), remedy))
	}
	if old.OverlapScope != "" && spec.OverlapScope != old.OverlapScope {
		errs = append(errs, field.Invalid(overlapScopePath, gate.Clip(string(spec.OverlapScope), maxEcho),
			fmt.Sprintf("cannot be changed, and is Namespace where it is left out; write %s, or create another NetworkClass", old.OverlapScope)))
	}
	return errs
}
