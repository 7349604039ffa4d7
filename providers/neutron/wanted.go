package neutron

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"go4.org/netipx"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// wanted is what Neutron is to hold of a Network, and how it is marked.
type wanted struct {
	addressing.Plan
	class *samplecrdv1.NeutronSpec
	// name is that of network and subnets; "" leaves the names as they are, of a
	// network that was taken over.
	name string
	mark string
}

// networkCreate is the body of the request that makes a network; the attributes of the
// extension "provider" are for administrators.
type networkCreate struct {
	Name            string `json:"name,omitempty"`
	Description     string `json:"description"`
	ProjectID       string `json:"project_id,omitempty"`
	MTU             int32  `json:"mtu,omitempty"`
	NetworkType     string `json:"provider:network_type,omitempty"`
	PhysicalNetwork string `json:"provider:physical_network,omitempty"`
	SegmentationID  *int32 `json:"provider:segmentation_id,omitempty"`
}

// ToNetworkCreateMap gives the body.
func (o networkCreate) ToNetworkCreateMap() (map[string]any, error) {
	return gophercloud.BuildRequestBody(o, "network")
}

// networkUpdate is the body of the request that changes a network.
type networkUpdate struct {
	Name        *string `json:"name,omitempty"`
	Description *string `json:"description,omitempty"`
	MTU         *int32  `json:"mtu,omitempty"`
	// Revision is the one that was read; of another one nothing is changed.
	Revision *int `json:"-" h:"If-Match"`
}

// ToNetworkUpdateMap gives the body.
func (o networkUpdate) ToNetworkUpdateMap() (map[string]any, error) {
	return gophercloud.BuildRequestBody(o, "network")
}

func (w wanted) create() networkCreate {
	return networkCreate{
		Name: w.name, Description: w.mark, ProjectID: w.class.ProjectID, MTU: w.MTU,
		// As Neutron writes them.
		NetworkType: strings.ToLower(string(w.class.NetworkType)), PhysicalNetwork: w.class.PhysicalNetwork, SegmentationID: w.class.SegmentationID,
	}
}

// update says what of a network has to change; false when nothing has.
func (w wanted) update(now network) (networkUpdate, bool) {
	var change networkUpdate
	if w.name != "" && now.Name != w.name {
		change.Name = &w.name
	}
	if now.Description != w.mark {
		change.Description = &w.mark
	}
	if w.MTU != 0 && now.MTU != w.MTU {
		change.MTU = &w.MTU
	}
	changed := change != networkUpdate{}
	change.Revision = &now.Revision
	return change, changed
}

// createSubnet gives the body of the request that makes a subnet.
func (w wanted) createSubnet(networkID string, s addressing.Subnet) subnets.CreateOpts {
	opts := subnets.CreateOpts{
		NetworkID: networkID, Name: w.name, Description: w.mark, ProjectID: w.class.ProjectID,
		CIDR: s.Prefix.String(), IPVersion: gophercloud.IPv4, GatewayIP: new(text(s.Gateway)),
		AllocationPools: pools(s.Pools), DNSNameservers: texts(s.DNSServers), HostRoutes: routes(s.Routes),
		EnableDHCP: new(dhcp(s)),
	}
	if s.Prefix.Addr().Is6() {
		opts.IPVersion = gophercloud.IPv6
		if *opts.EnableDHCP {
			opts.IPv6AddressMode, opts.IPv6RAMode = dhcpv6, dhcpv6
		}
	}
	return opts
}

// dhcpv6 is the mode of IPv6 subnets with DHCP: addresses come from the pools, and
// routers announce that they do. Of the others SLAAC knows no pools and no prefix but a
// /64.
const dhcpv6 = "dhcpv6-stateful"

// dhcp says whether a subnet gets DHCP when it is made. Where the plan leaves it open it
// does, unless Neutron has none for a prefix so long.
func dhcp(s addressing.Subnet) bool {
	if s.DHCP != "" {
		return s.DHCP == samplecrdv1.DHCPEnabled
	}
	longest := longestIPv4DHCP
	if s.Prefix.Addr().Is6() {
		longest = longestIPv6DHCP
	}
	return s.Prefix.Bits() <= longest
}

// updateSubnet gives the body of the request that makes a subnet as s is; false when it
// is. Pools go with a gateway that changes, since Neutron refuses one inside of them.
func (w wanted) updateSubnet(now subnet, s addressing.Subnet) (subnets.UpdateOpts, bool) {
	var opts subnets.UpdateOpts
	changed := false
	if w.name != "" && now.name != w.name {
		opts.Name, changed = &w.name, true
	}
	if now.description != w.mark {
		opts.Description, changed = &w.mark, true
	}
	if now.Gateway != s.Gateway {
		opts.GatewayIP, changed = new(text(s.Gateway)), true
	}
	if allocatable := allocatable(s); opts.GatewayIP != nil || !slices.Equal(merged(now.Pools), merged(allocatable)) {
		opts.AllocationPools, changed = pools(allocatable), true
	}
	if !slices.Equal(now.DNSServers, s.DNSServers) {
		servers := append([]string{}, texts(s.DNSServers)...)
		opts.DNSNameservers, changed = &servers, true
	}
	if !sameRoutes(now.Routes, s.Routes) {
		hosts := append([]subnets.HostRoute{}, routes(s.Routes)...)
		opts.HostRoutes, changed = &hosts, true
	}
	if s.DHCP != "" && now.DHCP != s.DHCP {
		opts.EnableDHCP, changed = new(dhcp(s)), true
	}
	opts.RevisionNumber = &now.revision
	return opts, changed
}

// allocatable gives the pools of a subnet; where the plan has none, those that Neutron
// would choose: all usable addresses but the gateway.
func allocatable(s addressing.Subnet) []netipx.IPRange {
	if len(s.Pools) > 0 {
		return s.Pools
	}
	var all netipx.IPSetBuilder
	all.AddRange(addressing.Usable(s.Prefix))
	if s.Gateway.IsValid() {
		all.Remove(s.Gateway)
	}
	set, err := all.IPSet()
	if err != nil {
		return nil
	}
	return set.Ranges()
}

// merged gives the same addresses in one form.
func merged(ranges []netipx.IPRange) []netipx.IPRange {
	var all netipx.IPSetBuilder
	for _, r := range ranges {
		all.AddRange(r)
	}
	set, err := all.IPSet()
	if err != nil {
		return ranges
	}
	return set.Ranges()
}

func sameRoutes(a, b []addressing.Route) bool {
	type key struct {
		destination netip.Prefix
		hop         netip.Addr
	}
	set := map[key]int{}
	for _, r := range a {
		set[key{r.Destination, r.NextHop}]++
	}
	for _, r := range b {
		set[key{r.Destination, r.NextHop}]--
	}
	for _, n := range set {
		if n != 0 {
			return false
		}
	}
	return true
}

// text is an address as Neutron takes it; "" asks for none.
func text(address netip.Addr) string {
	if !address.IsValid() {
		return ""
	}
	return address.String()
}

func texts(addresses []netip.Addr) []string {
	var all []string
	for _, address := range addresses {
		all = append(all, address.String())
	}
	return all
}

func pools(ranges []netipx.IPRange) []subnets.AllocationPool {
	var all []subnets.AllocationPool
	for _, r := range ranges {
		all = append(all, subnets.AllocationPool{Start: r.From().String(), End: r.To().String()})
	}
	return all
}

func routes(of []addressing.Route) []subnets.HostRoute {
	var all []subnets.HostRoute
	for _, r := range of {
		all = append(all, subnets.HostRoute{DestinationCIDR: r.Destination.String(), NextHop: r.NextHop.String()})
	}
	return all
}

// is says that a network is as wanted, with nothing of ours besides.
func (w wanted) is(now held) bool {
	if _, differs := w.update(now.network); differs {
		return false
	}
	found := map[netip.Prefix]bool{}
	for _, s := range now.subnets {
		at := slices.IndexFunc(w.Subnets, func(planned addressing.Subnet) bool { return planned.Prefix == s.Prefix })
		switch {
		case at < 0 && s.description == w.mark:
			return false
		case at < 0:
			continue // A stranger's.
		}
		if _, differs := w.updateSubnet(s, w.Subnets[at]); differs {
			return false
		}
		found[s.Prefix] = true
	}
	return len(found) == len(w.Subnets)
}

// tell tells of what is ours of a network as the contract has it.
func (w wanted) tell(now held) providers.Observed {
	seen := providers.Observed{ID: now.ID, SubnetIDs: map[netip.Prefix]string{}}
	for _, s := range now.subnets {
		if s.description == w.mark {
			seen.SubnetIDs[s.Prefix] = s.id
		}
	}
	return seen
}

func (s subnet) overlaps(planned addressing.Subnet) bool { return s.Prefix.Overlaps(planned.Prefix) }
