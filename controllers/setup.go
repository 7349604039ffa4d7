// Package controllers runs the reconciling of every kind.
package controllers

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/foo"
	"github.com/samplecrd/samplecrd/controllers/network"
	"github.com/samplecrd/samplecrd/controllers/networkclass"
	"github.com/samplecrd/samplecrd/providers"
)

// Options are what the controllers are given.
type Options struct {
	// Backends are the providers that NetworkClasses may name.
	Backends map[samplecrdv1.ProviderType]providers.Provider
	// Space is what FillCache gave.
	Space addressing.Space
	// FooImage is the container image of Foos without a PodTemplate.
	FooImage string
}

// Setup adds the controllers of every kind to mgr. They need FillCache.
func Setup(mgr ctrl.Manager, opts Options) error {
	if err := network.SetupWithManager(mgr, opts.Backends, opts.Space); err != nil {
		return fmt.Errorf("setting up the controller of Network: %w", err)
	}
	if err := networkclass.SetupWithManager(mgr, opts.Backends); err != nil {
		return fmt.Errorf("setting up the controller of NetworkClass: %w", err)
	}
	if err := foo.SetupWithManager(mgr, opts.FooImage); err != nil {
		return fmt.Errorf("setting up the controller of Foo: %w", err)
	}
	return nil
}
