package addressing_test

import (
	"strings"
	"testing"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// bridgeLimits are those of a bridge on each node.
var bridgeLimits = addressing.Limits{
	Backend: "Multus with host-local", LongestIPv4: 30, LongestIPv6: 126, NoDHCP: true, OneIPv4Gateway: true, GatewaysAllOrNone: true,
}

// withoutGateways is spec with None as the gateway of the subnets of that number; 0
// is spec's own.
func withoutGateways(spec *samplecrdv1.NetworkSpec, subnets ...int) *samplecrdv1.NetworkSpec {
	for _, i := range subnets {
		if i == 0 {
			spec.Gateway = samplecrdv1.GatewayNone
		} else {
			spec.AdditionalSubnets[i-1].Gateway = samplecrdv1.GatewayNone
		}
	}
	return spec
}

func TestForbids(t *testing.T) {
	spec := func(cidr string, change func(*samplecrdv1.NetworkSpec)) *samplecrdv1.NetworkSpec {
		s := subnets(cidr)
		if change != nil {
			change(s)
		}
		return s
	}
	entry := "spec.additionalSubnets[0]"
	for name, tc := range map[string]struct {
		limits addressing.Limits
		spec   *samplecrdv1.NetworkSpec
		want   []string // the path that each sentence begins with
	}{
		"no limits forbid nothing":                     {addressing.Limits{}, longest(), nil},
		"the longest IPv4 prefix is served":            {bridgeLimits, spec("203.0.113.4/30", nil), nil},
		"a longer IPv4 prefix is not":                  {bridgeLimits, spec("203.0.113.4/31", nil), []string{"spec.cidr"}},
		"AN-34: a /32 is not":                          {bridgeLimits, spec("203.0.113.7/32", nil), []string{"spec.cidr"}},
		"the longest IPv6 prefix is served":            {bridgeLimits, spec("2001:db8::/126", nil), nil},
		"a longer IPv6 prefix is not":                  {bridgeLimits, spec("2001:db8::/127", nil), []string{"spec.cidr"}},
		"the limit of IPv4 is none of IPv6":            {addressing.Limits{LongestIPv4: 30}, spec("2001:db8::/127", nil), nil},
		"the limit of IPv6 is none of IPv4":            {addressing.Limits{LongestIPv6: 126}, spec("192.0.2.0/31", nil), nil},
		"DHCP that is asked for":                       {bridgeLimits, spec("10.0.0.0/24", func(s *samplecrdv1.NetworkSpec) { s.DHCP = new(samplecrdv1.DHCPEnabled) }), []string{"spec.dhcp"}},
		"DHCP that is declined":                        {bridgeLimits, spec("10.0.0.0/24", func(s *samplecrdv1.NetworkSpec) { s.DHCP = new(samplecrdv1.DHCPDisabled) }), nil},
		"DHCP where there is one":                      {addressing.Limits{LongestIPv4: 30}, spec("10.0.0.0/24", func(s *samplecrdv1.NetworkSpec) { s.DHCP = new(samplecrdv1.DHCPEnabled) }), nil},
		"both families":                                {bridgeLimits, subnets("10.0.0.0/24", "2001:db8::/64"), nil},
		"several IPv6 subnets":                         {bridgeLimits, subnets("2001:db8::/64", "2001:db8:1::/64", "2001:db8:2::/64"), nil},
		"a second IPv4 gateway":                        {bridgeLimits, subnets("10.0.0.0/24", "10.0.1.0/24"), []string{entry + ".gateway"}},
		"a second IPv4 gateway where there can be two": {addressing.Limits{GatewaysAllOrNone: true}, subnets("10.0.0.0/24", "10.0.1.0/24"), nil},
		"the second of IPv4, third of all":             {bridgeLimits, subnets("10.0.0.0/24", "2001:db8::/64", "10.0.1.0/24"), []string{"spec.additionalSubnets[1].gateway"}},
		"every further IPv4 gateway":                   {bridgeLimits, subnets("10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"), []string{entry + ".gateway", "spec.additionalSubnets[1].gateway"}},
		"IPv4 subnets without gateways":                {bridgeLimits, withoutGateways(subnets("10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"), 0, 1, 2), nil},
		"both families without gateways":               {bridgeLimits, withoutGateways(subnets("10.0.0.0/24", "2001:db8::/64"), 0, 1), nil},
		"one gateway and a subnet without":             {bridgeLimits, withoutGateways(subnets("10.0.0.0/24", "10.0.1.0/24"), 1), []string{entry + ".gateway"}},
		"spec's own is the one without":                {bridgeLimits, withoutGateways(subnets("10.0.0.0/24", "2001:db8::/64"), 0), []string{"spec.gateway"}},
		"one without where that can be":                {addressing.Limits{OneIPv4Gateway: true}, withoutGateways(subnets("10.0.0.0/24", "10.0.1.0/24"), 1), nil},
		"what an entry asks for is named by its place": {bridgeLimits, subnets("2001:db8::/64", "10.0.1.0/31"), []string{entry + ".cidr"}},
		"all at once": {bridgeLimits, spec("10.0.0.0/31", func(s *samplecrdv1.NetworkSpec) {
			s.DHCP = new(samplecrdv1.DHCPEnabled)
			s.AdditionalSubnets = []samplecrdv1.SubnetSpec{
				{CIDR: "10.0.1.0/24", DHCP: new(samplecrdv1.DHCPEnabled)},
				{CIDR: "2001:db8::/127", Gateway: samplecrdv1.GatewayNone},
			}
		}), []string{"spec.cidr", "spec.dhcp", entry + ".gateway", entry + ".dhcp", "spec.additionalSubnets[1].cidr", "spec.additionalSubnets[1].gateway"}},
		"pools, name servers, routes and an MTU are served": {bridgeLimits, spec("10.0.0.0/24", func(s *samplecrdv1.NetworkSpec) {
			s.AllocationPools, s.DNSServers, s.Routes, s.MTU = pools("10.0.0.2-10.0.0.9"), []string{"192.0.2.53"}, routes("172.16.0.0/12 via 10.0.0.9"), new(int32(1500))
		}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			plan, errs := addressing.Parse(tc.spec, specPath)
			checkFaults(t, errs, nil)
			got := tc.limits.Forbids(plan)
			if len(got) != len(tc.want) {
				t.Fatalf("got %q, want %d sentences", got, len(tc.want))
			}
			for i, path := range tc.want {
				if !strings.HasPrefix(got[i], path+": "+tc.limits.Backend+" cannot serve ") {
					t.Errorf("%q is not about %s of %s", got[i], path, tc.limits.Backend)
				}
			}
		})
	}
}

// Whoever does what a sentence about gateways says needs no second try.
func TestForbidsNamesTheRemedy(t *testing.T) {
	for name, tc := range map[string]struct {
		spec *samplecrdv1.NetworkSpec
		want []string
	}{
		"a second IPv4 gateway": {subnets("10.0.0.0/24", "10.0.1.0/24"), []string{
			"spec.additionalSubnets[0].gateway: Multus with host-local cannot serve a second IPv4 gateway, 10.0.1.1 beside 10.0.0.1; write None as the gateway of every subnet, or make the subnet a Network of its own",
		}},
		"one without": {withoutGateways(subnets("10.0.0.0/24", "2001:db8::/64"), 1), []string{
			"spec.additionalSubnets[0].gateway: Multus with host-local cannot serve a subnet without a gateway beside one with 10.0.0.1; write None as the gateway of every subnet, or name a gateway",
		}},
		"one of IPv4 without, beside one of IPv4": {withoutGateways(subnets("10.0.0.0/24", "10.0.1.0/24"), 1), []string{
			"spec.additionalSubnets[0].gateway: Multus with host-local cannot serve a subnet without a gateway beside one with 10.0.0.1; write None as the gateway of every subnet, or make the subnet a Network of its own",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			plan, errs := addressing.Parse(tc.spec, specPath)
			checkFaults(t, errs, nil)
			if got := bridgeLimits.Forbids(plan); strings.Join(got, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
