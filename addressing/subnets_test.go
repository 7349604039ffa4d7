package addressing_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// subnets makes a spec of the given ranges, the first of which is spec's own.
func subnets(cidrs ...string) *samplecrdv1.NetworkSpec {
	spec := &samplecrdv1.NetworkSpec{CIDR: cidrs[0]}
	for _, cidr := range cidrs[1:] {
		spec.AdditionalSubnets = append(spec.AdditionalSubnets, samplecrdv1.SubnetSpec{CIDR: cidr})
	}
	return spec
}

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func TestParseAdditionalSubnets(t *testing.T) {
	entry := func(i int, name string) string { return fmt.Sprintf("spec.additionalSubnets[%d].%s", i, name) }
	for name, tc := range map[string]struct {
		spec *samplecrdv1.NetworkSpec
		want []fault
	}{
		"the other family":                               {subnets("10.0.0.0/24", "2001:db8::/64"), nil},
		"neighbours":                                     {subnets("10.0.0.0/24", "10.0.1.0/24"), nil},
		"seven of them":                                  {subnets("10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24", "10.0.4.0/24", "10.0.5.0/24", "10.0.6.0/24", "10.0.7.0/24"), nil},
		"eight of them are too many":                     {subnets("10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24", "10.0.4.0/24", "10.0.5.0/24", "10.0.6.0/24", "10.0.7.0/24", "10.0.8.0/24"), []fault{tooMany("spec.additionalSubnets")}},
		"one that lies in the first is refused":          {subnets("10.0.0.0/8", "10.9.0.0/16"), []fault{invalid(entry(0, "cidr"))}},
		"one that holds the first is refused":            {subnets("10.9.0.0/16", "10.0.0.0/8"), []fault{invalid(entry(0, "cidr"))}},
		"the first again, by other host bits":            {subnets("10.0.0.0/8", "10.161.0.0/8"), []fault{invalid(entry(0, "cidr"))}},
		"two that overlap each other are refused":        {subnets("10.0.0.0/24", "2001:db8::/64", "2001:db8::8/125"), []fault{invalid(entry(1, "cidr"))}},
		"every one that overlaps is refused":             {subnets("10.0.0.0/8", "10.1.0.0/16", "10.2.0.0/16"), []fault{invalid(entry(0, "cidr")), invalid(entry(1, "cidr"))}},
		"bad text is refused with its index":             {subnets("10.0.0.0/24", "10.0.1.0/24", "10.0.2"), []fault{invalid(entry(1, "cidr"))}},
		"an empty range is required":                     {subnets("10.0.0.0/24", ""), []fault{required(entry(0, "cidr"))}},
		"a bad first range hides no fault of the others": {subnets("x", "10.0.1.0/24", "10.0.1.0/25"), []fault{invalid("spec.cidr"), invalid(entry(1, "cidr"))}},
		"the rules of gateways hold in an entry": {
			&samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", AdditionalSubnets: []samplecrdv1.SubnetSpec{{CIDR: "10.0.1.0/24", Gateway: "10.0.0.1"}}},
			[]fault{invalid(entry(0, "gateway"))},
		},
		"the rules of lists hold in an entry": {
			&samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", AdditionalSubnets: []samplecrdv1.SubnetSpec{{
				CIDR: "10.0.1.0/24", AllocationPools: pools("10.0.1.1-10.0.1.9"), DNSServers: []string{"x"}, Routes: routes("172.16.0.0/12 via 10.0.0.9"), DHCP: new(samplecrdv1.DHCPMode("On")),
			}}},
			[]fault{invalid(entry(0, "allocationPools[0]")), invalid(entry(0, "dnsServers[0]")), invalid(entry(0, "routes[0].nextHop")), unknown(entry(0, "dhcp"))},
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan, errs := addressing.Parse(tc.spec, specPath)
			checkFaults(t, errs, tc.want)
			if len(tc.want) == 0 && !slices.Equal(plan.Prefixes(), addressing.Asked(tc.spec)) {
				t.Errorf("prefixes are %v, asked for are %v", plan.Prefixes(), addressing.Asked(tc.spec))
			}
		})
	}
}

// An entry's gateway is chosen as the first subnet's is; only status shows it.
func TestParseChoosesGatewayOfEntry(t *testing.T) {
	spec := subnets("10.0.0.0/24", "2001:db8::/64")
	plan, errs := addressing.Parse(spec, specPath)
	checkFaults(t, errs, nil)
	if got := plan.Subnets[1].Gateway; got != netip.MustParseAddr("2001:db8::1") {
		t.Errorf("gateway is %s", got)
	}
	if spec.AdditionalSubnets[0].Gateway != "" {
		t.Error("the spec was changed")
	}
}

func TestParseExplainsSubnetsOfOneNetwork(t *testing.T) {
	_, errs := addressing.Parse(subnets("10.0.0.77/24", "10.0.0.0/25"), specPath)
	for _, want := range []string{"10.0.0.0/24", "spec.cidr", `"10.0.0.0/25"`} {
		if got := text(errs); !strings.Contains(got, want) {
			t.Errorf("%q does not name %s", got, want)
		}
	}
}

func TestParseMTU(t *testing.T) {
	for name, tc := range map[string]struct {
		cidrs []string
		mtu   int32
		want  []fault
	}{
		"the smallest of IPv4":                     {[]string{"10.0.0.0/24"}, 68, nil},
		"the smallest of IPv6":                     {[]string{"2001:db8::/64"}, 1280, nil},
		"the largest":                              {[]string{"10.0.0.0/24"}, 9216, nil},
		"zero is refused":                          {[]string{"10.0.0.0/24"}, 0, []fault{invalid("spec.mtu")}},
		"a negative one is refused":                {[]string{"10.0.0.0/24"}, -1500, []fault{invalid("spec.mtu")}},
		"below the smallest is refused":            {[]string{"10.0.0.0/24"}, 67, []fault{invalid("spec.mtu")}},
		"above the largest is refused":             {[]string{"10.0.0.0/24"}, 9217, []fault{invalid("spec.mtu")}},
		"too small for IPv6 is refused":            {[]string{"2001:db8::/64"}, 1279, []fault{invalid("spec.mtu")}},
		"too small for a second subnet of IPv6":    {[]string{"10.0.0.0/24", "2001:db8::/64"}, 1279, []fault{invalid("spec.mtu")}},
		"too small for two of IPv6 is one fault":   {[]string{"2001:db8::/64", "2001:db8:1::/64"}, 1279, []fault{invalid("spec.mtu")}},
		"a bad range beside a bad MTU, two faults": {[]string{"x"}, 1, []fault{invalid("spec.cidr"), invalid("spec.mtu")}},
	} {
		t.Run(name, func(t *testing.T) {
			spec := subnets(tc.cidrs...)
			spec.MTU = &tc.mtu
			plan, errs := addressing.Parse(spec, specPath)
			checkFaults(t, errs, tc.want)
			if plan.MTU != tc.mtu {
				t.Errorf("MTU is %d, want %d", plan.MTU, tc.mtu)
			}
		})
	}
	t.Run("absent leaves it to the backend", func(t *testing.T) {
		if plan, _ := addressing.Parse(subnets("10.0.0.0/24"), specPath); plan.MTU != 0 {
			t.Errorf("MTU is %d", plan.MTU)
		}
	})
}

func TestParseDHCP(t *testing.T) {
	for name, tc := range map[string]struct {
		dhcp *samplecrdv1.DHCPMode
		want []fault
	}{
		"absent leaves it to the backend": {nil, nil},
		"Enabled":                         {new(samplecrdv1.DHCPEnabled), nil},
		"Disabled":                        {new(samplecrdv1.DHCPDisabled), nil},
		"lower case is refused":           {new(samplecrdv1.DHCPMode("enabled")), []fault{unknown("spec.dhcp")}},
		"empty is refused":                {new(samplecrdv1.DHCPMode("")), []fault{unknown("spec.dhcp")}},
		"a megabyte is refused":           {new(samplecrdv1.DHCPMode(strings.Repeat("E", 1<<20))), []fault{unknown("spec.dhcp")}},
	} {
		t.Run(name, func(t *testing.T) {
			plan, errs := addressing.Parse(&samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", DHCP: tc.dhcp}, specPath)
			checkFaults(t, errs, tc.want)
			if len(text(errs)) > 300 {
				t.Errorf("the message has %d characters", len(text(errs)))
			}
			if len(tc.want) == 0 && tc.dhcp != nil && plan.Subnets[0].DHCP != *tc.dhcp {
				t.Errorf("DHCP is %q, want %q", plan.Subnets[0].DHCP, *tc.dhcp)
			}
		})
	}
}
