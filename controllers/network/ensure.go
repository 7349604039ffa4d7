package network

import (
	"context"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// ensure makes the backend hold exactly the plan.
func (r *Reconciler) ensure(ctx context.Context, p *pass) (bool, error) {
	r.watch(ctx, p.backend)
	observed, err := p.backend.Ensure(ctx, identity(p.network), &p.class.Spec, p.plan)
	p.changed = p.changed || observed.Changed
	p.network.Status.Provider = new(p.class.Spec.Provider)
	if observed.ID != "" {
		p.network.Status.ProviderID = &observed.ID
	}
	if err != nil {
		return false, p.fail(err)
	}
	// The backend has let go of every prefix that the spec no longer asks for.
	p.network.Status.Subnets = activeSubnets(p.plan, observed)
	p.programmed()
	if !r.watch(ctx, p.backend) || observed.Unconfirmed {
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
