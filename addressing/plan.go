// Package addressing holds the address rules of a Network. It is pure: it knows
// no client, context, clock or log, and webhook, controller and tests call the
// same functions. Strings are parsed once, by Parse; afterwards only typed
// values travel.
package addressing

import (
	"net/netip"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// Plan is a NetworkSpec in typed and canonical form, with every choice made that
// the spec leaves open.
type Plan struct {
	// Subnets holds spec's own subnet first, then the additional ones in order.
	Subnets []Subnet
	// MTU is the largest packet in bytes; 0 leaves it to the backend.
	MTU int32
	// ImportID is the backend's own name of a network to take over; "" to make one.
	ImportID string
}

// Subnet is one address range of a Plan.
type Subnet struct {
	// Path is where the subnet stands in the object: spec, or an entry of
	// spec.additionalSubnets.
	Path *field.Path
	// Written is the range as the user wrote it, host bits included.
	Written netip.Prefix
	// Prefix is the canonical range, host bits cleared.
	Prefix netip.Prefix
	// Gateway is the gateway in effect; the zero Addr when there is none.
	Gateway netip.Addr
	// Pools are the ranges to hand addresses out from; empty for all usable ones.
	Pools []netipx.IPRange
	// DNSServers are the name servers in order of preference.
	DNSServers []netip.Addr
	// Routes are the static routes, destinations in canonical form.
	Routes []Route
	// DHCP is "" where the backend chooses.
	DHCP samplecrdv1.DHCPMode
}

// Route is a static route of a Subnet.
type Route struct {
	// Destination is the canonical range that is reached.
	Destination netip.Prefix
	// NextHop is the router, an address inside the subnet.
	NextHop netip.Addr
	// written keeps host bits for the warning.
	written netip.Prefix
}

// Prefixes lists the canonical prefixes of all subnets, in order.
func (p Plan) Prefixes() []netip.Prefix {
	prefixes := make([]netip.Prefix, len(p.Subnets))
	for i := range p.Subnets {
		prefixes[i] = p.Subnets[i].Prefix
	}
	return prefixes
}

// Warnings tells, one sentence each, what was accepted although it is probably
// not what the user meant: ranges and route destinations with host bits set.
func (p Plan) Warnings() []string {
	var warnings []string
	warn := func(path *field.Path, written, canonical netip.Prefix) {
		if written != canonical {
			warnings = append(warnings, hostBits(path, written))
		}
	}
	for _, subnet := range p.Subnets {
		warn(subnet.Path.Child("cidr"), subnet.Written, subnet.Prefix)
		for i, route := range subnet.Routes {
			warn(subnet.Path.Child("routes").Index(i).Child("destination"), route.written, route.Destination)
		}
	}
	return warnings
}

// Usable gives the addresses of prefix that a gateway or a host may have: all but
// the network address and, of IPv4, the broadcast address. Of a /31, /32, /127
// and /128 every address is usable (RFC 3021, RFC 6164).
func Usable(prefix netip.Prefix) netipx.IPRange {
	all := netipx.RangeOfPrefix(prefix.Masked())
	if prefix.Addr().BitLen()-prefix.Bits() <= 1 {
		return all
	}
	last := all.To()
	if last.Is4() {
		last = last.Prev()
	}
	return netipx.IPRangeFrom(all.From().Next(), last)
}

// DefaultGateway is the gateway of a subnet that names none: the first usable
// address.
func DefaultGateway(prefix netip.Prefix) netip.Addr {
	return Usable(prefix).From()
}
