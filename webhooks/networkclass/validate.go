package networkclass

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/webhooks/gate"
)

const minVLAN, maxVLAN = 1, 4094

// Validate judges a NetworkClass. Each of its rules reads one field, so a fault
// that is stored already and has kept its bad value is forgiven.
func (*webhook) Validate(class, old *samplecrdv1.NetworkClass, _ facts) ([]string, field.ErrorList) {
	errs := judge(&class.Spec)
	if old != nil {
		errs = gate.Forgive(errs, judge(&old.Spec), func(*field.Error) bool { return true })
		errs = append(errs, validateUnchanged(&class.Spec, &old.Spec)...)
	}
	return nil, errs
}

func judge(spec *samplecrdv1.NetworkClassSpec) field.ErrorList {
	errs := oneOf(specPath.Child("provider"), spec.Provider, samplecrdv1.ProviderMultus)
	if spec.Provider == samplecrdv1.ProviderMultus {
		errs = append(errs, validateMultus(spec.Multus, specPath.Child("multus"))...)
	}
	return append(errs, oneOf(specPath.Child("deletionPolicy"), spec.DeletionPolicy, samplecrdv1.DeletionDelete, samplecrdv1.DeletionRetain)...)
}

func validateMultus(multus *samplecrdv1.MultusSpec, path *field.Path) field.ErrorList {
	if multus == nil {
		return field.ErrorList{field.Required(path, "set it, for example to {type: Bridge}, since provider is Multus")}
	}
	errs := oneOf(path.Child("type"), multus.Type, samplecrdv1.MultusBridge)
	if id := multus.VLANID; id != nil && (*id < minVLAN || *id > maxVLAN) {
		errs = append(errs, field.Invalid(path.Child("vlanID"), *id, fmt.Sprintf("must be from %d to %d", minVLAN, maxVLAN)))
	}
	return append(errs, oneOf(path.Child("ipam"), multus.IPAM, samplecrdv1.IPAMHostLocal)...)
}

// oneOf refuses a value that is not among those known. The schema fills in what
// is absent, so that an empty one was written as such.
func oneOf[T ~string](path *field.Path, value T, known ...T) field.ErrorList {
	if slices.Contains(known, value) {
		return nil
	}
	const most = 64
	return field.ErrorList{field.NotSupported(path, value[:min(len(value), most)], known)}
}

// validateUnchanged holds the backend fast: Networks that exist were made by it.
func validateUnchanged(spec, old *samplecrdv1.NetworkClassSpec) field.ErrorList {
	const remedy = "cannot be changed; create another NetworkClass"
	var errs field.ErrorList
	if spec.Provider != old.Provider {
		errs = append(errs, field.Invalid(specPath.Child("provider"), string(spec.Provider), remedy))
	}
	if old.Multus != nil && !equality.Semantic.DeepEqual(spec.Multus, old.Multus) {
		errs = append(errs, field.Forbidden(specPath.Child("multus"), remedy))
	}
	return errs
}
