// Package controllers runs the reconciling of every kind.
package controllers

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/network"
	"github.com/samplecrd/samplecrd/controllers/networkclass"
	"github.com/samplecrd/samplecrd/providers"
)

// Setup adds the controllers of every kind to mgr. backends are the providers
// that NetworkClasses may name.
func Setup(mgr ctrl.Manager, backends map[samplecrdv1.ProviderType]providers.Provider) error {
	if err := network.SetupWithManager(mgr, backends); err != nil {
		return fmt.Errorf("setting up the controller of Network: %w", err)
	}
	if err := networkclass.SetupWithManager(mgr, backends); err != nil {
		return fmt.Errorf("setting up the controller of NetworkClass: %w", err)
	}
	return nil
}
