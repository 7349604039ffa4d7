package addressing_test

import (
	"net/netip"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

func parseGateway(cidr, gateway string) (addressing.Plan, field.ErrorList) {
	return addressing.Parse(&samplecrdv1.NetworkSpec{CIDR: cidr, Gateway: gateway}, specPath)
}

func TestParseAcceptsGateway(t *testing.T) {
	for name, tc := range map[string]struct{ cidr, gateway, want string }{
		"the first usable address":                          {"192.168.0.0/16", "192.168.0.1", "192.168.0.1"},
		"the last usable address":                           {"192.168.0.0/16", "192.168.255.254", "192.168.255.254"},
		"an address that ends in 255 inside the range":      {"192.168.0.0/16", "192.168.0.255", "192.168.0.255"},
		"an address that ends in 0 inside the range":        {"192.168.0.0/16", "192.168.1.0", "192.168.1.0"},
		"absent, the first usable address is chosen":        {"192.168.0.0/16", "", "192.168.0.1"},
		"None gives no gateway":                             {"192.168.0.0/16", "None", ""},
		"the updated seed: host bits and a gateway":         {"192.168.1.0/16", "192.168.1.1", "192.168.1.1"},
		"AN-02: the address before a hidden broadcast":      {"10.20.30.64/27", "10.20.30.94", "10.20.30.94"},
		"AN-11: absent, off an octet border":                {"192.0.2.64/26", "", "192.0.2.65"},
		"AN-23: the host that the range was written by":     {"192.168.2.225/28", "192.168.2.225", "192.168.2.225"},
		"AN-24: absent, long IPv6 spelling":                 {"2001:0db8:0000:001a:0000:0000:0000:0000/64", "", "2001:db8:0:1a::1"},
		"AN-26: the host that the range was written by":     {"10.0.0.5/24", "10.0.0.5", "10.0.0.5"},
		"AN-30: a link-local gateway in a link-local range": {"fe80::/64", "fe80::1", "fe80::1"},
		"AN-31: the first address of a /127":                {"2001:db8::/127", "2001:db8::", "2001:db8::"},
		"AN-31: the second address of a /127":               {"2001:db8::/127", "2001:db8::1", "2001:db8::1"},
		"AN-31: absent, of a /128":                          {"2001:db8::1/128", "", "2001:db8::1"},
		"AN-31: absent, of a /127":                          {"2001:db8::/127", "", "2001:db8::"},
		"AN-32: the first address of a /31":                 {"192.0.2.0/31", "192.0.2.0", "192.0.2.0"},
		"AN-32: the second address of a /31":                {"192.0.2.0/31", "192.0.2.1", "192.0.2.1"},
		"AN-32: absent, of a /31":                           {"192.0.2.0/31", "", "192.0.2.0"},
		"AN-33: absent, of a /31 written by its second":     {"192.0.2.1/31", "", "192.0.2.0"},
		"AN-33: the second address of a /31":                {"192.0.2.1/31", "192.0.2.1", "192.0.2.1"},
		"AN-34: absent, of a /30":                           {"203.0.113.4/30", "", "203.0.113.5"},
		"AN-34: absent, of a /32":                           {"203.0.113.7/32", "", "203.0.113.7"},
		"AN-37: empty is absent":                            {"192.168.30.0/24", "", "192.168.30.1"},
		"IPv6 has no broadcast address":                     {"2001:db8::/126", "2001:db8::3", "2001:db8::3"},
		"IPv6 in upper case":                                {"2001:db8::/64", "2001:DB8::A", "2001:db8::a"},
		"the longest legal spelling, 45 characters":         {"::1:0:0:0/80", "0000:0000:0000:0000:0001:0000:192.168.100.128", "::1:0:c0a8:6480"},
	} {
		t.Run(name, func(t *testing.T) {
			plan, errs := parseGateway(tc.cidr, tc.gateway)
			if len(errs) > 0 {
				t.Fatalf("refused: %v", errs)
			}
			want := netip.Addr{}
			if tc.want != "" {
				want = netip.MustParseAddr(tc.want)
			}
			if got := plan.Subnets[0].Gateway; got != want {
				t.Errorf("gateway is %s, want %s", got, want)
			}
		})
	}
}

func TestParseRefusesGateway(t *testing.T) {
	for name, tc := range map[string]struct {
		cidr     string
		gateways []string
	}{
		"AN-02: the broadcast address of a /27, and addresses outside": {"10.20.30.64/27", []string{"10.20.30.95", "10.20.30.127", "10.20.30.255", "10.20.30.64", "10.20.30.63", "10.20.30.96"}},
		"AN-08: a gateway outside the prefix":                          {"172.18.0.0/24", []string{"192.168.128.2"}},
		"AN-14: a zone, also one that swallows a slash":                {"fe80::/64", []string{"fe80::1234:1%net0/104", "fe80::1%eth0", "fe80::1%", "%eth0"}},
		"AN-16: leading zeros in octets":                               {"10.0.0.0/24", []string{"10.0.0.01", "10.0.0.001", "012.8.0.1", "10.00.0.1"}},
		"AN-23: the ends of a range with host bits":                    {"192.168.2.225/28", []string{"192.168.2.239", "192.168.2.224"}},
		"AN-29: another subnet on the same link":                       {"2001:db8:5:333::/64", []string{"2001:db8:5::1"}},
		"AN-30: link-local, outside the prefix":                        {"2001:db8:a10:710::/64", []string{"fe80::1"}},
		"AN-31: outside a /127":                                        {"2001:db8::/127", []string{"2001:db8::2"}},
		"AN-33: outside a /31":                                         {"192.0.2.1/31", []string{"192.0.2.2"}},
		"AN-34: outside a /32":                                         {"203.0.113.7/32", []string{"203.0.113.8"}},
		"AN-36: a prefix length on the gateway":                        {"172.26.20.0/28", []string{"172.26.20.1/28", "172.26.20.1/", "172.26.20.1/99"}},
		"AN-50: a pair of gateways":                                    {"10.0.0.0/16", []string{"10.0.0.1,2001:db8::1"}},
		"the network address":                                          {"192.168.0.0/16", []string{"192.168.0.0"}},
		"the broadcast address":                                        {"192.168.0.0/16", []string{"192.168.255.255"}},
		"the all-zero address of an IPv6 range":                        {"2001:db8::/64", []string{"2001:db8::", "2001:db8:0::0"}},
		"the other family":                                             {"10.0.0.0/24", []string{"2001:db8::1", "::a00:1"}},
		"the other family, IPv6":                                       {"2001:db8::/64", []string{"10.0.0.1"}},
		"IPv4 mapped into IPv6":                                        {"10.0.0.0/24", []string{"::ffff:10.0.0.1", "::ffff:a00:1"}},
		"white space":                                                  {"10.0.0.0/24", []string{"10.0.0.1\n", " 10.0.0.1", "10.0.0.1 ", "10.0.0. 1", " "}},
		"what only looks like None":                                    {"10.0.0.0/24", []string{"none", "NONE", "null", "-", "None ", "nil", "~"}},
		"what is no address":                                           {"10.0.0.0/24", []string{"10.0.0", "10.0.0.0.1", "10.0.0.256", "10.0.0.-1", "10.0.0.+1", "gateway", "10.0.0.1:80", "[2001:db8::1]", "167772161", "0x0a.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, gateway := range tc.gateways {
				_, errs := parseGateway(tc.cidr, gateway)
				if got := faultsOf(errs); len(got) != 1 || got[0] != invalid("spec.gateway") {
					t.Errorf("%q gives %v, want one invalid spec.gateway", gateway, errs)
					continue
				}
				if errs[0].BadValue != gateway {
					t.Errorf("%q is echoed as %q", gateway, errs[0].BadValue)
				}
			}
		})
	}
}

func TestParseBoundsGateway(t *testing.T) {
	for name, gateway := range map[string]string{
		"forty-six characters": "00000:0000:0000:0000:0000:0000:192.168.100.128",
		"a megabyte":           strings.Repeat("1", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := parseGateway("10.0.0.0/24", gateway)
			if got := faultsOf(errs); len(got) != 1 || got[0] != tooLong("spec.gateway") {
				t.Errorf("got %.200s, want too long", text(errs))
			}
			if got := text(errs); len(got) > 300 {
				t.Errorf("the message has %d characters", len(got))
			}
		})
	}
}

// While the range is not understood, a gateway is judged by its text alone.
func TestParseGatewayBesideBadCIDR(t *testing.T) {
	for name, tc := range map[string]struct {
		gateway string
		want    []fault
	}{
		"a sound gateway is not blamed":   {"10.0.0.1", []fault{invalid("spec.cidr")}},
		"an absent gateway is not blamed": {"", []fault{invalid("spec.cidr")}},
		"a bad gateway is blamed as well": {"10.0.0.01", []fault{invalid("spec.cidr"), invalid("spec.gateway")}},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := parseGateway("10.0.0/24", tc.gateway)
			checkFaults(t, errs, tc.want)
		})
	}
}

func TestParseExplainsGateway(t *testing.T) {
	const usable = "use an address from 10.0.1.1 to 10.0.1.254"
	for name, tc := range map[string]struct {
		gateway string
		want    []string
	}{
		"AN-08: outside, with the range and what would do": {"192.168.128.2", []string{`"192.168.128.2"`, "not inside 10.0.1.0/24", usable}},
		"AN-02: the broadcast address is called so":        {"10.0.1.255", []string{"broadcast address of 10.0.1.0/24", usable}},
		"AN-23: the network address is called so":          {"10.0.1.0", []string{"network address of 10.0.1.0/24", usable}},
		"AN-29: another family is called so":               {"2001:db8::1", []string{"not inside 10.0.1.0/24", "family", usable}},
		"AN-36: the prefix length is to be dropped":        {"10.0.1.1/28", []string{`drop "/28"`}},
		"AN-16: leading zeros are named":                   {"10.0.1.01", []string{"leading zeros", usable}},
		"None is offered to who writes none":               {"none", []string{"None for no gateway", usable}},
		"a mapped address is offered as IPv4":              {"::ffff:10.0.1.1", []string{"use 10.0.1.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := parseGateway("10.0.1.0/24", tc.gateway)
			for _, want := range tc.want {
				if got := text(errs); !strings.Contains(got, want) {
					t.Errorf("%q does not say %q", got, want)
				}
			}
		})
	}
}

// checkFaults compares kinds and places, in order.
func checkFaults(t *testing.T, errs field.ErrorList, want []fault) {
	t.Helper()
	got := faultsOf(errs)
	if len(got) != len(want) {
		t.Fatalf("got %d faults, want %d:\n%s\nwant %v", len(got), len(want), text(errs), want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("fault %d is %v, want %v", i, got[i], want[i])
		}
	}
}
