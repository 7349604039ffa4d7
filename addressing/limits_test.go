package addressing_test

import (
	"strings"
	"testing"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// allLimits forbids all that can be forbidden.
var allLimits = addressing.Limits{
	Backend: "Multus with host-local", LongestIPv4: 30, LongestIPv6: 126, NoDHCP: true, NoDNSServers: true, NoAdditionalSubnets: true,
}

func TestForbids(t *testing.T) {
	spec := func(cidr string, change func(*samplecrdv1.NetworkSpec)) *samplecrdv1.NetworkSpec {
		s := subnets(cidr)
		if change != nil {
			change(s)
		}
		return s
	}
	for name, tc := range map[string]struct {
		limits addressing.Limits
		spec   *samplecrdv1.NetworkSpec
		want   []string // the path that each sentence begins with
	}{
		"no limits forbid nothing":                     {addressing.Limits{}, longest(), nil},
		"the longest IPv4 prefix is served":            {allLimits, spec("203.0.113.4/30", nil), nil},
		"a longer IPv4 prefix is not":                  {allLimits, spec("203.0.113.4/31", nil), []string{"spec.cidr"}},
		"AN-34: a /32 is not":                          {allLimits, spec("203.0.113.7/32", nil), []string{"spec.cidr"}},
		"the longest IPv6 prefix is served":            {allLimits, spec("2001:db8::/126", nil), nil},
		"a longer IPv6 prefix is not":                  {allLimits, spec("2001:db8::/127", nil), []string{"spec.cidr"}},
		"the limit of IPv4 is none of IPv6":            {addressing.Limits{LongestIPv4: 30}, spec("2001:db8::/127", nil), nil},
		"the limit of IPv6 is none of IPv4":            {addressing.Limits{LongestIPv6: 126}, spec("192.0.2.0/31", nil), nil},
		"DHCP that is asked for":                       {allLimits, spec("10.0.0.0/24", func(s *samplecrdv1.NetworkSpec) { s.DHCP = new(samplecrdv1.DHCPEnabled) }), []string{"spec.dhcp"}},
		"DHCP that is declined":                        {allLimits, spec("10.0.0.0/24", func(s *samplecrdv1.NetworkSpec) { s.DHCP = new(samplecrdv1.DHCPDisabled) }), nil},
		"DHCP where there is one":                      {addressing.Limits{NoDNSServers: true}, spec("10.0.0.0/24", func(s *samplecrdv1.NetworkSpec) { s.DHCP = new(samplecrdv1.DHCPEnabled) }), nil},
		"name servers":                                 {allLimits, spec("10.0.0.0/24", func(s *samplecrdv1.NetworkSpec) { s.DNSServers = []string{"192.0.2.53"} }), []string{"spec.dnsServers"}},
		"name servers where there are some":            {addressing.Limits{NoDHCP: true}, spec("10.0.0.0/24", func(s *samplecrdv1.NetworkSpec) { s.DNSServers = []string{"192.0.2.53"} }), nil},
		"more than one subnet":                         {allLimits, subnets("10.0.0.0/24", "10.0.1.0/24"), []string{"spec.additionalSubnets"}},
		"what an entry asks for is named by its place": {allLimits, subnets("10.0.0.0/24", "10.0.1.0/31"), []string{"spec.additionalSubnets", "spec.additionalSubnets[0].cidr"}},
		"all at once": {allLimits, spec("10.0.0.0/31", func(s *samplecrdv1.NetworkSpec) {
			s.DHCP, s.DNSServers = new(samplecrdv1.DHCPEnabled), []string{"192.0.2.53"}
			s.AdditionalSubnets = []samplecrdv1.SubnetSpec{{CIDR: "10.0.1.0/24", DHCP: new(samplecrdv1.DHCPEnabled)}}
		}), []string{"spec.additionalSubnets", "spec.cidr", "spec.dhcp", "spec.dnsServers", "spec.additionalSubnets[0].dhcp"}},
		"pools, routes and an MTU are served": {allLimits, spec("10.0.0.0/24", func(s *samplecrdv1.NetworkSpec) {
			s.AllocationPools, s.Routes, s.MTU = pools("10.0.0.2-10.0.0.9"), routes("172.16.0.0/12 via 10.0.0.9"), new(int32(1500))
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
