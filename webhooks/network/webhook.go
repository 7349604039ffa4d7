// Package network admits Networks.
package network

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/webhooks/gate"
)

// The webhooks are not called for an update that leaves the spec alone: labels,
// finalizers and no-op writes need no answer.
//
// +kubebuilder:webhook:name=default.network.samplecrd.k8s.io,mutating=true,path=/mutate-samplecrd-k8s-io-v1-network,groups=samplecrd.k8s.io,versions=v1,resources=networks,verbs=create;update,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,admissionReviewVersions=v1,patch=`{"matchConditions":[{"name":"spec-changed","expression":"request.operation == 'CREATE' || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec"}]}`
// +kubebuilder:webhook:name=validate.network.samplecrd.k8s.io,mutating=false,path=/validate-samplecrd-k8s-io-v1-network,groups=samplecrd.k8s.io,versions=v1,resources=networks,verbs=create;update,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,admissionReviewVersions=v1,patch=`{"matchConditions":[{"name":"spec-changed","expression":"request.operation == 'CREATE' || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec"}]}`

// webhook brings Network to the gate.
type webhook struct {
	reader   client.Reader
	backends map[samplecrdv1.ProviderType]providers.Provider
}

// facts are what the rules need to know besides the Network.
type facts struct {
	// class is the class that the Network names or is to be given; nil when there
	// is none of that name, or no default.
	class *samplecrdv1.NetworkClass
	// limits are those of the class's backend.
	limits addressing.Limits
	// rivals are the other Networks of the class in the namespace.
	rivals []addressing.Rival
	// gatewayChosen says that Default filled in spec.gateway.
	gatewayChosen bool
}

// Setup serves the webhooks of Network. backends tell their limits.
func Setup(mgr ctrl.Manager, backends map[samplecrdv1.ProviderType]providers.Provider) error {
	return gate.Register(mgr, &samplecrdv1.Network{}, &webhook{reader: mgr.GetClient(), backends: backends})
}

// SameSpec compares as the API server does: absent and empty lists are one.
func (w *webhook) SameSpec(a, b *samplecrdv1.Network) bool {
	return equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// Gather reads the class and the rivals, all from the cache.
func (w *webhook) Gather(ctx context.Context, network, old *samplecrdv1.Network) (*facts, error) {
	known := &facts{}
	name := network.Spec.NetworkClassName
	if name == "" && old != nil {
		name = old.Spec.NetworkClassName
	}
	class, err := w.class(ctx, name, old == nil)
	if err != nil || class == nil {
		return known, err
	}
	known.class = class
	if backend, exists := w.backends[class.Spec.Provider]; exists {
		known.limits = backend.Limits(&class.Spec)
	}

	var networks samplecrdv1.NetworkList
	if err := w.reader.List(ctx, &networks, client.InNamespace(network.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return known, fmt.Errorf("listing Networks: %w", err)
	}
	for i := range networks.Items {
		other := &networks.Items[i]
		if other.Name == network.Name || other.Spec.NetworkClassName != class.Name {
			continue
		}
		known.rivals = append(known.rivals, addressing.Rival{
			Name:     other.Name,
			Prefixes: append(addressing.Recorded(&other.Status), addressing.Asked(&other.Spec)...),
		})
	}
	return known, nil
}

// class gives the class called name, or without a name the default one if a
// Network of now may have it.
func (w *webhook) class(ctx context.Context, name string, mayDefault bool) (*samplecrdv1.NetworkClass, error) {
	if name != "" {
		var class samplecrdv1.NetworkClass
		err := w.reader.Get(ctx, types.NamespacedName{Name: name}, &class)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return &class, err
	}
	if !mayDefault {
		return nil, nil
	}
	var classes samplecrdv1.NetworkClassList
	if err := w.reader.List(ctx, &classes); err != nil {
		return nil, fmt.Errorf("listing NetworkClasses: %w", err)
	}
	return classes.Default(), nil
}

var specPath = field.NewPath("spec")
