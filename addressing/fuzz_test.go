package addressing_test

import (
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// seeds are the spellings of cases from public bug reports: ranges, addresses, and
// what people write in their place.
var seeds = []struct{ cidr, gateway string }{
	{"192.168.0.0/16", "192.168.0.1"},
	{"192.168.1.0/16", "192.168.1.1"},
	{"10.20.30.64/27", "10.20.30.95"},                     // AN-02
	{"10.20.30.64/27", "10.20.30.94"},                     // AN-02
	{"10.0.0/24", ""},                                     // AN-05
	{"10.0.0.0/", "None"},                                 // AN-05
	{"10.0.0.0/24/8", ""},                                 // AN-05
	{"2001:db8:::/64", ""},                                // AN-05
	{`10.0.0.0\24`, ""},                                   // AN-05
	{"172.18.0.0/24", "192.168.128.2"},                    // AN-08
	{"192.0.2.64/26", ""},                                 // AN-11
	{"192.0.2.0/+24", ""},                                 // AN-12
	{"192.0.2.0/000024", ""},                              // AN-12
	{"2001:db8::/064", ""},                                // AN-12
	{"192.0.2.0/ 24", ""},                                 // AN-12
	{"fe80::/64", "fe80::1234:1%net0/104"},                // AN-14
	{"010.0.0.0/8", ""},                                   // AN-15
	{"10.0.0.0/24", "10.0.0.01"},                          // AN-16
	{"10.0.00.00/24", "10.0.0.1"},                         // AN-17
	{"10.0.0.0/16\n", "10.0.0.1"},                         // AN-21
	{"192.168.2.225/28", "192.168.2.239"},                 // AN-23
	{"2001:0db8:0000:001a:0000:0000:0000:0000/64", ""},    // AN-24
	{"10.0.0.5/24", "10.0.0.5"},                           // AN-26
	{"2001:db8:5:333::/64", "2001:db8:5::1"},              // AN-29
	{"2001:db8:a10:710::/64", "fe80::1"},                  // AN-30
	{"2001:db8::/127", "2001:db8::"},                      // AN-31
	{"2001:db8::1/128", ""},                               // AN-31
	{"192.0.2.0/31", "192.0.2.1"},                         // AN-32
	{"192.0.2.1/31", "192.0.2.2"},                         // AN-33
	{"203.0.113.7/32", "203.0.113.8"},                     // AN-34
	{"localhost/32", "localhost"},                         // AN-35
	{"172.26.20.0/28", "172.26.20.1/28"},                  // AN-36
	{"192.0.2.1/50000000", ""},                            // AN-43
	{"2001:db8::/99999999999999999999", ""},               // AN-43
	{"10.0.11.120-10.0.11.159", ""},                       // AN-44
	{"10.0.0.0/0", ""},                                    // AN-48
	{"10.0.0.0/16,2001:db8::/64", "10.0.0.1,2001:db8::1"}, // AN-50
	{"::ffff:a00:0/104", "::ffff:10.0.0.1"},
	{"0000:0000:0000:0000:0001:0000:192.168.100.128/128", "0000:0000:0000:0000:0001:0000:192.168.100.128"},
}

// FuzzParse holds Parse to its promises for any text.
func FuzzParse(f *testing.F) {
	for i, seed := range seeds {
		other := seeds[(i+1)%len(seeds)]
		f.Add(seed.cidr, seed.gateway, seed.gateway, seed.gateway, other.gateway, other.cidr, seed.gateway, other.cidr, other.gateway, int32(1500), "Enabled", seed.gateway)
	}
	f.Add("10.0.0.0/24", "10.0.0.1", "10.0.0.2", "10.0.0.254", "192.0.2.53", "172.16.9.9/12", "10.0.0.9", "2001:db8::1/64", "", int32(1280), "Disabled", "4f9a5b1e-1c5c-4b7e-9d0a-2f1f8f0c7a11")
	f.Add("10.0.0.0/24", "", "10.0.0.0", "10.0.0.1", "", "0.0.0.0/0", "10.0.1.9", "10.0.0.0/25", "None", int32(-1), "on", "an id")

	f.Fuzz(func(t *testing.T, cidr, gateway, start, end, server, destination, hop, cidr2, gateway2 string, mtu int32, dhcp, importID string) {
		spec := &samplecrdv1.NetworkSpec{
			CIDR: cidr, Gateway: gateway,
			DHCP:              new(samplecrdv1.DHCPMode(dhcp)),
			AdditionalSubnets: []samplecrdv1.SubnetSpec{{CIDR: cidr2, Gateway: gateway2}},
			MTU:               &mtu,
			ImportID:          importID,
		}
		// An empty argument leaves the field out, so that little is enough to be sound.
		if start != "" || end != "" {
			spec.AllocationPools = []samplecrdv1.AddressRange{{Start: start, End: end}}
		}
		if server != "" {
			spec.DNSServers = []string{server}
		}
		if destination != "" || hop != "" {
			spec.Routes = []samplecrdv1.Route{{Destination: destination, NextHop: hop}}
		}
		if cidr2 == "" && gateway2 == "" {
			spec.AdditionalSubnets = nil
		}
		if dhcp == "" {
			spec.DHCP = nil
		}
		before := spec.DeepCopy()
		plan, errs := addressing.Parse(spec, specPath)
		if !reflect.DeepEqual(spec, before) {
			t.Error("the spec was changed")
		}
		if len(errs) > 0 {
			checkRefusal(t, errs, spec)
			return
		}
		checkContainment(t, spec, plan)
		checkReparse(t, plan)
		for _, warning := range slices.Concat(plan.Warnings(), bridgeLimits.Forbids(plan), cloudLimits.Forbids(plan)) {
			if len(warning) > maxWarning {
				t.Errorf("a warning of %d characters: %s", len(warning), warning)
			}
		}
	})
}

// checkRefusal: every fault has a place in the spec, a rule that knows what it
// reads, and a message that fits a terminal.
func checkRefusal(t *testing.T, errs field.ErrorList, spec *samplecrdv1.NetworkSpec) {
	for _, err := range errs {
		if !strings.HasPrefix(err.Field, "spec.") {
			t.Errorf("%v stands outside the spec", err)
		}
		// An unknown rule would not forgive, even where nothing changed.
		if !addressing.Unchanged(err, spec, spec) {
			t.Errorf("%v is of no known rule (%q)", err, err.Origin)
		}
		// Quoting may make four characters of each byte that was written.
		if got := len(err.Error()); got > 256+4*64 {
			t.Errorf("a message of %d characters: %v", got, err)
		}
	}
}

// checkContainment asks net/netip itself.
func checkContainment(t *testing.T, spec *samplecrdv1.NetworkSpec, plan addressing.Plan) {
	written := append([]samplecrdv1.SubnetSpec{spec.Subnet()}, spec.AdditionalSubnets...)
	for i, subnet := range plan.Subnets {
		prefix, err := netip.ParsePrefix(written[i].CIDR)
		if err != nil {
			t.Fatalf("netip refuses %q, which was accepted: %v", written[i].CIDR, err)
		}
		if subnet.Prefix != prefix.Masked() || subnet.Written != prefix {
			t.Errorf("%q became %s", written[i].CIDR, subnet.Prefix)
		}
		if addr, err := netip.ParseAddr(written[i].Gateway); err == nil && addr != subnet.Gateway {
			t.Errorf("gateway %q became %s", written[i].Gateway, subnet.Gateway)
		}
		inside := []netip.Addr{}
		if subnet.Gateway.IsValid() {
			inside = append(inside, subnet.Gateway)
		}
		for _, pool := range subnet.Pools {
			inside = append(inside, pool.From(), pool.To())
			if subnet.Gateway.IsValid() && pool.Contains(subnet.Gateway) {
				t.Errorf("pool %s holds gateway %s", pool, subnet.Gateway)
			}
		}
		for _, route := range subnet.Routes {
			inside = append(inside, route.NextHop)
		}
		for _, addr := range inside {
			if !prefix.Contains(addr) || addr.Zone() != "" || addr.Is4In6() {
				t.Errorf("%s is not plainly inside %s", addr, prefix)
			}
		}
		for _, other := range plan.Subnets[:i] {
			if other.Prefix.Overlaps(subnet.Prefix) {
				t.Errorf("%s and %s overlap", other.Prefix, subnet.Prefix)
			}
		}
	}
}

// checkReparse writes a plan out in canonical form, which must mean the same.
func checkReparse(t *testing.T, plan addressing.Plan) {
	spec := &samplecrdv1.NetworkSpec{ImportID: plan.ImportID}
	for i, subnet := range plan.Subnets {
		written := samplecrdv1.SubnetSpec{CIDR: subnet.Prefix.String(), Gateway: samplecrdv1.GatewayNone}
		if subnet.Gateway.IsValid() {
			written.Gateway = subnet.Gateway.String()
		}
		for _, pool := range subnet.Pools {
			written.AllocationPools = append(written.AllocationPools, samplecrdv1.AddressRange{Start: pool.From().String(), End: pool.To().String()})
		}
		for _, server := range subnet.DNSServers {
			written.DNSServers = append(written.DNSServers, server.String())
		}
		for _, route := range subnet.Routes {
			written.Routes = append(written.Routes, samplecrdv1.Route{Destination: route.Destination.String(), NextHop: route.NextHop.String()})
		}
		if subnet.DHCP != "" {
			written.DHCP = &subnet.DHCP
		}
		if i == 0 {
			spec.CIDR, spec.Gateway, spec.AllocationPools = written.CIDR, written.Gateway, written.AllocationPools
			spec.DNSServers, spec.Routes, spec.DHCP = written.DNSServers, written.Routes, written.DHCP
		} else {
			spec.AdditionalSubnets = append(spec.AdditionalSubnets, written)
		}
	}
	if plan.MTU != 0 {
		spec.MTU = &plan.MTU
	}
	again, errs := addressing.Parse(spec, specPath)
	if len(errs) > 0 {
		t.Fatalf("the canonical form is refused: %v", errs)
	}
	if len(again.Warnings()) > 0 {
		t.Errorf("the canonical form draws warnings: %q", again.Warnings())
	}
	// What was written is the one thing that may differ; it is canonical now.
	if got, want := withoutSpelling(again), withoutSpelling(plan); !reflect.DeepEqual(got, want) {
		t.Errorf("the canonical form means %+v, not %+v", got, want)
	}
}

// withoutSpelling drops from a plan what it only knows for its messages.
func withoutSpelling(plan addressing.Plan) addressing.Plan {
	subnets := make([]addressing.Subnet, len(plan.Subnets))
	for i, subnet := range plan.Subnets {
		subnet.Path, subnet.Written = nil, netip.Prefix{}
		routes := subnet.Routes
		subnet.Routes = nil
		for _, route := range routes {
			subnet.Routes = append(subnet.Routes, addressing.Route{Destination: route.Destination, NextHop: route.NextHop})
		}
		subnets[i] = subnet
	}
	return addressing.Plan{Subnets: subnets, MTU: plan.MTU, ImportID: plan.ImportID}
}
