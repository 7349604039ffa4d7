package addressing

import (
	"fmt"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// Limits is what a backend cannot serve of what a Network may ask for. The zero
// value forbids nothing.
type Limits struct {
	// Backend is named in the sentences, for example "host-local".
	Backend string
	// LongestIPv4 and LongestIPv6 are the longest prefix lengths that can be
	// served; 0 for any.
	LongestIPv4, LongestIPv6 int
	// NoDHCP, NoDNSServers and NoAdditionalSubnets name wishes that cannot be
	// fulfilled at all.
	NoDHCP, NoDNSServers, NoAdditionalSubnets bool
}

// Forbids tells, one sentence each, what of plan the backend cannot serve.
func (l Limits) Forbids(plan Plan) []string {
	var sentences []string
	say := func(path, format string, args ...any) {
		sentences = append(sentences, fmt.Sprintf("%s: %s cannot serve %s", path, l.Backend, fmt.Sprintf(format, args...)))
	}
	if len(plan.Subnets) > 1 && l.NoAdditionalSubnets {
		say(plan.Subnets[0].Path.Child("additionalSubnets").String(), "more than one subnet")
	}
	for _, subnet := range plan.Subnets {
		longest := l.LongestIPv4
		if subnet.Prefix.Addr().Is6() {
			longest = l.LongestIPv6
		}
		if longest > 0 && subnet.Prefix.Bits() > longest {
			say(subnet.Path.Child("cidr").String(), "%s; its longest prefix is /%d", subnet.Prefix, longest)
		}
		if l.NoDHCP && subnet.DHCP == samplecrdv1.DHCPEnabled {
			say(subnet.Path.Child("dhcp").String(), "DHCP; remove it or write Disabled")
		}
		if l.NoDNSServers && len(subnet.DNSServers) > 0 {
			say(subnet.Path.Child("dnsServers").String(), "DNS servers; remove them")
		}
	}
	return sentences
}
