package neutron

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/samplecrd/samplecrd/providers"
)

// takeOver finds the network that is to be imported, which must be of the class's own
// project, bear nobody's mark and agree with the plan. It is marked by what follows.
func (w *work) takeOver(ctx context.Context) error {
	id := w.want.ImportID
	n, err := w.s.network(ctx, id)
	if err != nil {
		return err
	}
	switch {
	case n == nil || n.ProjectID != w.s.projectOf(w.want.class.ProjectID):
		// An administrator sees other projects; who asks must not learn of them.
		return providers.Conflict("There is no network %s to take over in the class's project; importID is a network's id, not its name", id)
	case marked(n.Description):
		return providers.Conflict("Network %s belongs to a Network, of this cluster or another; empty its description if that one is gone", id)
	}
	there, err := w.s.subnetsOn(ctx, id)
	if err != nil {
		return err
	}
	for _, s := range there {
		if marked(s.description) && s.description != w.want.mark {
			return providers.Conflict("Subnet %s on network %s belongs to a Network, of this cluster or another; empty its description if that one is gone", s.id, id)
		}
	}
	now := &held{network: *n, subnets: there}
	if differences := w.want.differences(*now); len(differences) > 0 {
		return providers.Conflict("Network %s is not taken over, since it is not as this Network asks: %s", id, clean(strings.Join(differences, "; ")))
	}
	w.now = now
	return nil
}

// differences tells in what a network is not as wanted, but for marks.
func (w wanted) differences(now held) []string {
	var all []string
	if w.MTU != 0 && now.MTU != w.MTU {
		all = append(all, fmt.Sprintf("its MTU is %d", now.MTU))
	}
	for _, s := range now.subnets {
		if !slices.Contains(w.Prefixes(), s.Prefix) {
			all = append(all, fmt.Sprintf("it has %s besides", s.Prefix))
		}
	}
	for _, planned := range w.Subnets {
		at := slices.IndexFunc(now.subnets, func(s subnet) bool { return s.Prefix == planned.Prefix })
		if at < 0 {
			all = append(all, fmt.Sprintf("it does not have %s", planned.Prefix))
			continue
		}
		s := now.subnets[at]
		unmarked := wanted{mark: s.description}
		change, _ := unmarked.updateSubnet(s, planned)
		for _, field := range []struct {
			differs bool
			text    string
		}{
			{change.GatewayIP != nil, fmt.Sprintf("gateway %s", cmp.Or(text(s.Gateway), "None"))},
			{change.AllocationPools != nil && change.GatewayIP == nil, "other allocation pools"},
			{change.DNSNameservers != nil, "other DNS servers"},
			{change.HostRoutes != nil, "other routes"},
			{change.EnableDHCP != nil, "DHCP " + string(s.DHCP)},
		} {
			if field.differs {
				all = append(all, fmt.Sprintf("%s has %s", planned.Prefix, field.text))
			}
		}
	}
	return all
}
