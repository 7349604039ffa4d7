package addressing_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"go4.org/netipx"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// pools reads "start-end".
func pools(ranges ...string) []samplecrdv1.AddressRange {
	var all []samplecrdv1.AddressRange
	for _, text := range ranges {
		start, end, _ := strings.Cut(text, "-")
		all = append(all, samplecrdv1.AddressRange{Start: start, End: end})
	}
	return all
}

// routes reads "destination via hop".
func routes(lines ...string) []samplecrdv1.Route {
	var all []samplecrdv1.Route
	for _, text := range lines {
		destination, hop, _ := strings.Cut(text, " via ")
		all = append(all, samplecrdv1.Route{Destination: destination, NextHop: hop})
	}
	return all
}

func TestParsePools(t *testing.T) {
	const first = "spec.allocationPools[0]"
	for name, tc := range map[string]struct {
		cidr, gateway string
		pools         []samplecrdv1.AddressRange
		want          []fault
	}{
		"a pool beside the gateway":                         {"10.0.0.0/24", "10.0.0.1", pools("10.0.0.2-10.0.0.254"), nil},
		"a pool of one address":                             {"10.0.0.0/24", "10.0.0.1", pools("10.0.0.9-10.0.0.9"), nil},
		"pools in any order":                                {"10.0.0.0/24", "10.0.0.1", pools("10.0.0.20-10.0.0.30", "10.0.0.2-10.0.0.10"), nil},
		"pools that touch":                                  {"10.0.0.0/24", "10.0.0.1", pools("10.0.0.2-10.0.0.10", "10.0.0.11-10.0.0.20"), nil},
		"every usable address, without a gateway":           {"10.0.0.0/24", "None", pools("10.0.0.1-10.0.0.254"), nil},
		"both addresses of a /31, without a gateway":        {"10.0.0.0/31", "None", pools("10.0.0.0-10.0.0.1"), nil},
		"an IPv6 pool up to the last address":               {"2001:db8::/64", "", pools("2001:db8::2-2001:db8::ffff:ffff:ffff:ffff"), nil},
		"a range with host bits is judged as canonical":     {"10.0.0.77/24", "10.0.0.1", pools("10.0.0.2-10.0.0.20"), nil},
		"end below start is refused":                        {"10.0.0.0/24", "10.0.0.1", pools("10.0.0.9-10.0.0.8"), []fault{invalid(first + ".end")}},
		"ends of two families are refused":                  {"10.0.0.0/24", "10.0.0.1", pools("10.0.0.9-2001:db8::1"), []fault{invalid(first + ".end")}},
		"the other family is refused at both ends":          {"10.0.0.0/24", "10.0.0.1", pools("2001:db8::1-2001:db8::2"), []fault{invalid(first + ".start"), invalid(first + ".end")}},
		"the network address is refused":                    {"10.0.0.0/24", "10.0.0.9", pools("10.0.0.0-10.0.0.5"), []fault{invalid(first + ".start")}},
		"the broadcast address is refused":                  {"10.0.0.0/24", "10.0.0.1", pools("10.0.0.9-10.0.0.255"), []fault{invalid(first + ".end")}},
		"an end outside is refused":                         {"10.0.0.0/24", "10.0.0.1", pools("10.0.0.9-10.0.1.9"), []fault{invalid(first + ".end")}},
		"a pool around the range is refused at both ends":   {"10.0.1.0/24", "None", pools("10.0.0.9-10.0.2.9"), []fault{invalid(first + ".start"), invalid(first + ".end")}},
		"a pool with the gateway is refused":                {"10.0.0.0/24", "10.0.0.9", pools("10.0.0.2-10.0.0.20"), []fault{invalid(first)}},
		"a pool with the gateway at its start is refused":   {"10.0.0.0/24", "10.0.0.2", pools("10.0.0.2-10.0.0.20"), []fault{invalid(first)}},
		"a pool with the gateway at its end is refused":     {"10.0.0.0/24", "10.0.0.20", pools("10.0.0.2-10.0.0.20"), []fault{invalid(first)}},
		"a pool with the defaulted gateway is refused":      {"10.0.0.0/24", "", pools("10.0.0.1-10.0.0.20"), []fault{invalid(first)}},
		"the gateway, and an end outside, are two faults":   {"10.0.0.0/24", "10.0.0.9", pools("10.0.0.0-10.0.0.20"), []fault{invalid(first + ".start"), invalid(first)}},
		"pools that share an address are refused":           {"10.0.0.0/24", "10.0.0.1", pools("10.0.0.2-10.0.0.10", "10.0.0.10-10.0.0.20"), []fault{invalid("spec.allocationPools[1]")}},
		"a pool twice is refused":                           {"10.0.0.0/24", "10.0.0.1", pools("10.0.0.2-10.0.0.9", "10.0.0.20-10.0.0.29", "10.0.0.2-10.0.0.9"), []fault{invalid("spec.allocationPools[2]")}},
		"empty ends are required":                           {"10.0.0.0/24", "10.0.0.1", pools("-"), []fault{required(first + ".start"), required(first + ".end")}},
		"bad text is refused at both ends":                  {"10.0.0.0/24", "10.0.0.1", pools("10.0.0.02-x"), []fault{invalid(first + ".start"), invalid(first + ".end")}},
		"a prefix length is refused":                        {"10.0.0.0/24", "10.0.0.1", pools("10.0.0.2/24-10.0.0.9"), []fault{invalid(first + ".start")}},
		"mapped addresses are refused":                      {"10.0.0.0/24", "10.0.0.1", pools("::ffff:10.0.0.2-10.0.0.9"), []fault{invalid(first + ".start")}},
		"None is no address of a pool":                      {"10.0.0.0/24", "10.0.0.1", pools("None-10.0.0.9"), []fault{invalid(first + ".start")}},
		"a bad range leaves the order of ends to be judged": {"10.0.0/24", "", pools("10.0.0.9-10.0.0.8"), []fault{invalid("spec.cidr"), invalid(first + ".end")}},
		"a bad range leaves the rest unjudged":              {"10.0.0/24", "", pools("10.9.0.1-10.9.0.8"), []fault{invalid("spec.cidr")}},
		"a bad gateway is in no pool":                       {"10.0.0.0/24", "10.0.9.9", pools("10.0.0.1-10.0.0.8"), []fault{invalid("spec.gateway")}},
	} {
		t.Run(name, func(t *testing.T) {
			plan, errs := addressing.Parse(&samplecrdv1.NetworkSpec{CIDR: tc.cidr, Gateway: tc.gateway, AllocationPools: tc.pools}, specPath)
			checkFaults(t, errs, tc.want)
			if len(tc.want) > 0 {
				return
			}
			var want []netipx.IPRange
			for _, pool := range tc.pools {
				want = append(want, netipx.IPRangeFrom(netip.MustParseAddr(pool.Start), netip.MustParseAddr(pool.End)))
			}
			if got := plan.Subnets[0].Pools; !slices.Equal(got, want) {
				t.Errorf("pools are %v, want %v", got, want)
			}
		})
	}
}

func TestParseDNSServers(t *testing.T) {
	for name, tc := range map[string]struct {
		servers []string
		want    []fault
	}{
		"servers of both families, outside the range": {[]string{"192.0.2.53", "2001:db8::53"}, nil},
		"the gateway as a server":                     {[]string{"10.0.0.1"}, nil},
		"a server twice is refused":                   {[]string{"192.0.2.53", "192.0.2.54", "192.0.2.53"}, []fault{twice("spec.dnsServers[2]")}},
		"a server in two spellings is refused":        {[]string{"2001:db8::53", "2001:DB8:0::53"}, []fault{twice("spec.dnsServers[1]")}},
		"bad text is refused with its index":          {[]string{"192.0.2.53", "dns.example", "192.0.2.053"}, []fault{invalid("spec.dnsServers[1]"), invalid("spec.dnsServers[2]")}},
		"an empty server is required":                 {[]string{""}, []fault{required("spec.dnsServers[0]")}},
		"a port is refused":                           {[]string{"192.0.2.53:53"}, []fault{invalid("spec.dnsServers[0]")}},
		"a zone is refused":                           {[]string{"fe80::1%eth0"}, []fault{invalid("spec.dnsServers[0]")}},
		"a mapped server is refused":                  {[]string{"::ffff:192.0.2.53"}, []fault{invalid("spec.dnsServers[0]")}},
		"a long server is refused":                    {[]string{strings.Repeat("1", 1<<20)}, []fault{tooLong("spec.dnsServers[0]")}},
	} {
		t.Run(name, func(t *testing.T) {
			plan, errs := addressing.Parse(&samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", DNSServers: tc.servers}, specPath)
			checkFaults(t, errs, tc.want)
			if len(tc.want) > 0 {
				return
			}
			for i, server := range tc.servers {
				if got := plan.Subnets[0].DNSServers[i]; got != netip.MustParseAddr(server) {
					t.Errorf("server %d is %s, want %s", i, got, server)
				}
			}
		})
	}
}

func TestParseRoutes(t *testing.T) {
	const destination, hop = "spec.routes[0].destination", "spec.routes[0].nextHop"
	for name, tc := range map[string]struct {
		routes []samplecrdv1.Route
		want   []fault
	}{
		"a route by an address inside":                  {routes("172.16.0.0/12 via 10.0.0.9"), nil},
		"a route by the gateway":                        {routes("172.16.0.0/12 via 10.0.0.1"), nil},
		"a destination with host bits":                  {routes("172.16.9.9/12 via 10.0.0.9"), nil},
		"destinations that only overlap":                {routes("172.16.0.0/12 via 10.0.0.9", "172.16.0.0/16 via 10.0.0.9"), nil},
		"a destination twice is refused":                {routes("172.16.0.0/12 via 10.0.0.9", "172.16.0.0/12 via 10.0.0.8"), []fault{twice("spec.routes[1].destination")}},
		"a destination in two spellings is refused":     {routes("172.16.0.0/12 via 10.0.0.9", "172.17.0.0/12 via 10.0.0.9"), []fault{twice("spec.routes[1].destination")}},
		"the default route is refused":                  {routes("0.0.0.0/0 via 10.0.0.9"), []fault{invalid(destination)}},
		"a destination without length is refused":       {routes("172.16.0.1 via 10.0.0.9"), []fault{invalid(destination)}},
		"a destination with leading zeros is refused":   {routes("172.016.0.0/12 via 10.0.0.9"), []fault{invalid(destination)}},
		"a mapped destination is refused":               {routes("::ffff:172.16.0.0/108 via 10.0.0.9"), []fault{invalid(destination)}},
		"an empty route is required twice":              {routes(" via "), []fault{required(destination), required(hop)}},
		"a hop outside is refused":                      {routes("172.16.0.0/12 via 10.0.1.9"), []fault{invalid(hop)}},
		"a hop of the other family is refused":          {routes("172.16.0.0/12 via 2001:db8::1"), []fault{invalid(hop)}},
		"a route of the other family is refused by hop": {routes("2001:db8::/32 via 2001:db8::1"), []fault{invalid(hop)}},
		"a hop of another family than the destination":  {routes("2001:db8::/32 via 10.0.0.9"), []fault{invalid(hop)}},
		"a hop with a prefix length is refused":         {routes("172.16.0.0/12 via 10.0.0.9/24"), []fault{invalid(hop)}},
		"both ends are judged":                          {routes("x via y"), []fault{invalid(destination), invalid(hop)}},
		"a hop outside beside a bad destination":        {routes("x via 10.0.1.9"), []fault{invalid(destination), invalid(hop)}},
		"long texts are refused":                        {routes(strings.Repeat("1", 1<<20) + " via " + strings.Repeat("1", 1<<20)), []fault{tooLong(destination), tooLong(hop)}},
	} {
		t.Run(name, func(t *testing.T) {
			plan, errs := addressing.Parse(&samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", Routes: tc.routes}, specPath)
			checkFaults(t, errs, tc.want)
			if len(tc.want) > 0 {
				return
			}
			for i, route := range tc.routes {
				got := plan.Subnets[0].Routes[i]
				if got.Destination != netip.MustParsePrefix(route.Destination).Masked() || got.NextHop != netip.MustParseAddr(route.NextHop) {
					t.Errorf("route %d is %v, want %v", i, got, route)
				}
			}
		})
	}
}

// Lists are bounded before they are looked at, so that a huge one costs nothing.
func TestParseBoundsLists(t *testing.T) {
	spec := samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/8"}
	for i := range 10_000 {
		addr := netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}).String()
		spec.AllocationPools = append(spec.AllocationPools, pools(addr+"-"+addr)...)
		spec.DNSServers = append(spec.DNSServers, addr)
		spec.Routes = append(spec.Routes, routes(fmt.Sprintf("%s/32 via %s", addr, addr))...)
	}
	_, errs := addressing.Parse(&spec, specPath)
	checkFaults(t, errs, []fault{tooMany("spec.allocationPools"), tooMany("spec.dnsServers"), tooMany("spec.routes")})

	spec.AllocationPools, spec.DNSServers, spec.Routes = spec.AllocationPools[:16], spec.DNSServers[:8], spec.Routes[:32]
	_, errs = addressing.Parse(&spec, specPath)
	checkFaults(t, errs, nil)
}

func TestParseExplainsPoolWithGateway(t *testing.T) {
	for name, tc := range map[string]struct{ gateway, want string }{
		"a gateway that was set":    {"10.0.0.1", "the gateway 10.0.0.1;"},
		"a gateway that was chosen": {"", "the gateway, which is chosen since none is set, 10.0.0.1;"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := addressing.Parse(&samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", Gateway: tc.gateway, AllocationPools: pools("10.0.0.1-10.0.0.9")}, specPath)
			if got := text(errs); !strings.Contains(got, tc.want) {
				t.Errorf("%q does not say %q", got, tc.want)
			}
		})
	}
}
