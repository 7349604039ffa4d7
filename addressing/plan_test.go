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

// maxWarning is how much of a warning Kubernetes shows for certain.
const maxWarning = 256

func TestUsable(t *testing.T) {
	for name, tc := range map[string]struct{ prefix, from, to string }{
		"an IPv4 range leaves both ends out":     {"10.0.0.0/24", "10.0.0.1", "10.0.0.254"},
		"off an octet border":                    {"10.20.30.64/27", "10.20.30.65", "10.20.30.94"},
		"the shortest IPv4 prefix":               {"128.0.0.0/1", "128.0.0.1", "255.255.255.254"},
		"a /30 has two":                          {"203.0.113.4/30", "203.0.113.5", "203.0.113.6"},
		"a /31 has both":                         {"192.0.2.0/31", "192.0.2.0", "192.0.2.1"},
		"a /32 has its one":                      {"203.0.113.7/32", "203.0.113.7", "203.0.113.7"},
		"host bits do not matter":                {"192.0.2.1/31", "192.0.2.0", "192.0.2.1"},
		"an IPv6 range has no broadcast address": {"2001:db8::/64", "2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff"},
		"a /126 has three":                       {"2001:db8::/126", "2001:db8::1", "2001:db8::3"},
		"a /127 has both":                        {"2001:db8::/127", "2001:db8::", "2001:db8::1"},
		"a /128 has its one":                     {"2001:db8::1/128", "2001:db8::1", "2001:db8::1"},
		"the last addresses of all":              {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff0/124", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fff1", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	} {
		t.Run(name, func(t *testing.T) {
			prefix := netip.MustParsePrefix(tc.prefix)
			got := addressing.Usable(prefix)
			if got.From() != netip.MustParseAddr(tc.from) || got.To() != netip.MustParseAddr(tc.to) {
				t.Errorf("usable is %s, want %s-%s", got, tc.from, tc.to)
			}
			if gateway := addressing.DefaultGateway(prefix); gateway != got.From() {
				t.Errorf("default gateway is %s, want %s", gateway, got.From())
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	withRoute := subnets("10.0.0.0/24")
	withRoute.Routes = routes("172.16.0.0/12 via 10.0.0.9", "172.17.9.9/16 via 10.0.0.9")
	inEntry := subnets("10.0.0.0/24", "2001:db8::1/64")
	inEntry.AdditionalSubnets[0].Routes = routes("2001:DB8:9::1/48 via 2001:db8::9")
	for name, tc := range map[string]struct {
		spec *samplecrdv1.NetworkSpec
		want []string // what each warning names
	}{
		"a canonical range draws none":              {subnets("192.168.0.0/16"), nil},
		"a single address has no host bits":         {subnets("203.0.113.7/32"), nil},
		"another spelling draws none":               {subnets("2001:0DB8:0:0::/64"), nil},
		"host bits are named with what they mean":   {subnets("192.168.1.0/16"), []string{"spec.cidr: 192.168.1.0/16 … 192.168.0.0/16"}},
		"AN-23: off an octet border":                {subnets("192.168.2.225/28"), []string{"spec.cidr: 192.168.2.225/28 … 192.168.2.224/28"}},
		"AN-26: a host's address":                   {subnets("10.0.0.5/24"), []string{"spec.cidr: 10.0.0.5/24 … 10.0.0.0/24"}},
		"AN-33: the second address of a /31":        {subnets("192.0.2.1/31"), []string{"spec.cidr: 192.0.2.1/31 … 192.0.2.0/31"}},
		"a route's destination, with its index":     {withRoute, []string{"spec.routes[1].destination: 172.17.9.9/16 … 172.17.0.0/16"}},
		"an entry and its route, with both indices": {inEntry, []string{"spec.additionalSubnets[0].cidr: 2001:db8::1/64 … 2001:db8::/64", "spec.additionalSubnets[0].routes[0].destination: 2001:db8:9::1/48 … 2001:db8:9::/48"}},
	} {
		t.Run(name, func(t *testing.T) {
			plan, errs := addressing.Parse(tc.spec, specPath)
			checkFaults(t, errs, nil)
			got := plan.Warnings()
			if len(got) != len(tc.want) {
				t.Fatalf("got %q, want %d", got, len(tc.want))
			}
			for i, want := range tc.want {
				start, end, _ := strings.Cut(want, " … ")
				if !strings.HasPrefix(got[i], start) || !strings.HasSuffix(got[i], end) {
					t.Errorf("warning %q does not read as %q", got[i], want)
				}
			}
		})
	}
}

// longest is the spec whose warnings are the longest: every list full, every
// address of 39 characters, every range with host bits.
func longest() *samplecrdv1.NetworkSpec {
	const rest = ":db8a:1111:2222:3333:4444:5555:6667"
	subnet := func(group int) samplecrdv1.SubnetSpec {
		spec := samplecrdv1.SubnetSpec{CIDR: fmt.Sprintf("%x%s/127", group, rest), DNSServers: []string{"192.0.2.53"}, DHCP: new(samplecrdv1.DHCPEnabled)}
		for i := range 32 {
			spec.Routes = append(spec.Routes, samplecrdv1.Route{Destination: fmt.Sprintf("%x%s/127", 0x3000+i, rest), NextHop: fmt.Sprintf("%x%s", group, rest)})
		}
		return spec
	}
	first := subnet(0x2000)
	spec := &samplecrdv1.NetworkSpec{CIDR: first.CIDR, DNSServers: first.DNSServers, Routes: first.Routes, DHCP: first.DHCP, ImportID: strings.Repeat("x", 64)}
	for i := range 7 {
		spec.AdditionalSubnets = append(spec.AdditionalSubnets, subnet(0x2001+i))
	}
	return spec
}

// WO-18: a warning is never cut.
func TestWarningsAreShort(t *testing.T) {
	plan, errs := addressing.Parse(longest(), specPath)
	checkFaults(t, errs, nil)
	warnings := plan.Warnings()
	if got, want := len(warnings), 8+8*32; got != want {
		t.Fatalf("%d warnings, want one for each of %d ranges", got, want)
	}
	for _, warning := range slices.Concat(warnings, bridgeLimits.Forbids(plan), cloudLimits.Forbids(plan)) {
		if len(warning) > maxWarning {
			t.Errorf("%d characters: %s", len(warning), warning)
		}
		if strings.HasPrefix(warning, "Warning") {
			t.Errorf("kubectl would say it twice: %s", warning)
		}
	}
}
