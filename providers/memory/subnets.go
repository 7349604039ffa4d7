package memory

import (
	"net/netip"
	"slices"

	"github.com/samplecrd/samplecrd/addressing"
	"github.com/samplecrd/samplecrd/providers"
)

// Subnet is a subnet that the provider holds.
type Subnet struct {
	// ID is the provider's own name for the subnet.
	ID string
	// Subnet is what was planned, in canonical form and without its path.
	addressing.Subnet
	// Users are those that hold the subnet; see SetUsers.
	Users providers.Users
}

// clone shares nothing with n.
func (n Network) clone() Network {
	n.Subnets = slices.Clone(n.Subnets)
	for i := range n.Subnets {
		subnet := &n.Subnets[i]
		subnet.Pools, subnet.DNSServers = slices.Clone(subnet.Pools), slices.Clone(subnet.DNSServers)
		subnet.Routes, subnet.Users.Named = slices.Clone(subnet.Routes), slices.Clone(subnet.Users.Named)
	}
	return n
}

// leaving gives the subnets in use that plan does not have: those that can stay
// until they are free, and those that are in the way of planned ones.
func (n Network) leaving(plan addressing.Plan) (draining, blocking []providers.Draining) {
	planned := plan.Prefixes()
	for _, subnet := range n.Subnets {
		if !subnet.Users.Any() || slices.Contains(planned, subnet.Prefix) {
			continue
		}
		used := providers.Draining{Prefix: subnet.Prefix, Gateway: subnet.Gateway, ID: subnet.ID, Users: subnet.Users}
		if slices.ContainsFunc(planned, subnet.Prefix.Overlaps) {
			blocking = append(blocking, used)
		} else {
			draining = append(draining, used)
		}
	}
	return draining, blocking
}

// toward gives the subnets of plan, those that are there with their ids and
// users, and after them those that are in use still.
func (n Network) toward(plan addressing.Plan, name func(kind string) string) []Subnet {
	var all []Subnet
	for _, planned := range plan.Subnets {
		subnet := fromPlan(planned)
		if i := n.index(subnet.Prefix); i >= 0 {
			subnet.ID, subnet.Users = n.Subnets[i].ID, n.Subnets[i].Users
		} else {
			subnet.ID = name("memory-subnet")
		}
		all = append(all, subnet)
	}
	planned := plan.Prefixes()
	for _, subnet := range n.Subnets {
		if subnet.Users.Any() && !slices.Contains(planned, subnet.Prefix) {
			all = append(all, subnet)
		}
	}
	return all
}

func (n Network) index(prefix netip.Prefix) int {
	return slices.IndexFunc(n.Subnets, func(subnet Subnet) bool { return subnet.Prefix == prefix })
}

func (n Network) observed() providers.Observed {
	observed := providers.Observed{ID: n.ID, SubnetIDs: map[netip.Prefix]string{}}
	for _, subnet := range n.Subnets {
		observed.SubnetIDs[subnet.Prefix] = subnet.ID
	}
	return observed
}

// users are those of all subnets.
func (n Network) users() providers.Users {
	var all providers.Users
	for _, subnet := range n.Subnets {
		all.Named = append(all.Named, subnet.Users.Named...)
		all.Others = all.Others || subnet.Users.Others
	}
	return all
}

// fromPlan takes of a planned subnet what a backend knows: not how it was written.
func fromPlan(planned addressing.Subnet) Subnet {
	planned.Path, planned.Written = nil, planned.Prefix
	planned.Pools, planned.DNSServers = slices.Clone(planned.Pools), slices.Clone(planned.DNSServers)
	planned.Routes = slices.Clone(planned.Routes)
	for i, route := range planned.Routes {
		planned.Routes[i] = addressing.Route{Destination: route.Destination, NextHop: route.NextHop}
	}
	return Subnet{Subnet: planned}
}
