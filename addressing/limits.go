package addressing

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

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
	// LongestIPv4DHCP and LongestIPv6DHCP are the longest prefix lengths that DHCP can
	// be asked for on; 0 for any.
	LongestIPv4DHCP, LongestIPv6DHCP int
	// OneIPv4Gateway is of a backend whose router has one IPv4 address at most.
	OneIPv4Gateway bool
	// GatewaysAllOrNone is of a backend that gives every subnet a gateway as soon as
	// one has it.
	GatewaysAllOrNone bool
	// NoTinyIPv4Gateway is of a backend that can have no gateway on an IPv4 /31 or
	// /32, not even the one that is chosen where none is named.
	NoTinyIPv4Gateway bool
	// IPv6PairNeedsGateway is of a backend that cannot have an IPv6 /127 without a gateway.
	IPv6PairNeedsGateway bool
	// MostDNSServers and MostRoutes bound what a subnet may have of them; 0 for any
	// number.
	MostDNSServers, MostRoutes int
	// DNSOfFamily is of a backend that tells a subnet of DNS servers of its own address
	// family alone.
	DNSOfFamily bool
	// NoImport is of a backend that cannot take over a network that exists.
	NoImport bool
}

// noGateways is a remedy that always does.
const noGateways = "write None as the gateway of every subnet"

// sayer collects a sentence about a field of what is at path.
type sayer func(path *field.Path, name, format string, args ...any)

// Forbids tells, one sentence each, what of plan the backend cannot serve.
func (l Limits) Forbids(plan Plan) []string {
	var sentences []string
	say := func(path *field.Path, name, format string, args ...any) {
		sentences = append(sentences, fmt.Sprintf("%s: %s cannot serve %s", path.Child(name), l.Backend, fmt.Sprintf(format, args...)))
	}
	first, firstIPv4 := gateways(plan)
	for i := range plan.Subnets {
		subnet := &plan.Subnets[i]
		if longest := ofFamily(subnet.Prefix, l.LongestIPv4, l.LongestIPv6); longest > 0 && subnet.Prefix.Bits() > longest {
			say(subnet.Path, "cidr", "%s; its longest prefix is /%d", subnet.Prefix, longest)
		}
		l.forbidGateway(subnet, first, firstIPv4, say)
		l.forbidCounts(subnet, say)
		l.forbidDHCP(subnet, say)
	}
	if l.NoImport && plan.ImportID != "" {
		say(plan.Subnets[0].Path, "importID", "a network that exists, %s; remove importID to have one made", plan.ImportID)
	}
	return sentences
}

// forbidGateway looks at the gateway of one subnet beside the first of all and the
// first of IPv4.
func (l Limits) forbidGateway(subnet *Subnet, first, firstIPv4 netip.Addr, say sayer) {
	if l.NoTinyIPv4Gateway && subnet.Gateway.Is4() && subnet.Prefix.Bits() >= 31 {
		say(subnet.Path, "gateway", "a gateway, %s, on %s, which is too small for one; write None", subnet.Gateway, subnet.Prefix)
	}
	if l.IPv6PairNeedsGateway && !subnet.Gateway.IsValid() && subnet.Prefix.Addr().Is6() && subnet.Prefix.Bits() == 127 {
		say(subnet.Path, "gateway", "%s without a gateway; name one of its two addresses", subnet.Prefix)
	}
	if l.OneIPv4Gateway && subnet.Gateway.Is4() && subnet.Gateway != firstIPv4 {
		say(subnet.Path, "gateway", "a second IPv4 gateway, %s beside %s; %s, or make the subnet a Network of its own", subnet.Gateway, firstIPv4, noGateways)
	}
	if l.GatewaysAllOrNone && first.IsValid() && subnet.Prefix.IsValid() && !subnet.Gateway.IsValid() {
		instead := "or name a gateway"
		if l.OneIPv4Gateway && subnet.Prefix.Addr().Is4() && firstIPv4.IsValid() {
			instead = "or make the subnet a Network of its own"
		}
		say(subnet.Path, "gateway", "a subnet without a gateway beside one with %s; %s, %s", first, noGateways, instead)
	}
}

// forbidCounts looks at how many of something one subnet has.
func (l Limits) forbidCounts(subnet *Subnet, say sayer) {
	if n := len(subnet.DNSServers); l.MostDNSServers > 0 && n > l.MostDNSServers {
		say(subnet.Path, "dnsServers", "%d DNS servers on a subnet; name at most %d", n, l.MostDNSServers)
	}
	if l.DNSOfFamily {
		for i, server := range subnet.DNSServers {
			if server.Is4() != subnet.Prefix.Addr().Is4() {
				say(subnet.Path, fmt.Sprintf("dnsServers[%d]", i), "%s on an %s subnet; name it on one of its own family", server, family(subnet.Prefix))
			}
		}
	}
	if n := len(subnet.Routes); l.MostRoutes > 0 && n > l.MostRoutes {
		say(subnet.Path, "routes", "%d routes on a subnet; name at most %d", n, l.MostRoutes)
	}
}

// forbidDHCP looks at whether one subnet asks for DHCP. Where it leaves that to the
// backend, the backend has none where it can have none.
func (l Limits) forbidDHCP(subnet *Subnet, say sayer) {
	if subnet.DHCP != samplecrdv1.DHCPEnabled {
		return
	}
	longest := ofFamily(subnet.Prefix, l.LongestIPv4DHCP, l.LongestIPv6DHCP)
	switch {
	case l.NoDHCP:
		say(subnet.Path, "dhcp", "DHCP; remove it or write Disabled")
	case longest > 0 && subnet.Prefix.Bits() > longest:
		say(subnet.Path, "dhcp", "DHCP on %s, only up to a /%d; remove it or write Disabled", subnet.Prefix, longest)
	}
}

// ofFamily gives which of two bounds holds for prefix.
func ofFamily(prefix netip.Prefix, ipv4, ipv6 int) int {
	if prefix.Addr().Is6() {
		return ipv6
	}
	return ipv4
}

// gateways gives the first gateway of plan and the first of IPv4; the zero Addr
// where there is none.
func gateways(plan Plan) (first, firstIPv4 netip.Addr) {
	for i := range plan.Subnets {
		gateway := plan.Subnets[i].Gateway
		if !first.IsValid() {
			first = gateway
		}
		if !firstIPv4.IsValid() && gateway.Is4() {
			firstIPv4 = gateway
		}
	}
	return first, firstIPv4
}
