package addressing_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// cloudLimits are those of a cloud that is asked over its API.
var cloudLimits = addressing.Limits{
	Backend: "the cloud", LongestIPv4DHCP: 30, LongestIPv6DHCP: 126, NoTinyIPv4Gateway: true, IPv6PairNeedsGateway: true, MostDNSServers: 5, DNSOfFamily: true, MostRoutes: 20, NoImport: true,
}

// The text is part of these cases: who reads it must know what to do next.
func TestForbidsOfACloud(t *testing.T) {
	type change = func(*samplecrdv1.NetworkSpec)
	spec := func(cidr string, changes ...change) *samplecrdv1.NetworkSpec {
		s := subnets(cidr)
		for _, change := range changes {
			change(s)
		}
		return s
	}
	dhcp := func(mode samplecrdv1.DHCPMode) change { return func(s *samplecrdv1.NetworkSpec) { s.DHCP = &mode } }
	gateway := func(text string) change { return func(s *samplecrdv1.NetworkSpec) { s.Gateway = text } }
	named := func(n int) change {
		return func(s *samplecrdv1.NetworkSpec) {
			for i := range n {
				s.DNSServers = append(s.DNSServers, fmt.Sprintf("192.0.2.%d", i))
			}
		}
	}
	routed := func(n int) change {
		return func(s *samplecrdv1.NetworkSpec) {
			for i := range n {
				s.Routes = append(s.Routes, routes(fmt.Sprintf("172.16.%d.0/24 via 10.0.0.9", i))...)
			}
		}
	}
	entry := func(s samplecrdv1.SubnetSpec) change {
		return func(spec *samplecrdv1.NetworkSpec) { spec.AdditionalSubnets = append(spec.AdditionalSubnets, s) }
	}
	takesOver := func(s *samplecrdv1.NetworkSpec) { s.ImportID = "abc" }
	tiny := func(path, gateway, prefix string) string {
		return fmt.Sprintf("%s.gateway: the cloud cannot serve a gateway, %s, on %s, which is too small for one; write None", path, gateway, prefix)
	}
	noDHCP := func(path, prefix string, longest int) string {
		return fmt.Sprintf("%s.dhcp: the cloud cannot serve DHCP on %s, only up to a /%d; remove it or write Disabled", path, prefix, longest)
	}
	for name, tc := range map[string]struct {
		spec *samplecrdv1.NetworkSpec
		want []string
	}{
		"an ordinary subnet": {spec("10.0.0.0/24", dhcp(samplecrdv1.DHCPEnabled), named(5), routed(20)), nil},
		"DNS servers of another family": {spec("2001:db8::/64", named(2)), []string{
			"spec.dnsServers[0]: the cloud cannot serve 192.0.2.0 on an IPv6 subnet; name it on one of its own family",
			"spec.dnsServers[1]: the cloud cannot serve 192.0.2.1 on an IPv6 subnet; name it on one of its own family",
		}},
		"a DNS server of the subnet's family beside a subnet of another": {spec("10.0.0.0/24", named(1), entry(samplecrdv1.SubnetSpec{CIDR: "2001:db8::/64"})), nil},
		"an IPv6 /127 without a gateway": {spec("2001:db8::/127", gateway("None")), []string{
			"spec.gateway: the cloud cannot serve 2001:db8::/127 without a gateway; name one of its two addresses",
		}},
		"an IPv6 /127 with a gateway":              {spec("2001:db8::/127"), nil},
		"an IPv6 /128 without a gateway":           {spec("2001:db8::/128", gateway("None")), nil},
		"DHCP on a /30":                            {spec("10.0.0.0/30", dhcp(samplecrdv1.DHCPEnabled)), nil},
		"DHCP on a /31":                            {spec("10.0.0.0/31", dhcp(samplecrdv1.DHCPEnabled), gateway("None")), []string{noDHCP("spec", "10.0.0.0/31", 30)}},
		"DHCP on a /126":                           {spec("2001:db8::/126", dhcp(samplecrdv1.DHCPEnabled)), nil},
		"DHCP on a /127":                           {spec("2001:db8::/127", dhcp(samplecrdv1.DHCPEnabled)), []string{noDHCP("spec", "2001:db8::/127", 126)}},
		"DHCP left to the cloud":                   {spec("2001:db8::/128"), nil},
		"DHCP declined":                            {spec("10.0.0.0/32", dhcp(samplecrdv1.DHCPDisabled), gateway("None")), nil},
		"a gateway on a /31 that is chosen":        {spec("192.0.2.0/31"), []string{tiny("spec", "192.0.2.0", "192.0.2.0/31")}},
		"AN-32: a gateway on a /31 that is named":  {spec("192.0.2.0/31", gateway("192.0.2.1")), []string{tiny("spec", "192.0.2.1", "192.0.2.0/31")}},
		"a gateway on a /32":                       {spec("192.0.2.9/32"), []string{tiny("spec", "192.0.2.9", "192.0.2.9/32")}},
		"no gateway on a /31":                      {spec("192.0.2.0/31", gateway("None")), nil},
		"a gateway on a /30":                       {spec("192.0.2.0/30"), nil},
		"a gateway on a /127":                      {spec("2001:db8::/127"), nil},
		"six servers":                              {spec("10.0.0.0/24", named(6)), []string{"spec.dnsServers: the cloud cannot serve 6 DNS servers on a subnet; name at most 5"}},
		"five servers on each of two subnets":      {spec("10.0.0.0/24", named(5), entry(samplecrdv1.SubnetSpec{CIDR: "10.0.1.0/24", DNSServers: []string{"192.0.2.1"}})), nil},
		"21 routes":                                {spec("10.0.0.0/24", routed(21)), []string{"spec.routes: the cloud cannot serve 21 routes on a subnet; name at most 20"}},
		"a network that exists":                    {spec("10.0.0.0/24", takesOver), []string{"spec.importID: the cloud cannot serve a network that exists, abc; remove importID to have one made"}},
		"what an entry asks for, named by its way": {spec("10.0.0.0/24", entry(samplecrdv1.SubnetSpec{CIDR: "192.0.2.0/31"})), []string{tiny("spec.additionalSubnets[0]", "192.0.2.0", "192.0.2.0/31")}},
		"all at once": {spec("10.0.0.9/32", gateway("10.0.0.9"), dhcp(samplecrdv1.DHCPEnabled), named(8), routed(21), takesOver), []string{
			tiny("spec", "10.0.0.9", "10.0.0.9/32"),
			"spec.dnsServers: the cloud cannot serve 8 DNS servers on a subnet; name at most 5",
			"spec.routes: the cloud cannot serve 21 routes on a subnet; name at most 20",
			noDHCP("spec", "10.0.0.9/32", 30),
			"spec.importID: the cloud cannot serve a network that exists, abc; remove importID to have one made",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			plan, errs := addressing.Parse(tc.spec, specPath)
			checkFaults(t, errs, nil)
			if got := cloudLimits.Forbids(plan); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if got := (addressing.Limits{Backend: "any"}).Forbids(plan); len(got) > 0 {
				t.Errorf("no limits forbid %q", got)
			}
		})
	}
}

// Every limit is one of those that the tables are about.
func TestEveryLimitIsTried(t *testing.T) {
	bridge, cloud := reflect.ValueOf(bridgeLimits), reflect.ValueOf(cloudLimits)
	for i := range bridge.NumField() {
		if bridge.Field(i).IsZero() && cloud.Field(i).IsZero() {
			t.Errorf("no table sets %s", bridge.Type().Field(i).Name)
		}
	}
}
