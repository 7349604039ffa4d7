package network

import (
	"context"
	"fmt"
	"maps"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// finalize lets the real network go, then the Network.
func (r *Reconciler) finalize(ctx context.Context, p *pass) (bool, error) {
	if !controllerutil.ContainsFinalizer(p.network, samplecrdv1.NetworkFinalizer) {
		r.arbiter.forget(addressing.OwnerOf(p.network))
		p.done = true
		return false, nil
	}
	backends, err := r.backendsOf(p.network)
	if err != nil {
		return false, p.fail(err)
	}
	for _, backend := range backends {
		r.watch(ctx, backend)
		if err := r.letGo(ctx, p.network, backend); err != nil {
			return false, p.fail(err)
		}
	}

	released := p.network.DeepCopy()
	controllerutil.RemoveFinalizer(released, samplecrdv1.NetworkFinalizer)
	if err := r.store(ctx, p, released); err != nil {
		return false, fmt.Errorf("removing the finalizer: %w", err)
	}
	r.arbiter.forget(addressing.OwnerOf(p.network))
	if p.done || len(released.Finalizers) == 0 {
		p.done = true
		return false, nil
	}
	p.network.Status.ProviderID, p.network.Status.Subnets = nil, nil
	p.pending("The backend has let the network go")
	return false, nil
}

// letGo removes the real network, or leaves it behind if that is the policy. A
// backend that does not answer cannot keep a Network that leaves it anyway; one that is
// busy is asked again.
func (r *Reconciler) letGo(ctx context.Context, network *samplecrdv1.Network, backend providers.Provider) error {
	class, err := r.classOf(ctx, network)
	if err != nil {
		return err
	}
	var spec *samplecrdv1.NetworkClassSpec
	if class != nil {
		spec = &class.Spec
	}
	if !retained(network) {
		return wayOut(backend.Delete(ctx, identity(network), spec))
	}
	if err := backend.Release(ctx, identity(network), spec); err != nil {
		if providers.AsError(err).Reason == "" {
			return err
		}
		ctrl.LoggerFrom(ctx).Error(err, "What there is of the network is left behind with our mark on it")
	}
	return nil
}

// wayOut tells who deletes a Network whose backend cannot be asked what else they can do.
func wayOut(err error) error {
	if err == nil {
		return nil
	}
	failure := providers.AsError(err)
	if failure.Reason != samplecrdv1.NetworkReasonCredentialsMissing {
		return err
	}
	told := *failure
	told.Message += "; the deletion waits for that, or set deletionPolicy to Retain to leave behind what there is"
	return &told
}

// retained says that the real network is to stay: where the Network does not say, as
// admission would have filled it in.
func retained(network *samplecrdv1.Network) bool {
	if policy := network.Spec.DeletionPolicy; policy != nil {
		return *policy == samplecrdv1.DeletionRetain
	}
	return network.Spec.ImportID != ""
}

// backendsOf gives the backend that the status records. Where none is recorded
// none was touched, unless somebody cleared the status: so all are asked, which
// remove nothing but what bears this Network's mark.
func (r *Reconciler) backendsOf(network *samplecrdv1.Network) ([]providers.Provider, error) {
	if network.Status.Provider == nil {
		return slices.Collect(maps.Values(r.backends)), nil
	}
	backend, exists := r.backends[*network.Status.Provider]
	if !exists {
		return nil, providers.Unavailable(fmt.Errorf("this build has no provider %q", *network.Status.Provider))
	}
	return []providers.Provider{backend}, nil
}
