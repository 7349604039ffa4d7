package providertest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// shapes are Networks of every kind. A backend holds every one that it can serve,
// and all of it.
var shapes = map[string]samplecrdv1.NetworkSpec{
	"pools": {CIDR: "10.0.0.0/24", Gateway: "10.0.0.254", AllocationPools: []samplecrdv1.AddressRange{
		{Start: "10.0.0.10", End: "10.0.0.19"}, {Start: "10.0.0.30", End: "10.0.0.39"}, {Start: "10.0.0.50", End: "10.0.0.50"},
	}},
	"pools of IPv6": {CIDR: "2001:db8::/64", AllocationPools: []samplecrdv1.AddressRange{{Start: "2001:db8::100", End: "2001:db8::1ff"}}},
	"DNS servers":   {CIDR: "10.0.0.0/24", DNSServers: []string{"192.0.2.53", "10.0.0.53", "2001:db8::53"}},
	"routes": {CIDR: "10.0.0.0/24", Routes: []samplecrdv1.Route{
		{Destination: "172.16.9.9/12", NextHop: "10.0.0.9"}, {Destination: "192.0.2.0/24", NextHop: "10.0.0.1"},
	}},
	"routes of IPv6": {CIDR: "2001:db8::/64", Routes: []samplecrdv1.Route{{Destination: "2001:db8:1::/48", NextHop: "2001:db8::9"}}},
	"an MTU":         {CIDR: "10.0.0.0/24", MTU: new(int32(1400))},
	"DHCP":           {CIDR: "10.0.0.0/24", DHCP: new(samplecrdv1.DHCPEnabled)},
	"no DHCP":        {CIDR: "10.0.0.0/24", DHCP: new(samplecrdv1.DHCPDisabled)},
	"both families":  {CIDR: "10.0.0.0/24", AdditionalSubnets: []samplecrdv1.SubnetSpec{{CIDR: "2001:db8::/64"}}},
	"both families without gateways": {CIDR: "2001:db8::/64", Gateway: samplecrdv1.GatewayNone, AdditionalSubnets: []samplecrdv1.SubnetSpec{
		{CIDR: "10.0.0.0/24", Gateway: samplecrdv1.GatewayNone},
	}},
	"two of IPv4": {CIDR: "10.0.0.0/24", AdditionalSubnets: []samplecrdv1.SubnetSpec{{CIDR: "10.0.1.0/24"}}},
	"two of IPv4 without gateways": {CIDR: "10.0.0.0/24", Gateway: samplecrdv1.GatewayNone, AdditionalSubnets: []samplecrdv1.SubnetSpec{
		{CIDR: "10.0.1.0/24", Gateway: samplecrdv1.GatewayNone},
	}},
	"one with a gateway and one without": {CIDR: "10.0.0.0/24", AdditionalSubnets: []samplecrdv1.SubnetSpec{
		{CIDR: "2001:db8::/64", Gateway: samplecrdv1.GatewayNone},
	}},
	"as many as there may be": many(8),
	"all at once": {
		CIDR: "10.0.0.0/24", Gateway: "10.0.0.254", MTU: new(int32(1400)), DHCP: new(samplecrdv1.DHCPDisabled),
		AllocationPools: []samplecrdv1.AddressRange{{Start: "10.0.0.10", End: "10.0.0.19"}},
		DNSServers:      []string{"192.0.2.53"},
		Routes:          []samplecrdv1.Route{{Destination: "172.16.0.0/12", NextHop: "10.0.0.9"}},
		AdditionalSubnets: []samplecrdv1.SubnetSpec{
			{
				CIDR: "2001:db8::/64", Gateway: "2001:db8::fe", DHCP: new(samplecrdv1.DHCPDisabled),
				AllocationPools: []samplecrdv1.AddressRange{{Start: "2001:db8::10", End: "2001:db8::19"}},
				DNSServers:      []string{"2001:db8::53", "192.0.2.54"},
				Routes:          []samplecrdv1.Route{{Destination: "2001:db8:1::/48", NextHop: "2001:db8::9"}},
			},
			{CIDR: "2001:db8:2::/64"},
		},
	},
}

// many asks for that many subnets of IPv6.
func many(count int) samplecrdv1.NetworkSpec {
	spec := samplecrdv1.NetworkSpec{CIDR: "2001:db8::/64"}
	for i := 1; i < count; i++ {
		spec.AdditionalSubnets = append(spec.AdditionalSubnets, samplecrdv1.SubnetSpec{CIDR: fmt.Sprintf("2001:db8:0:%d::/64", i)})
	}
	return spec
}

var shaping = map[string]func(*testing.T, Harness){
	"all of what can be served is held": func(t *testing.T, h Harness) {
		served := 0
		for _, name := range slices.Sorted(maps.Keys(shapes)) {
			id, want := h.NewIdentity(t), planOf(t, shapes[name])
			if !serves(t, h, want) {
				continue
			}
			served++
			ensure(t, h, id, want)
			checkHeld(t, h, id, want)
			writes := h.Writes()
			if ensure(t, h, id, want).Changed || h.Writes() != writes {
				t.Errorf("%s: a second Ensure writes", name)
			}
			if t.Failed() {
				t.Fatalf("with %s", name)
			}
		}
		if served < len(shapes)/2 {
			t.Errorf("the backend serves only %d of %d", served, len(shapes))
		}
	},
	"every shape can become every other": func(t *testing.T, h Harness) {
		id, most := h.NewIdentity(t), planOf(t, shapes["all at once"])
		for _, name := range slices.Sorted(maps.Keys(shapes)) {
			other := planOf(t, shapes[name])
			if !serves(t, h, most) || !serves(t, h, other) {
				continue
			}
			for _, want := range []addressing.Plan{most, other} {
				ensure(t, h, id, want)
				checkHeld(t, h, id, want)
			}
			if t.Failed() {
				t.Fatalf("between all at once and %s", name)
			}
		}
	},
}
