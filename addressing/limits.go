package addressing

import (
	"fmt"
	"net/netip"

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
	// NoDHCP is of a backend without a DHCP server.
	NoDHCP bool
	// OneIPv4Gateway is of a backend whose router has one IPv4 address at most.
	OneIPv4Gateway bool
	// GatewaysAllOrNone is of a backend that gives every subnet a gateway as soon as
	// one has it.
	GatewaysAllOrNone bool
}

// noGateways is a remedy that always does.
const noGateways = "write None as the gateway of every subnet"

// Forbids tells, one sentence each, what of plan the backend cannot serve.
func (l Limits) Forbids(plan Plan) []string {
	var sentences []string
	first, firstIPv4 := gateways(plan)
	for _, subnet := range plan.Subnets {
		say := func(name, format string, args ...any) {
			sentences = append(sentences, fmt.Sprintf("%s: %s cannot serve %s", subnet.Path.Child(name), l.Backend, fmt.Sprintf(format, args...)))
		}
		if longest := l.longest(subnet.Prefix); longest > 0 && subnet.Prefix.Bits() > longest {
			say("cidr", "%s; its longest prefix is /%d", subnet.Prefix, longest)
		}
		if l.OneIPv4Gateway && subnet.Gateway.Is4() && subnet.Gateway != firstIPv4 {
			say("gateway", "a second IPv4 gateway, %s beside %s; %s, or make the subnet a Network of its own", subnet.Gateway, firstIPv4, noGateways)
		}
		if l.GatewaysAllOrNone && first.IsValid() && subnet.Prefix.IsValid() && !subnet.Gateway.IsValid() {
			instead := "or name a gateway"
			if l.OneIPv4Gateway && subnet.Prefix.Addr().Is4() && firstIPv4.IsValid() {
				instead = "or make the subnet a Network of its own"
			}
			say("gateway", "a subnet without a gateway beside one with %s; %s, %s", first, noGateways, instead)
		}
		if l.NoDHCP && subnet.DHCP == samplecrdv1.DHCPEnabled {
			say("dhcp", "DHCP; remove it or write Disabled")
		}
	}
	return sentences
}

// longest is the longest prefix length of prefix's family; 0 for any.
func (l Limits) longest(prefix netip.Prefix) int {
	if prefix.Addr().Is6() {
		return l.LongestIPv6
	}
	return l.LongestIPv4
}

// gateways gives the first gateway of plan and the first of IPv4; the zero Addr
// where there is none.
func gateways(plan Plan) (first, firstIPv4 netip.Addr) {
	for _, subnet := range plan.Subnets {
		if !first.IsValid() {
			first = subnet.Gateway
		}
		if !firstIPv4.IsValid() && subnet.Gateway.Is4() {
			firstIPv4 = subnet.Gateway
		}
	}
	return first, firstIPv4
}
