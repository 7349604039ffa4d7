package network

import (
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/pace"
	"github.com/samplecrd/samplecrd/providers"
)

// maxSubnets is how many prefixes a status can record.
const maxSubnets = 16

// fitting gives the part of plan that the status has room to record beside what
// it does. A prefix that is not recorded must not reach a backend; the rest of the
// plan follows as subnets drain.
func fitting(plan addressing.Plan, recorded []netip.Prefix) addressing.Plan {
	room := maxSubnets - len(recorded)
	var subnets []addressing.Subnet
	for _, subnet := range plan.Subnets {
		if !slices.Contains(recorded, subnet.Prefix) {
			if room <= 0 {
				continue
			}
			room--
		}
		subnets = append(subnets, subnet)
	}
	plan.Subnets = subnets
	return plan
}

// partial says that the plan has not all that the spec asks for; see fitting.
func (p *pass) partial() bool { return len(p.plan.Subnets) < 1+len(p.network.Spec.AdditionalSubnets) }

// advance ends a pass after which the plan is to grow by what has room now.
func (p *pass) advance(observed providers.Observed) {
	if len(p.network.Status.Subnets) == maxSubnets {
		p.drain(observed)
		return
	}
	p.pending("Old subnets have gone; more of what is asked is next")
	p.result.RequeueAfter = pace.CatchUp
}

// drain says who holds what is to go. The backend's watch, if it has one, tells of
// their end.
func (p *pass) drain(observed providers.Observed) {
	p.set(samplecrdv1.NetworkConditionProgrammed, metav1.ConditionFalse, samplecrdv1.NetworkReasonDraining,
		"Old subnets go when their last users do: "+providers.Drained(observed.Draining))
	p.result.RequeueAfter = pace.Slowly()
}

// drainingSubnets records what drains, as far as there is room: claims come before
// what somebody else has put on the network.
func drainingSubnets(recorded []samplecrdv1.SubnetStatus, observed providers.Observed, room int) []samplecrdv1.SubnetStatus {
	claimed := func(subnet samplecrdv1.SubnetStatus) bool {
		return slices.ContainsFunc(recorded, func(held samplecrdv1.SubnetStatus) bool { return held.CIDR == subnet.CIDR })
	}
	ordered := slices.SortedFunc(slices.Values(observed.Draining), func(a, b providers.Draining) int { return a.Prefix.Compare(b.Prefix) })
	var claims, others []samplecrdv1.SubnetStatus
	for _, draining := range ordered {
		subnet := subnetStatus(addressing.Subnet{Prefix: draining.Prefix, Gateway: draining.Gateway}, samplecrdv1.SubnetDraining, draining.ID)
		subnet.Users, _ = draining.Users.Shown()
		if claimed(subnet) {
			claims = append(claims, subnet)
		} else {
			others = append(others, subnet)
		}
	}
	all := slices.Concat(claims, others)
	return all[:min(len(all), room)]
}

// learn adds to what is recorded what the backend told beside an error: ids, and
// who holds what is to go.
func learn(recorded []samplecrdv1.SubnetStatus, observed providers.Observed) {
	draining := drainingSubnets(recorded, observed, len(observed.Draining))
	for i := range recorded {
		if id := observed.SubnetIDs[addressing.ParsePrefix(recorded[i].CIDR)]; id != "" {
			recorded[i].ProviderID = &id
		}
		if at := slices.IndexFunc(draining, func(subnet samplecrdv1.SubnetStatus) bool { return subnet.CIDR == recorded[i].CIDR }); at >= 0 {
			recorded[i] = draining[at]
		}
	}
}
