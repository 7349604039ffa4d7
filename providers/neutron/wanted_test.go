package neutron

import (
	"encoding/json"
	"testing"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// said is a body as it is sent.
func said(t *testing.T, build func() (map[string]any, error)) string {
	t.Helper()
	body, err := build()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNetworkBodies(t *testing.T) {
	plain := &samplecrdv1.NeutronSpec{}
	vlan := &samplecrdv1.NeutronSpec{ProjectID: "p", NetworkType: "VLAN", PhysicalNetwork: "physnet1", SegmentationID: new(int32(100))}
	for name, tc := range map[string]struct {
		want wanted
		body string
	}{
		"a name and a mark":      {wanted{class: plain, name: "a/b", mark: "m"}, `{"network":{"description":"m","name":"a/b"}}`},
		"an MTU":                 {wanted{class: plain, name: "a/b", mark: "m", Plan: addressing.Plan{MTU: 1400}}, `{"network":{"description":"m","mtu":1400,"name":"a/b"}}`},
		"what administrators do": {wanted{class: vlan, name: "a/b", mark: "m"}, `{"network":{"description":"m","name":"a/b","project_id":"p","provider:network_type":"vlan","provider:physical_network":"physnet1","provider:segmentation_id":100}}`},
	} {
		if got := said(t, tc.want.create().ToNetworkCreateMap); got != tc.body {
			t.Errorf("%s: the body is %s, want %s", name, got, tc.body)
		}
	}
	want := wanted{class: plain, name: "a/b", mark: "m", Plan: addressing.Plan{MTU: 1400}}
	same := network{Name: "a/b", Description: "m", MTU: 1400, Revision: 7}
	for name, tc := range map[string]struct {
		change func(*network)
		body   string
	}{
		"nothing":     {func(*network) {}, ""},
		"the name":    {func(n *network) { n.Name = "x" }, `{"network":{"name":"a/b"}}`},
		"the mark":    {func(n *network) { n.Description = "" }, `{"network":{"description":"m"}}`},
		"the MTU":     {func(n *network) { n.MTU = 1500 }, `{"network":{"mtu":1400}}`},
		"all of them": {func(n *network) { *n = network{Revision: 7} }, `{"network":{"description":"m","mtu":1400,"name":"a/b"}}`},
	} {
		now := same
		tc.change(&now)
		change, needed := want.update(now)
		if needed != (tc.body != "") {
			t.Errorf("%s: a change is needed: %t", name, needed)
		}
		if needed && (said(t, change.ToNetworkUpdateMap) != tc.body || *change.Revision != 7) {
			t.Errorf("%s: the body is %s of revision %d, want %s", name, said(t, change.ToNetworkUpdateMap), *change.Revision, tc.body)
		}
	}
	imported := wanted{class: plain, mark: "m"}
	if change, needed := imported.update(network{Name: "theirs", MTU: 1500}); !needed || said(t, change.ToNetworkUpdateMap) != `{"network":{"description":"m"}}` {
		t.Errorf("of one that is taken over %+v changes", change)
	}
}

func TestSubnetBodies(t *testing.T) {
	want := wanted{class: &samplecrdv1.NeutronSpec{}, name: "a/b", mark: "m"}
	for name, tc := range map[string]struct {
		spec samplecrdv1.NetworkSpec
		body string
	}{
		"the seed":   {samplecrdv1.NetworkSpec{CIDR: "192.168.1.0/16", Gateway: "192.168.1.1"}, `{"subnet":{"cidr":"192.168.0.0/16","description":"m","enable_dhcp":true,"gateway_ip":"192.168.1.1","ip_version":4,"name":"a/b","network_id":"n"}}`},
		"no gateway": {samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", Gateway: "None"}, `{"subnet":{"cidr":"10.0.0.0/24","description":"m","enable_dhcp":true,"gateway_ip":null,"ip_version":4,"name":"a/b","network_id":"n"}}`},
		"IPv6":       {samplecrdv1.NetworkSpec{CIDR: "fd00:1::/64"}, `{"subnet":{"cidr":"fd00:1::/64","description":"m","enable_dhcp":true,"gateway_ip":"fd00:1::1","ip_version":6,"ipv6_address_mode":"dhcpv6-stateful","ipv6_ra_mode":"dhcpv6-stateful","name":"a/b","network_id":"n"}}`},
		"IPv6 without DHCP": {samplecrdv1.NetworkSpec{CIDR: "fd00:1::/64", DHCP: new(samplecrdv1.DHCPDisabled)},
			`{"subnet":{"cidr":"fd00:1::/64","description":"m","enable_dhcp":false,"gateway_ip":"fd00:1::1","ip_version":6,"name":"a/b","network_id":"n"}}`},
		"too small for DHCP": {samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/31", Gateway: "None"}, `{"subnet":{"cidr":"10.0.0.0/31","description":"m","enable_dhcp":false,"gateway_ip":null,"ip_version":4,"name":"a/b","network_id":"n"}}`},
		"the rest": {samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", DNSServers: []string{"192.0.2.53"}, AllocationPools: []samplecrdv1.AddressRange{{Start: "10.0.0.10", End: "10.0.0.19"}},
			Routes: []samplecrdv1.Route{{Destination: "172.16.0.0/12", NextHop: "10.0.0.9"}}},
			`{"subnet":{"allocation_pools":[{"end":"10.0.0.19","start":"10.0.0.10"}],"cidr":"10.0.0.0/24","description":"m","dns_nameservers":["192.0.2.53"],"enable_dhcp":true,"gateway_ip":"10.0.0.1","host_routes":[{"destination":"172.16.0.0/12","nexthop":"10.0.0.9"}],"ip_version":4,"name":"a/b","network_id":"n"}}`},
	} {
		if got := said(t, want.createSubnet("n", planOf(t, tc.spec).Subnets[0]).ToSubnetCreateMap); got != tc.body {
			t.Errorf("%s: the body is\n%s, want\n%s", name, got, tc.body)
		}
	}
}

func TestSubnetChanges(t *testing.T) {
	want := wanted{class: &samplecrdv1.NeutronSpec{}, name: "a/b", mark: "m"}
	base := samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24"}
	for name, tc := range map[string]struct {
		change func(*samplecrdv1.NetworkSpec, *subnet)
		body   string
	}{
		"nothing":             {func(*samplecrdv1.NetworkSpec, *subnet) {}, ""},
		"the name":            {func(_ *samplecrdv1.NetworkSpec, s *subnet) { s.name = "x" }, `{"name":"a/b"}`},
		"the mark":            {func(_ *samplecrdv1.NetworkSpec, s *subnet) { s.description = "" }, `{"description":"m"}`},
		"the gateway":         {func(n *samplecrdv1.NetworkSpec, _ *subnet) { n.Gateway = "10.0.0.254" }, `{"allocation_pools":[{"end":"10.0.0.253","start":"10.0.0.1"}],"gateway_ip":"10.0.0.254"}`},
		"a gateway inside":    {func(n *samplecrdv1.NetworkSpec, _ *subnet) { n.Gateway = "10.0.0.9" }, `{"allocation_pools":[{"end":"10.0.0.8","start":"10.0.0.1"},{"end":"10.0.0.254","start":"10.0.0.10"}],"gateway_ip":"10.0.0.9"}`},
		"no gateway any more": {func(n *samplecrdv1.NetworkSpec, _ *subnet) { n.Gateway = "None" }, `{"allocation_pools":[{"end":"10.0.0.254","start":"10.0.0.1"}],"gateway_ip":null}`},
		"the pools": {func(n *samplecrdv1.NetworkSpec, _ *subnet) {
			n.AllocationPools = []samplecrdv1.AddressRange{{Start: "10.0.0.10", End: "10.0.0.19"}}
		}, `{"allocation_pools":[{"end":"10.0.0.19","start":"10.0.0.10"}]}`},
		"the same addresses in two pools": {func(n *samplecrdv1.NetworkSpec, _ *subnet) {
			n.AllocationPools = []samplecrdv1.AddressRange{{Start: "10.0.0.100", End: "10.0.0.254"}, {Start: "10.0.0.2", End: "10.0.0.99"}}
		}, ""},
		"the DNS servers": {func(n *samplecrdv1.NetworkSpec, _ *subnet) { n.DNSServers = []string{"192.0.2.53"} }, `{"dns_nameservers":["192.0.2.53"]}`},
		"their order": {func(n *samplecrdv1.NetworkSpec, s *subnet) {
			n.DNSServers, s.DNSServers = []string{"192.0.2.53", "192.0.2.54"}, planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", DNSServers: []string{"192.0.2.54", "192.0.2.53"}}).Subnets[0].DNSServers
		}, `{"dns_nameservers":["192.0.2.53","192.0.2.54"]}`},
		"no DNS servers": {func(_ *samplecrdv1.NetworkSpec, s *subnet) {
			s.DNSServers = planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", DNSServers: []string{"192.0.2.54"}}).Subnets[0].DNSServers
		}, `{"dns_nameservers":[]}`},
		"the routes": {func(n *samplecrdv1.NetworkSpec, _ *subnet) {
			n.Routes = []samplecrdv1.Route{{Destination: "172.16.0.0/12", NextHop: "10.0.0.9"}}
		}, `{"host_routes":[{"destination":"172.16.0.0/12","nexthop":"10.0.0.9"}]}`},
		"no routes": {func(_ *samplecrdv1.NetworkSpec, s *subnet) {
			s.Routes = planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", Routes: []samplecrdv1.Route{{Destination: "172.16.0.0/12", NextHop: "10.0.0.9"}}}).Subnets[0].Routes
		}, `{"host_routes":[]}`},
		"no DHCP":                {func(n *samplecrdv1.NetworkSpec, _ *subnet) { n.DHCP = new(samplecrdv1.DHCPDisabled) }, `{"enable_dhcp":false}`},
		"DHCP that is left open": {func(_ *samplecrdv1.NetworkSpec, s *subnet) { s.DHCP = samplecrdv1.DHCPDisabled }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec, now := *base.DeepCopy(), subnet{Subnet: planOf(t, base).Subnets[0], id: "s", networkID: "n", name: "a/b", description: "m", revision: 5}
			now.Pools, now.DHCP = allocatable(now.Subnet), samplecrdv1.DHCPEnabled
			tc.change(&spec, &now)
			planned := planOf(t, spec)
			change, needed := want.updateSubnet(now, planned.Subnets[0])
			if needed != (tc.body != "") || *change.RevisionNumber != 5 {
				t.Fatalf("a change is needed: %t, of revision %d", needed, *change.RevisionNumber)
			}
			if body := `{"subnet":` + tc.body + `}`; needed && said(t, change.ToSubnetUpdateMap) != body {
				t.Errorf("the body is %s, want %s", said(t, change.ToSubnetUpdateMap), body)
			}
			whole := wanted{Plan: planned, class: want.class, name: want.name, mark: want.mark}
			if is := whole.is(held{network: network{ID: "n", Name: "a/b", Description: "m"}, subnets: []subnet{now}}); is == needed {
				t.Errorf("it is as wanted: %t", is)
			}
		})
	}
}

func TestIsAsWanted(t *testing.T) {
	plan := planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", AdditionalSubnets: []samplecrdv1.SubnetSpec{{CIDR: "fd00:1::/64"}}})
	want := wanted{Plan: plan, class: &samplecrdv1.NeutronSpec{}, name: "a/b", mark: "m"}
	whole := func() held {
		h := held{network: network{ID: "n", Name: "a/b", Description: "m"}}
		for _, s := range plan.Subnets {
			s.Pools = allocatable(s)
			h.subnets = append(h.subnets, subnet{Subnet: s, id: s.Prefix.String(), name: "a/b", description: "m"})
		}
		return h
	}
	besides := func(description string) subnet {
		return subnet{Subnet: planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.9.0.0/24"}).Subnets[0], description: description}
	}
	for name, tc := range map[string]struct {
		change func(*held)
		is     bool
	}{
		"all of it":                    {func(*held) {}, true},
		"in another order":             {func(h *held) { h.subnets[0], h.subnets[1] = h.subnets[1], h.subnets[0] }, true},
		"one missing":                  {func(h *held) { h.subnets = h.subnets[:1] }, false},
		"one twice and one missing":    {func(h *held) { h.subnets[1] = h.subnets[0] }, false},
		"one of ours besides":          {func(h *held) { h.subnets = append(h.subnets, besides("m")) }, false},
		"a stranger's besides":         {func(h *held) { h.subnets = append(h.subnets, besides("")) }, true},
		"a stranger's in place of one": {func(h *held) { h.subnets[1].description = "" }, false},
		"another mark":                 {func(h *held) { h.Description = "else" }, false},
	} {
		now := whole()
		tc.change(&now)
		if got := want.is(now); got != tc.is {
			t.Errorf("%s: it is as wanted: %t", name, got)
		}
	}
}
