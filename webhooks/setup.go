// Package webhooks serves the admission of every kind.
//
// +kubebuilder:webhookconfiguration:mutating=true,name=samplecrd-controller
// +kubebuilder:webhookconfiguration:mutating=false,name=samplecrd-controller
package webhooks

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/webhooks/network"
	"github.com/samplecrd/samplecrd/webhooks/networkclass"
)

// Setup registers the webhooks of every kind with mgr's webhook server.
func Setup(mgr ctrl.Manager, backends map[samplecrdv1.ProviderType]providers.Provider) error {
	if err := network.Setup(mgr, backends); err != nil {
		return fmt.Errorf("setting up the webhooks of Network: %w", err)
	}
	if err := networkclass.Setup(mgr); err != nil {
		return fmt.Errorf("setting up the webhooks of NetworkClass: %w", err)
	}
	return nil
}
