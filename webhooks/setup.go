// Package webhooks serves the admission of every kind.
//
// +kubebuilder:webhookconfiguration:mutating=true,name=samplecrd-controller
// +kubebuilder:webhookconfiguration:mutating=false,name=samplecrd-controller
package webhooks

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/webhooks/foo"
	"github.com/samplecrd/samplecrd/webhooks/network"
	"github.com/samplecrd/samplecrd/webhooks/networkclass"
)

// Options are what the rules are set to.
type Options struct {
	// Backends are the providers that NetworkClasses may name; they tell their limits.
	Backends map[samplecrdv1.ProviderType]providers.Provider
	// Space is what is known of the address space.
	Space addressing.Space
	// FooMaxReplicas is the largest number of replicas that any Foo may ask for.
	FooMaxReplicas int32
}

// Setup registers the webhooks of every kind with mgr's webhook server.
func Setup(mgr ctrl.Manager, opts Options) error {
	if err := network.Setup(mgr, opts.Backends, opts.Space); err != nil {
		return fmt.Errorf("setting up the webhooks of Network: %w", err)
	}
	if err := networkclass.Setup(mgr); err != nil {
		return fmt.Errorf("setting up the webhooks of NetworkClass: %w", err)
	}
	if err := foo.Setup(mgr, opts.FooMaxReplicas); err != nil {
		return fmt.Errorf("setting up the webhooks of Foo: %w", err)
	}
	return nil
}
