package multus

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

var update = flag.Bool("update", false, "write what config gives to testdata")

const uid = types.UID("0f1e2d3c-4b5a-4697-8877-665544332211")

// configCases are configurations of every kind, by the name of their file.
var configCases = map[string]struct {
	spec  samplecrdv1.NetworkSpec
	class samplecrdv1.MultusSpec
}{
	"seed":         {spec: of(samplecrdv1.SubnetSpec{CIDR: "192.168.0.0/16", Gateway: "192.168.0.1"})},
	"seed-updated": {spec: of(samplecrdv1.SubnetSpec{CIDR: "192.168.1.0/16", Gateway: "192.168.1.1"})},
	"no-gateway":   {spec: of(samplecrdv1.SubnetSpec{CIDR: "10.20.30.64/27", Gateway: samplecrdv1.GatewayNone})},
	"ipv6":         {spec: of(samplecrdv1.SubnetSpec{CIDR: "2001:0DB8:0000:001a::/64"})},
	"vlan":         {spec: of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24"}), class: samplecrdv1.MultusSpec{VLANID: new(int32(100))}},
	"full": {spec: samplecrdv1.NetworkSpec{
		CIDR: "10.0.0.0/24", Gateway: "10.0.0.254",
		AllocationPools: []samplecrdv1.AddressRange{{Start: "10.0.0.10", End: "10.0.0.19"}, {Start: "10.0.0.30", End: "10.0.0.39"}},
		Routes:          []samplecrdv1.Route{{Destination: "172.16.9.9/12", NextHop: "10.0.0.9"}, {Destination: "192.0.2.0/24", NextHop: "10.0.0.254"}},
		DHCP:            new(samplecrdv1.DHCPDisabled),
		MTU:             new(int32(9000)),
	}},
	"pools-no-gateway": {spec: of(samplecrdv1.SubnetSpec{
		CIDR: "10.0.0.0/24", Gateway: samplecrdv1.GatewayNone,
		AllocationPools: []samplecrdv1.AddressRange{{Start: "10.0.0.1", End: "10.0.0.254"}},
	})},
	"dual-stack": {spec: samplecrdv1.NetworkSpec{
		CIDR: "10.0.0.0/24", DNSServers: []string{"192.0.2.53", "2001:db8::53"},
		AllocationPools: []samplecrdv1.AddressRange{{Start: "10.0.0.10", End: "10.0.0.19"}, {Start: "10.0.0.30", End: "10.0.0.39"}},
		Routes:          []samplecrdv1.Route{{Destination: "172.16.0.0/12", NextHop: "10.0.0.9"}},
		MTU:             new(int32(1400)),
		AdditionalSubnets: []samplecrdv1.SubnetSpec{{
			CIDR: "2001:db8:0:1a::/64", Gateway: "2001:db8:0:1a::fe", DNSServers: []string{"2001:DB8:0::53", "192.0.2.54"},
			AllocationPools: []samplecrdv1.AddressRange{{Start: "2001:db8:0:1a::100", End: "2001:db8:0:1a::1ff"}},
			Routes:          []samplecrdv1.Route{{Destination: "2001:db8:1::/48", NextHop: "2001:db8:0:1a::9"}},
		}},
	}},
	"several-of-ipv6": {spec: samplecrdv1.NetworkSpec{CIDR: "2001:db8:0:2::/64", AdditionalSubnets: []samplecrdv1.SubnetSpec{
		{CIDR: "10.0.0.0/24"}, {CIDR: "2001:db8:0:1::/64"},
	}}},
	"several-no-gateway": {spec: samplecrdv1.NetworkSpec{CIDR: "10.0.1.0/24", Gateway: samplecrdv1.GatewayNone, AdditionalSubnets: []samplecrdv1.SubnetSpec{
		{CIDR: "2001:db8::/64", Gateway: samplecrdv1.GatewayNone}, {CIDR: "10.0.0.0/24", Gateway: samplecrdv1.GatewayNone},
	}}},
}

func of(subnet samplecrdv1.SubnetSpec) samplecrdv1.NetworkSpec {
	return samplecrdv1.NetworkSpec{CIDR: subnet.CIDR, Gateway: subnet.Gateway, AllocationPools: subnet.AllocationPools, DNSServers: subnet.DNSServers, Routes: subnet.Routes, DHCP: subnet.DHCP}
}

func planOf(t *testing.T, spec samplecrdv1.NetworkSpec) addressing.Plan {
	t.Helper()
	plan, errs := addressing.Parse(&spec, field.NewPath("spec"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return plan
}

// A change of what is written re-creates interfaces on nodes, so it is looked at:
// run with -update, then read the diff.
func TestConfig(t *testing.T) {
	for name, tc := range configCases {
		t.Run(name, func(t *testing.T) {
			tc.class.Type, tc.class.IPAM = samplecrdv1.MultusBridge, samplecrdv1.IPAMHostLocal
			got, err := config(uid, &tc.class, planOf(t, tc.spec))
			if err != nil {
				t.Fatal(err)
			}
			again, err := config(uid, &tc.class, planOf(t, tc.spec))
			if err != nil || again != got {
				t.Errorf("the same asked twice gives %q and %q, %v", got, again, err)
			}
			var pretty any
			if err := json.Unmarshal([]byte(got), &pretty); err != nil {
				t.Fatal(err)
			}
			text, err := json.MarshalIndent(pretty, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name+".json")
			if *update {
				if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(want) != string(text)+"\n" {
				t.Errorf("%s says\n%s\nnot\n%s", file, want, text)
			}
		})
	}
}

// Golden files could be wrong together; these hold for every configuration.
func TestConfigKeepsItsPromises(t *testing.T) {
	for name, tc := range configCases {
		t.Run(name, func(t *testing.T) {
			plan := planOf(t, tc.spec)
			text, err := config(uid, &tc.class, plan)
			if err != nil {
				t.Fatal(err)
			}
			var cni bridgeConfig
			if err := json.Unmarshal([]byte(text), &cni); err != nil {
				t.Fatal(err)
			}
			if len(cni.Bridge) > 15 {
				t.Errorf("Linux has no interface called %s", cni.Bridge)
			}
			if cni.Name != string(uid) {
				t.Errorf("the leases lie under %q, where another Network's may be", cni.Name)
			}
			if len(cni.IPAM.Ranges) != len(plan.Subnets) {
				t.Fatalf("a Pod gets %d addresses, want %d", len(cni.IPAM.Ranges), len(plan.Subnets))
			}
			for i, subnet := range plan.Subnets {
				if has := subnet.Gateway.IsValid(); cni.IsGateway != has || cni.ForceAddress != has {
					t.Errorf("isGateway is %t and forceAddress %t, a gateway is %s", cni.IsGateway, cni.ForceAddress, subnet.Gateway)
				}
				for _, ranges := range cni.IPAM.Ranges[i] {
					checkRange(t, ranges, subnet.Prefix, subnet.Gateway)
				}
			}
			if forbidden := (&Provider{}).Limits(nil).Forbids(plan); len(forbidden) > 0 {
				t.Errorf("what is written is not served: %v", forbidden)
			}
		})
	}
}

// checkRange: the range is of the subnet, and does not hand out the gateway.
// host-local never allocates a range's own gateway, so that a range is safe when
// it names it, or does not hold it.
func checkRange(t *testing.T, ranges ipamRange, prefix netip.Prefix, gateway netip.Addr) {
	t.Helper()
	if ranges.Subnet != prefix.String() {
		t.Errorf("the range is of %s, want %s", ranges.Subnet, prefix)
	}
	if want := addressText(gateway); ranges.Gateway != want {
		t.Errorf("the range keeps %q free, want %q", ranges.Gateway, want)
	}
	for _, end := range []string{ranges.RangeStart, ranges.RangeEnd} {
		if end == "" {
			continue
		}
		if addr, err := netip.ParseAddr(end); err != nil || !prefix.Contains(addr) || addr == gateway {
			t.Errorf("the range ends at %s", end)
		}
	}
}

// While a Network has no claims there is nothing to hand out, and a Pod waits.
func TestConfigWithoutSubnets(t *testing.T) {
	text, err := config(uid, &samplecrdv1.MultusSpec{}, addressing.Plan{})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"cniVersion":"1.0.0","name":%q,"type":"bridge","bridge":%q,"ipam":{"type":"host-local","ranges":[]}}`, uid, bridgeName(uid))
	if text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

func TestBridgeName(t *testing.T) {
	for name, tc := range map[string]struct {
		uid  types.UID
		want string
	}{
		"a UID of Kubernetes":       {uid, "br-0f1e2d3c4b5a"},
		"a short one":               {"abc", "br-abc"},
		"another Network's differs": {"0f1e2d3c-4b5b-4697-8877-665544332211", "br-0f1e2d3c4b5b"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := bridgeName(tc.uid); got != tc.want || len(got) > 15 {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	for name, tc := range map[string]struct {
		spec samplecrdv1.NetworkSpec
		want int
	}{
		"the seed":              {of(samplecrdv1.SubnetSpec{CIDR: "192.168.0.0/16"}), 0},
		"all that can be had":   {configCases["full"].spec, 0},
		"a /30":                 {of(samplecrdv1.SubnetSpec{CIDR: "203.0.113.4/30"}), 0},
		"AN-34: a /32":          {of(samplecrdv1.SubnetSpec{CIDR: "203.0.113.7/32"}), 1},
		"a /126":                {of(samplecrdv1.SubnetSpec{CIDR: "2001:db8::/126"}), 0},
		"a /127":                {of(samplecrdv1.SubnetSpec{CIDR: "2001:db8::/127"}), 1},
		"DHCP":                  {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", DHCP: new(samplecrdv1.DHCPEnabled)}), 1},
		"name servers":          {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", DNSServers: []string{"192.0.2.53"}}), 0},
		"both families":         {samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", AdditionalSubnets: []samplecrdv1.SubnetSpec{{CIDR: "2001:db8::/64"}}}, 0},
		"a second IPv4 gateway": {samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", AdditionalSubnets: []samplecrdv1.SubnetSpec{{CIDR: "10.0.1.0/24"}}}, 1},
		"a subnet without a gateway beside one with": {samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", AdditionalSubnets: []samplecrdv1.SubnetSpec{
			{CIDR: "2001:db8::/64", Gateway: samplecrdv1.GatewayNone},
		}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&Provider{}).Limits(nil).Forbids(planOf(t, tc.spec)); len(got) != tc.want {
				t.Errorf("got %q, want %d", got, tc.want)
			}
		})
	}
}
