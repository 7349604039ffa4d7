package network

import (
	"context"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// ensure makes the backend hold exactly the plan.
func (r *Reconciler) ensure(ctx context.Context, p *pass) (bool, error) {
	watching := r.watch(ctx, p.backend)
	id := identity(p.network)
	untouched, known := r.untouched.Swap(id.UID, false)
	id.New = known && untouched.(bool)
	observed, err := p.backend.Ensure(ctx, id, &p.class.Spec, p.plan)
	if err != nil && providers.AsError(err).Reason == "" {
		r.untouched.Store(id.UID, id.New)
	}
	p.changed = p.changed || observed.Changed
	p.network.Status.Provider = new(p.class.Spec.Provider)
	if observed.ID != "" {
		p.network.Status.ProviderID = &observed.ID
	}
	if err != nil {
		learn(p.network.Status.Subnets, observed)
		return false, p.fail(err)
	}
	// The backend has let go of all else that was recorded.
	draining := drainingSubnets(p.network.Status.Subnets, observed, maxSubnets-len(p.plan.Subnets))
	p.network.Status.Subnets = append(activeSubnets(p.plan, observed), draining...)
	switch {
	case p.partial():
		p.advance(observed)
	case len(observed.Draining) > 0:
		p.drain(observed)
	default:
		p.programmed()
	}
	if !watching || observed.Unconfirmed {
		p.result.RequeueAfter = confirm
	}
	return true, nil
}

func activeSubnets(plan addressing.Plan, observed providers.Observed) []samplecrdv1.SubnetStatus {
	active := make([]samplecrdv1.SubnetStatus, len(plan.Subnets))
	for i, subnet := range plan.Subnets {
		active[i] = subnetStatus(subnet, samplecrdv1.SubnetActive, observed.SubnetIDs[subnet.Prefix])
	}
	return active
}

func subnetStatus(subnet addressing.Subnet, state samplecrdv1.SubnetState, id string) samplecrdv1.SubnetStatus {
	status := samplecrdv1.SubnetStatus{CIDR: subnet.Prefix.String(), State: state}
	if subnet.Gateway.IsValid() {
		status.Gateway = new(subnet.Gateway.String())
	}
	if id != "" {
		status.ProviderID = &id
	}
	return status
}
