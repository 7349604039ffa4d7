package network

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/pace"
)

// claim makes sure that claims and finalizer are stored before the backend is touched.
// The claims come first, in a pass of their own: a Network that loses them to a crash
// must be free to go. One without a class is given it, with the finalizer, before: a
// claim is one of a class.
func (r *Reconciler) claim(ctx context.Context, p *pass) (bool, error) {
	if p.network.Spec.NetworkClassName == "" {
		if err := r.hold(ctx, p); err != nil || p.done {
			return false, err
		}
	}
	recorded := addressing.Recorded(&p.network.Status)
	p.plan = fitting(p.plan, recorded)
	added := false
	for _, subnet := range p.plan.Subnets {
		if slices.Contains(recorded, subnet.Prefix) {
			continue
		}
		added = true
		p.network.Status.Subnets = append(p.network.Status.Subnets, subnetStatus(subnet, samplecrdv1.SubnetPending, ""))
	}
	if added {
		p.network.Status.Provider = new(p.class.Spec.Provider)
		p.pending("The address space is claimed; the backend is next")
		p.result.RequeueAfter = pace.CatchUp
		return false, nil
	}
	err := r.hold(ctx, p)
	return err == nil && !p.done, err
}

// hold stores the finalizer and, in the same patch, the class of a Network that
// has none yet.
func (r *Reconciler) hold(ctx context.Context, p *pass) error {
	held := p.network.DeepCopy()
	controllerutil.AddFinalizer(held, samplecrdv1.NetworkFinalizer)
	held.Spec.NetworkClassName = p.class.Name
	if len(held.Finalizers) == len(p.network.Finalizers) && held.Spec.NetworkClassName == p.network.Spec.NetworkClassName {
		return nil
	}
	added := len(held.Finalizers) > len(p.network.Finalizers)
	if err := r.store(ctx, p, held); err != nil {
		return fmt.Errorf("adding the finalizer: %w", err)
	}
	if added && !p.done {
		// Somebody may have taken a finalizer of ours away, and what is recorded.
		r.untouched.LoadOrStore(p.network.UID, p.network.Status.ProviderID == nil)
	}
	p.accepted()
	return nil
}
