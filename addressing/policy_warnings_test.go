package addressing_test

import (
	"strings"
	"testing"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// A class of which nothing can be had is sound, and hardly meant.
func TestPolicyWarnsOfNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		limits []limit
		want   string // "" for none
	}{
		"a range as small as the smallest subnet":    {[]limit{allows("10.0.0.0/20"), lengths4(between(8, 20))}, ""},
		"a range that is smaller":                    {[]limit{allows("10.0.0.0/24"), lengths4(between(8, 20))}, "spec.prefixLengths.ipv4.max: no subnet can be had, since each of allowedCIDRs is smaller than a /20; write at least 24, or allow a larger range"},
		"the widest of several counts":               {[]limit{allows("10.0.0.0/24", "10.1.0.0/22", "10.2.0.0/26"), lengths4(between(8, 20))}, "spec.prefixLengths.ipv4.max: no subnet can be had, since each of allowedCIDRs is smaller than a /20; write at least 22, or allow a larger range"},
		"one that is large enough will do":           {[]limit{allows("10.0.0.0/24", "10.1.0.0/16"), lengths4(between(8, 20))}, ""},
		"the other family is another matter":         {[]limit{allows("2001:db8::/64"), lengths4(between(8, 20))}, ""},
		"without allowed ranges anything can be had": {[]limit{lengths4(between(8, 20))}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			policy, errs := addressing.ParsePolicy(classWith(tc.limits...))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if got := strings.Join(policy.Warnings(), "; "); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestDuplicatesSayOfWhat(t *testing.T) {
	_, errs := addressing.ParsePolicy(classWith(allows("10.0.0.0/8", "10.1.2.3/8")))
	if got, want := text(errs), `"10.1.2.3/8": is 10.0.0.0/8, as entry 0 is; leave one of them out`; !strings.Contains(got, want) {
		t.Errorf("%q does not say %s", got, want)
	}
	spec := subnets("10.0.0.0/24")
	spec.DNSServers = []string{"192.0.2.1", "2001:db8::1", "2001:DB8:0::1"}
	spec.Routes = []samplecrdv1.Route{{Destination: "172.16.0.0/12", NextHop: "10.0.0.9"}, {Destination: "172.16.9.9/12", NextHop: "10.0.0.8"}}
	_, errs = addressing.Parse(spec, specPath)
	for _, want := range []string{`"2001:DB8:0::1": is 2001:db8::1, as entry 1 is`, `"172.16.9.9/12": is 172.16.0.0/12, as entry 0 is`} {
		if got := text(errs); !strings.Contains(got, want) {
			t.Errorf("%q does not say %s", got, want)
		}
	}
}
