package networkclass

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/webhooks/gate"
)

// Bounds of the fields of neutron, as the CRD has them.
const (
	maxCloud           = 63
	maxProjectID       = 64
	maxPhysicalNetwork = 64
	maxSegmentation    = 1<<24 - 1
	minDrift, maxDrift = 10, 86400
)

var (
	neutronPath = specPath.Child("neutron")
	driftPath   = neutronPath.Child("driftIntervalSeconds")
)

// validateNeutron judges the member of provider Neutron.
func validateNeutron(neutron *samplecrdv1.NeutronSpec) field.ErrorList {
	if neutron == nil {
		return field.ErrorList{field.Required(neutronPath, "set it, for example to {credentialsSecretName: openstack}, since provider is Neutron")}
	}
	errs := validateSecretName(neutron.CredentialsSecretName, neutronPath.Child("credentialsSecretName"))
	cloud := neutronPath.Child("cloud")
	switch {
	case neutron.Cloud == "":
		errs = append(errs, field.Required(cloud, "name a cloud of clouds.yaml, or leave the field out, which means openstack"))
	case utf8.RuneCountInString(neutron.Cloud) > maxCloud:
		errs = append(errs, field.TooLong(cloud, nil, maxCloud))
	}
	errs = append(errs, validateText(neutron.ProjectID, maxProjectID, inID, neutronPath.Child("projectID"),
		"must be the id of a project: letters, digits, '-' and '_'")...)
	errs = append(errs, validateCarrier(neutron)...)
	if drift := neutron.DriftIntervalSeconds; drift != nil && (*drift < minDrift || *drift > maxDrift) {
		errs = append(errs, field.Invalid(driftPath, *drift, fmt.Sprintf("must be from %d to %d", minDrift, maxDrift)))
	}
	return errs
}

// validateCarrier judges how the networks are carried. What relates to a type that is
// not known is not judged: the verdict would be a guess.
func validateCarrier(neutron *samplecrdv1.NeutronSpec) field.ErrorList {
	physical, segmentation := neutronPath.Child("physicalNetwork"), neutronPath.Child("segmentationID")
	var errs field.ErrorList
	if neutron.NetworkType != "" {
		errs = gate.OneOf(neutronPath.Child("networkType"), neutron.NetworkType, samplecrdv1.NeutronLocal, samplecrdv1.NeutronFlat,
			samplecrdv1.NeutronVLAN, samplecrdv1.NeutronVXLAN, samplecrdv1.NeutronGRE, samplecrdv1.NeutronGeneve)
	}
	known := len(errs) == 0

	faults := validateText(neutron.PhysicalNetwork, maxPhysicalNetwork, printable, physical, "must be ASCII without spaces, for example physnet1")
	if len(faults) == 0 && known && neutron.PhysicalNetwork != "" && !onPhysicalNetwork(neutron.NetworkType) {
		faults = field.ErrorList{field.Invalid(physical, neutron.PhysicalNetwork, "needs networkType Flat or VLAN; set that, or leave this out")}
	}
	id := neutron.SegmentationID
	switch {
	case neutron.PhysicalNetwork != "":
	case neutron.NetworkType == samplecrdv1.NeutronFlat:
		faults = field.ErrorList{field.Required(physical, "name one of the cloud's, for example physnet1, since networkType is Flat")}
	case neutron.NetworkType == samplecrdv1.NeutronVLAN && id != nil:
		faults = field.ErrorList{field.Required(physical, "name one of the cloud's, for example physnet1, since networkType is VLAN with a segmentationID; or leave that out, too")}
	}
	errs = append(errs, faults...)

	switch {
	case id == nil:
	case *id < 1 || *id > maxSegmentation:
		errs = append(errs, field.Invalid(segmentation, *id, fmt.Sprintf("must be from 1 to %d, and of a VLAN to %d", maxSegmentation, maxVLAN)))
	case known && !segmented(neutron.NetworkType):
		errs = append(errs, field.Invalid(segmentation, *id, "needs networkType VLAN, VXLAN, GRE or Geneve; set that, or leave this out"))
	case neutron.NetworkType == samplecrdv1.NeutronVLAN && *id > maxVLAN:
		errs = append(errs, field.Invalid(segmentation, *id, fmt.Sprintf("must be from %d to %d, since networkType is VLAN", minVLAN, maxVLAN)))
	}
	return errs
}

// onPhysicalNetwork says whether networks of a type are those of a physical one.
func onPhysicalNetwork(networkType samplecrdv1.NeutronNetworkType) bool {
	return networkType == samplecrdv1.NeutronFlat || networkType == samplecrdv1.NeutronVLAN
}

// segmented says whether networks of a type are told apart by an id.
func segmented(networkType samplecrdv1.NeutronNetworkType) bool {
	return networkType != "" && networkType != samplecrdv1.NeutronLocal && networkType != samplecrdv1.NeutronFlat
}

func validateSecretName(name string, path *field.Path) field.ErrorList {
	switch problems := validation.IsDNS1123Subdomain(name); {
	case name == "":
		return field.ErrorList{field.Required(path, "name a Secret in the manager's namespace that holds clouds.yaml, for example openstack")}
	case len(name) > validation.DNS1123SubdomainMaxLength:
		return field.ErrorList{field.TooLong(path, nil, validation.DNS1123SubdomainMaxLength)}
	case len(problems) > 0:
		return field.ErrorList{field.Invalid(path, name, "must be the name of a Secret: "+strings.Join(problems, "; "))}
	}
	return nil
}

// validateText judges an optional text of certain characters.
func validateText(text string, longest int, allowed func(rune) bool, path *field.Path, problem string) field.ErrorList {
	switch {
	case len(text) > longest:
		return field.ErrorList{field.TooLong(path, nil, longest)}
	case strings.ContainsFunc(text, func(r rune) bool { return !allowed(r) }):
		return field.ErrorList{field.Invalid(path, text, problem)}
	}
	return nil
}

// inID says whether an id of OpenStack may have r.
func inID(r rune) bool {
	return r == '-' || r == '_' || ('0' <= r && r <= '9') || ('a' <= r && r <= 'z') || ('A' <= r && r <= 'Z')
}

// printable says whether r is visible ASCII.
func printable(r rune) bool { return '!' <= r && r <= '~' }

// neutronUnchanged says whether what the rule behind a fault in neutron reads is the
// same. Of its fields only driftIntervalSeconds can change.
func neutronUnchanged(fault *field.Error, before, after *samplecrdv1.NetworkClassSpec) bool {
	if before.Provider != after.Provider {
		return false
	}
	if before.Neutron == nil || after.Neutron == nil || fault.Field == neutronPath.String() {
		return equality.Semantic.DeepEqual(before.Neutron, after.Neutron)
	}
	if fault.Field == driftPath.String() {
		return equality.Semantic.DeepEqual(before.Neutron.DriftIntervalSeconds, after.Neutron.DriftIntervalSeconds)
	}
	fixed := *after.Neutron
	fixed.DriftIntervalSeconds = before.Neutron.DriftIntervalSeconds
	return equality.Semantic.DeepEqual(*before.Neutron, fixed)
}

// validateNeutronUnchanged holds fast in which cloud and how networks are made. One
// that stands beside another provider may go.
func validateNeutronUnchanged(spec, old *samplecrdv1.NetworkClassSpec) field.ErrorList {
	switch {
	case old.Neutron == nil || (spec.Neutron == nil && old.Provider == samplecrdv1.ProviderMultus):
		return nil
	case spec.Neutron == nil:
		return field.ErrorList{field.Forbidden(neutronPath, "cannot be removed; create another NetworkClass")}
	}
	var errs field.ErrorList
	hold := func(name, before, after, remedy string) {
		if before != after {
			errs = append(errs, field.Invalid(neutronPath.Child(name), gate.Clip(after, maxEcho), remedy))
		}
	}
	a, b := old.Neutron, spec.Neutron
	hold("credentialsSecretName", a.CredentialsSecretName, b.CredentialsSecretName, "cannot be changed; change the Secret, or create another NetworkClass")
	hold("cloud", a.Cloud, b.Cloud, unchangeable)
	hold("projectID", a.ProjectID, b.ProjectID, unchangeable)
	hold("networkType", string(a.NetworkType), string(b.NetworkType), unchangeable)
	hold("physicalNetwork", a.PhysicalNetwork, b.PhysicalNetwork, unchangeable)
	hold("segmentationID", number(a.SegmentationID), number(b.SegmentationID), unchangeable)
	return errs
}

// number writes a number; none is "".
func number(n *int32) string {
	if n == nil {
		return ""
	}
	return fmt.Sprint(*n)
}
