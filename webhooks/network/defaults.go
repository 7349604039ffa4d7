package network

import (
	"bytes"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// Default fills what is absent: gateway, networkClassName, deletionPolicy. What
// the user wrote is never rewritten; a gateway that only this webhook wrote is
// chosen anew when the CIDR moves away from it.
func (w *webhook) Default(network, old *samplecrdv1.Network, known *facts) {
	spec := &network.Spec
	if spec.NetworkClassName == "" {
		switch {
		case old != nil:
			spec.NetworkClassName = old.Spec.NetworkClassName
		case known.class != nil:
			spec.NetworkClassName = known.class.Name
		}
	}
	if spec.DeletionPolicy == nil {
		switch {
		case old != nil:
			spec.DeletionPolicy = old.Spec.DeletionPolicy
		case spec.ImportID != "":
			// It was there before the Network, and outlives it.
			spec.DeletionPolicy = new(samplecrdv1.DeletionRetain)
		case known.class != nil && known.class.Spec.DeletionPolicy != "":
			spec.DeletionPolicy = new(known.class.Spec.DeletionPolicy)
		}
	}
	if gatewayLeftBehind(network, old) && !written(network, old) {
		spec.Gateway = ""
	}
	if spec.Gateway == "" {
		plan, _ := addressing.Parse(&samplecrdv1.NetworkSpec{CIDR: spec.CIDR}, specPath)
		if gateway := plan.Subnets[0].Gateway; gateway.IsValid() {
			spec.Gateway = gateway.String()
			known.gatewayChosen = true
		}
	}
}

// gatewayLeftBehind says that the update moves the CIDR and leaves a gateway that
// no longer fits as it was.
func gatewayLeftBehind(network, old *samplecrdv1.Network) bool {
	if old == nil || network.Spec.CIDR == old.Spec.CIDR || network.Spec.Gateway == "" || network.Spec.Gateway != old.Spec.Gateway {
		return false
	}
	return misfit(&network.Spec)
}

// misfit says that the gateway, sound as an address, is not one that the CIDR has
// for it.
func misfit(spec *samplecrdv1.NetworkSpec) bool {
	_, errs := addressing.Parse(&samplecrdv1.NetworkSpec{CIDR: spec.CIDR, Gateway: spec.Gateway}, specPath)
	return len(errs) == 1 && errs[0].Field == specPath.Child("gateway").String() && errs[0].Type == field.ErrorTypeInvalid
}

// written says that somebody wrote the gateway that both have, before or with this
// very update. The API server computes managed fields before the mutating webhooks
// run, so a gateway that the webhook filled in has no owner. Nor has one that a
// manifest repeats, since nothing changed: of client-side apply the manifest itself
// tells. Where the stored object's fields cannot tell, rather refuse than rewrite.
func written(network, old *samplecrdv1.Network) bool {
	owned, known := ownsGateway(old)
	ownedNow, _ := ownsGateway(network)
	return owned || !known || ownedNow || appliesGateway(network)
}

// appliesGateway says that the manifest of the last client-side apply has the
// gateway.
func appliesGateway(network *samplecrdv1.Network) bool {
	var manifest samplecrdv1.Network
	text := network.Annotations[corev1.LastAppliedConfigAnnotation]
	return json.Unmarshal([]byte(text), &manifest) == nil && manifest.Spec.Gateway == network.Spec.Gateway
}

// ownsGateway says whether a field manager owns spec.gateway, and whether the
// managed fields can tell.
func ownsGateway(network *samplecrdv1.Network) (owned, known bool) {
	gateway := fieldpath.MakePathOrDie("spec", "gateway")
	for _, entry := range network.ManagedFields {
		if entry.FieldsV1 == nil || entry.Subresource != "" {
			continue
		}
		var fields fieldpath.Set
		if err := fields.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
			return false, false
		}
		owned, known = owned || fields.Has(gateway), true
	}
	return owned, known
}
