// Package network admits Networks.
package network

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
//
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get

// webhook brings Network to the gate.
type webhook struct {
	// reader reads from the cache, live from the API server.
	reader, live client.Reader

	backends map[samplecrdv1.ProviderType]providers.Provider
	space    addressing.Space
}

// facts are what the rules need to know besides the Network.
type facts struct {
	// class is the class that the Network names or is to be given; nil when there
	// is none of that name, or no default.
	class *samplecrdv1.NetworkClass
	// limits are those of the class's backend.
	limits addressing.Limits
	// policy is the class's, and tenant is whom it judges.
	policy addressing.Policy
	tenant addressing.Tenant
	// claims is who claims what, and scope where the Network competes for it.
	claims *addressing.Claims
	scope  addressing.Scope
	// cluster is what the cluster itself uses; nil where the class ignores it.
	cluster *addressing.ClusterRanges
	// gatewayChosen says that Default filled in spec.gateway.
	gatewayChosen bool
}

// Setup serves the webhooks of Network. backends tell their limits.
func Setup(mgr ctrl.Manager, backends map[samplecrdv1.ProviderType]providers.Provider, space addressing.Space) error {
	return gate.Register(mgr, &samplecrdv1.Network{}, &webhook{
		reader: mgr.GetClient(), live: mgr.GetAPIReader(), backends: backends, space: space,
	})
}

// SameSpec compares as the API server does: absent and empty lists are one.
func (w *webhook) SameSpec(a, b *samplecrdv1.Network) bool {
	return equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// Gather reads the class, and the namespace if the class selects some.
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
	known.claims, known.scope = w.space.Claims, addressing.ScopeOf(class.Name, class.Spec.OverlapScope, network.Namespace)
	if class.Spec.ClusterRanges != samplecrdv1.ClusterRangesIgnore {
		known.cluster = w.space.Cluster
	}
	// What is wrong with the class is for the class to say.
	known.policy, _ = addressing.ParsePolicy(class)
	known.tenant, err = w.tenant(ctx, network.Namespace, known.policy.NeedsLabels())
	return known, err
}

// tenant reads what a class may ask of a namespace. One that the cache does not show
// yet was made a moment ago, together with the Network maybe.
func (w *webhook) tenant(ctx context.Context, namespace string, labels bool) (addressing.Tenant, error) {
	tenant := addressing.Tenant{Namespace: namespace}
	if !labels {
		return tenant, nil
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := w.reader.Get(ctx, types.NamespacedName{Name: namespace}, object)
	if apierrors.IsNotFound(err) {
		err = w.live.Get(ctx, types.NamespacedName{Name: namespace}, object)
	}
	if err != nil {
		return tenant, fmt.Errorf("reading the namespace's labels: %w", err)
	}
	tenant.Labels = object.Labels
	return tenant, nil
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
