package network

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/webhooks/gate"
)

// Validate judges a Network. Faults that the stored one has as well are forgiven
// when the update did not touch what they come from.
func (w *webhook) Validate(network, old *samplecrdv1.Network, known *facts) ([]string, field.ErrorList) {
	spec := network.Spec
	if known.gatewayChosen {
		// The verdict is the same, and says that the gateway was not the user's.
		spec.Gateway = ""
	}
	self := types.NamespacedName{Namespace: network.Namespace, Name: network.Name}
	plan, errs := judge(&spec, self, known)
	if old != nil {
		_, stored := judge(&old.Spec, self, known)
		errs = gate.Forgive(errs, stored, func(fault *field.Error) bool {
			return unchanged(fault, &old.Spec, &network.Spec)
		})
		errs = append(errs, validateClassUnchanged(&network.Spec, &old.Spec)...)
		errs = append(errs, validateImportUnchanged(&network.Spec, &old.Spec)...)
		explainOwnership(errs, network, old)
	}
	if len(errs) > 0 {
		return nil, addressing.Discreet(errs)
	}
	warnings := append(plan.Warnings(), known.limits.Forbids(plan)...)
	for _, fault := range known.cluster.Judge(plan) {
		warnings = append(warnings, fmt.Sprintf("%s: %s %s", fault.Field, fault.BadValue, fault.Detail))
	}
	if name := network.Spec.NetworkClassName; name != "" && known.class == nil {
		warnings = append(warnings, fmt.Sprintf("%s: NetworkClass %s not found; the Network waits until there is one", specPath.Child("networkClassName"), gate.Clip(name, maxNamed)))
	}
	return warnings, nil
}

// maxNamed keeps a warning that names a class within the 256 characters that
// every client shows.
const maxNamed = 128

// judge applies the rules that look at one spec.
func judge(spec *samplecrdv1.NetworkSpec, self types.NamespacedName, known *facts) (addressing.Plan, field.ErrorList) {
	plan, errs := addressing.Parse(spec, specPath)
	errs = append(errs, known.policy.Judge(plan, known.tenant)...)
	errs = append(errs, known.claims.Overlaps(plan, known.scope, self)...)
	if known.class != nil && known.class.Spec.ClusterRanges == samplecrdv1.ClusterRangesForbid {
		errs = append(errs, known.cluster.Judge(plan)...)
	}
	errs = append(errs, validateClassName(spec.NetworkClassName)...)
	errs = append(errs, validateDeletionPolicy(spec.DeletionPolicy)...)
	return plan, errs
}

// Origins of this file's faults; each rule reads the one field it is named after.
const (
	ruleClassName      = "network/networkClassName"
	ruleDeletionPolicy = "network/deletionPolicy"
)

func unchanged(fault *field.Error, before, after *samplecrdv1.NetworkSpec) bool {
	switch fault.Origin {
	case ruleClassName:
		return before.NetworkClassName == after.NetworkClassName
	case ruleDeletionPolicy:
		return before.DeletionPolicy != nil && after.DeletionPolicy != nil && *before.DeletionPolicy == *after.DeletionPolicy
	}
	return addressing.Unchanged(fault, before, after)
}

func validateClassName(name string) field.ErrorList {
	path := specPath.Child("networkClassName")
	if name == "" {
		return nil
	}
	if len(name) > validation.DNS1123SubdomainMaxLength {
		return field.ErrorList{field.TooLong(path, nil, validation.DNS1123SubdomainMaxLength).WithOrigin(ruleClassName)}
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return field.ErrorList{field.Invalid(path, name, "must be the name of a NetworkClass: "+strings.Join(problems, "; ")).WithOrigin(ruleClassName)}
	}
	return nil
}

func validateDeletionPolicy(policy *samplecrdv1.DeletionPolicy) field.ErrorList {
	if policy == nil {
		return nil
	}
	return gate.OneOf(specPath.Child("deletionPolicy"), *policy, samplecrdv1.DeletionDelete, samplecrdv1.DeletionRetain).WithOrigin(ruleDeletionPolicy)
}

// validateClassUnchanged holds the class of a Network fast once it has one.
func validateClassUnchanged(spec, old *samplecrdv1.NetworkSpec) field.ErrorList {
	if old.NetworkClassName == "" || spec.NetworkClassName == old.NetworkClassName {
		return nil
	}
	return field.ErrorList{field.Invalid(specPath.Child("networkClassName"), gate.Clip(spec.NetworkClassName, validation.DNS1123SubdomainMaxLength),
		fmt.Sprintf("cannot be changed once it is set; write %s, or create another Network in the other class", old.NetworkClassName))}
}

// validateImportUnchanged holds fast which network a Network took over, if any.
func validateImportUnchanged(spec, old *samplecrdv1.NetworkSpec) field.ErrorList {
	if spec.ImportID == old.ImportID {
		return nil
	}
	return field.ErrorList{field.Invalid(specPath.Child("importID"), gate.Clip(spec.ImportID, maxNamed),
		"cannot be changed, added or removed; create another Network")}
}

// explainOwnership tells a user who moved the CIDR away from a gateway of their
// own what else they can do than to write another one.
func explainOwnership(errs field.ErrorList, network, old *samplecrdv1.Network) {
	if !gatewayLeftBehind(network, old) {
		return
	}
	for _, err := range errs {
		if err.Field == specPath.Child("gateway").String() {
			err.Detail += ", or remove it to have the first one chosen"
		}
	}
}
