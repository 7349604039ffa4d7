package addressing

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// Bounds of the lists of a spec and of its MTU, as the CRD has them.
const (
	maxAdditionalSubnets = 7
	maxPools             = 16
	maxDNSServers        = 8
	maxRoutes            = 32
	minMTU, maxMTU       = 68, 9216
	// minMTUv6 is the smallest link MTU of IPv6 (RFC 8200 section 5).
	minMTUv6 = 1280
)

// Parse judges the addresses of spec, which stands at path, and gives them in
// typed form. Every fault is reported at once, in the order of the object's
// fields, each with the path of its field, the bad value and what would be right;
// its Origin is the rule that was broken (see Reads). With faults the Plan holds
// what could be understood and must not be acted on.
func Parse(spec *samplecrdv1.NetworkSpec, path *field.Path) (Plan, field.ErrorList) {
	var plan Plan
	own := spec.Subnet()
	first, errs := parseSubnet(&own, path)
	plan.Subnets = append(plan.Subnets, first)

	additional := path.Child("additionalSubnets")
	if n := len(spec.AdditionalSubnets); n > maxAdditionalSubnets {
		errs = append(errs, field.TooMany(additional, n, maxAdditionalSubnets).WithOrigin(ruleAdditionalSubnets))
	}
	for i := range min(len(spec.AdditionalSubnets), maxAdditionalSubnets) {
		subnet, faults := parseSubnet(&spec.AdditionalSubnets[i], additional.Index(i))
		errs = append(errs, faults...)
		if other := overlapping(plan.Subnets, subnet.Prefix); other != nil {
			errs = append(errs, field.Invalid(additional.Index(i).Child("cidr"), spec.AdditionalSubnets[i].CIDR,
				fmt.Sprintf("overlaps %s of the same Network (%s); use a range apart from it", other.Prefix, other.Path.Child("cidr"))).WithOrigin(ruleSubnetsApart))
		}
		plan.Subnets = append(plan.Subnets, subnet)
	}

	if spec.MTU != nil {
		plan.MTU = *spec.MTU
		errs = append(errs, validateMTU(plan, path.Child("mtu"))...)
	}
	return plan, errs
}

// ParsePrefix reads a canonical prefix from a status. It returns the zero Prefix
// for anything else.
func ParsePrefix(text string) netip.Prefix {
	prefix, err := parseCIDR(text, nil)
	if err != nil {
		return netip.Prefix{}
	}
	return prefix.Masked()
}

func overlapping(subnets []Subnet, prefix netip.Prefix) *Subnet {
	for i := range subnets {
		if prefix.IsValid() && subnets[i].Prefix.IsValid() && subnets[i].Prefix.Overlaps(prefix) {
			return &subnets[i]
		}
	}
	return nil
}

func validateMTU(plan Plan, path *field.Path) field.ErrorList {
	if plan.MTU < minMTU || plan.MTU > maxMTU {
		return field.ErrorList{field.Invalid(path, plan.MTU, fmt.Sprintf("must be from %d to %d", minMTU, maxMTU)).WithOrigin(ruleMTU)}
	}
	for _, subnet := range plan.Subnets {
		if subnet.Prefix.IsValid() && subnet.Prefix.Addr().Is6() && plan.MTU < minMTUv6 {
			return field.ErrorList{field.Invalid(path, plan.MTU,
				fmt.Sprintf("must be at least %d, since %s is IPv6", minMTUv6, subnet.Prefix)).WithOrigin(ruleMTUv6)}
		}
	}
	return nil
}

// parseSubnet judges one subnet. Rules that relate a field to the CIDR are left
// out while the CIDR itself is not understood: their verdict would be a guess.
func parseSubnet(spec *samplecrdv1.SubnetSpec, path *field.Path) (Subnet, field.ErrorList) {
	subnet := Subnet{Path: path}
	var errs field.ErrorList

	written, fault := parseCIDR(spec.CIDR, path.Child("cidr"))
	if fault != nil {
		errs = append(errs, fault.WithOrigin(ruleCIDR))
	} else {
		subnet.Written, subnet.Prefix = written, written.Masked()
	}

	errs = append(errs, parseGateway(&subnet, spec.Gateway)...)
	errs = append(errs, parsePools(&subnet, spec)...)
	errs = append(errs, parseDNSServers(&subnet, spec.DNSServers)...)
	errs = append(errs, parseRoutes(&subnet, spec.Routes)...)

	if spec.DHCP != nil {
		subnet.DHCP = *spec.DHCP
		modes := []samplecrdv1.DHCPMode{samplecrdv1.DHCPEnabled, samplecrdv1.DHCPDisabled}
		if !slices.Contains(modes, *spec.DHCP) {
			errs = append(errs, field.NotSupported(path.Child("dhcp"), clip(*spec.DHCP), modes).WithOrigin(ruleDHCP))
		}
	}
	return subnet, errs
}

func parseGateway(subnet *Subnet, text string) field.ErrorList {
	path := subnet.Path.Child("gateway")
	switch {
	case text == samplecrdv1.GatewayNone:
		return nil
	case text == "":
		if subnet.Prefix.IsValid() {
			subnet.Gateway = DefaultGateway(subnet.Prefix)
		}
		return nil
	}
	addr, fault := parseAddress(text, path)
	if fault != nil {
		if fault.Type == field.ErrorTypeInvalid && subnet.Prefix.IsValid() {
			usable := Usable(subnet.Prefix)
			fault.Detail += fmt.Sprintf("; use an address from %s to %s, or None for no gateway", usable.From(), usable.To())
		}
		return field.ErrorList{fault.WithOrigin(ruleGateway)}
	}
	if subnet.Prefix.IsValid() {
		if problem := unusable(addr, subnet.Prefix); problem != "" {
			return field.ErrorList{field.Invalid(path, text, problem).WithOrigin(ruleGatewayInside)}
		}
	}
	subnet.Gateway = addr
	return nil
}

// unusable says why addr cannot be a host's or a gateway's address in prefix, and
// which can; it is "" when addr can.
func unusable(addr netip.Addr, prefix netip.Prefix) string {
	usable := Usable(prefix)
	if usable.Contains(addr) {
		return ""
	}
	remedy := fmt.Sprintf("use an address from %s to %s", usable.From(), usable.To())
	switch {
	case addr.Is4() != prefix.Addr().Is4():
		return fmt.Sprintf("not inside %s, which is of the other address family; %s", prefix, remedy)
	case !prefix.Contains(addr):
		return fmt.Sprintf("not inside %s; %s", prefix, remedy)
	case addr == prefix.Addr():
		return fmt.Sprintf("is the network address of %s; %s", prefix, remedy)
	default:
		return fmt.Sprintf("is the broadcast address of %s; %s", prefix, remedy)
	}
}

func parsePools(subnet *Subnet, spec *samplecrdv1.SubnetSpec) field.ErrorList {
	path := subnet.Path.Child("allocationPools")
	var errs field.ErrorList
	if n := len(spec.AllocationPools); n > maxPools {
		errs = append(errs, field.TooMany(path, n, maxPools).WithOrigin(rulePoolText))
	}
	for i, written := range spec.AllocationPools[:min(len(spec.AllocationPools), maxPools)] {
		at := path.Index(i)
		start, startFault := parseAddress(written.Start, at.Child("start"))
		end, endFault := parseAddress(written.End, at.Child("end"))
		if startFault != nil || endFault != nil {
			for _, fault := range []*field.Error{startFault, endFault} {
				if fault != nil {
					errs = append(errs, fault.WithOrigin(rulePoolText))
				}
			}
			continue
		}
		pool := netipx.IPRangeFrom(start, end)
		switch {
		case start.Is4() != end.Is4():
			errs = append(errs, field.Invalid(at.Child("end"), written.End, fmt.Sprintf("must be of the address family of start %s", start)).WithOrigin(rulePoolText))
			continue
		case !pool.IsValid():
			errs = append(errs, field.Invalid(at.Child("end"), written.End, fmt.Sprintf("must not be below start %s", start)).WithOrigin(rulePoolText))
			continue
		}
		if j := slices.IndexFunc(subnet.Pools, pool.Overlaps); j >= 0 {
			errs = append(errs, field.Invalid(at, pool.String(), fmt.Sprintf("overlaps the pool %s before it; make the pools disjoint", subnet.Pools[j])).WithOrigin(rulePoolText))
		}
		if subnet.Prefix.IsValid() {
			errs = append(errs, validatePool(subnet, written, pool, spec.Gateway == "", at)...)
		}
		subnet.Pools = append(subnet.Pools, pool)
	}
	return errs
}

// validatePool judges a well-formed pool against the CIDR and the gateway.
func validatePool(subnet *Subnet, written samplecrdv1.AddressRange, pool netipx.IPRange, gatewayDefaulted bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if problem := unusable(pool.From(), subnet.Prefix); problem != "" {
		errs = append(errs, field.Invalid(path.Child("start"), written.Start, problem).WithOrigin(rulePoolInside))
	}
	if problem := unusable(pool.To(), subnet.Prefix); problem != "" {
		errs = append(errs, field.Invalid(path.Child("end"), written.End, problem).WithOrigin(rulePoolInside))
	}
	if subnet.Gateway.IsValid() && pool.Contains(subnet.Gateway) {
		which := "the gateway"
		if gatewayDefaulted {
			which = "the gateway, which is chosen since none is set,"
		}
		errs = append(errs, field.Invalid(path, pool.String(),
			fmt.Sprintf("must not hold %s %s; leave that address out or set another gateway", which, subnet.Gateway)).WithOrigin(rulePoolInside))
	}
	return errs
}

func parseDNSServers(subnet *Subnet, servers []string) field.ErrorList {
	path := subnet.Path.Child("dnsServers")
	var errs field.ErrorList
	if n := len(servers); n > maxDNSServers {
		errs = append(errs, field.TooMany(path, n, maxDNSServers).WithOrigin(ruleDNSServers))
	}
	for i, text := range servers[:min(len(servers), maxDNSServers)] {
		addr, fault := parseAddress(text, path.Index(i))
		switch {
		case fault != nil:
			errs = append(errs, fault.WithOrigin(ruleDNSServers))
		case slices.Contains(subnet.DNSServers, addr):
			errs = append(errs, again(path.Index(i), text, addr, slices.Index(subnet.DNSServers, addr)).WithOrigin(ruleDNSServers))
		default:
			subnet.DNSServers = append(subnet.DNSServers, addr)
		}
	}
	return errs
}

func parseRoutes(subnet *Subnet, routes []samplecrdv1.Route) field.ErrorList {
	path := subnet.Path.Child("routes")
	var errs field.ErrorList
	if n := len(routes); n > maxRoutes {
		errs = append(errs, field.TooMany(path, n, maxRoutes).WithOrigin(ruleRouteText))
	}
	seen := map[netip.Prefix]int{}
	for i, route := range routes[:min(len(routes), maxRoutes)] {
		destinationPath, hopPath := path.Index(i).Child("destination"), path.Index(i).Child("nextHop")
		written, fault := parseCIDR(route.Destination, destinationPath)
		destination := written.Masked()
		first, known := seen[destination]
		switch {
		case fault != nil:
			if strings.HasSuffix(route.Destination, "/0") {
				fault.Detail = "a default route cannot be set here; name the ranges that are reached through the next hop"
			}
			errs = append(errs, fault.WithOrigin(ruleRouteText))
		case known:
			errs = append(errs, again(destinationPath, route.Destination, destination, first).WithOrigin(ruleRouteText))
		default:
			seen[destination] = i
		}
		hop, hopFault := parseAddress(route.NextHop, hopPath)
		switch {
		case hopFault != nil:
			errs = append(errs, hopFault.WithOrigin(ruleRouteText))
		case fault == nil && hop.Is4() != destination.Addr().Is4():
			errs = append(errs, field.Invalid(hopPath, route.NextHop, fmt.Sprintf("must be of the address family of destination %s", destination)).WithOrigin(ruleRouteText))
		case subnet.Prefix.IsValid() && !subnet.Prefix.Contains(hop):
			errs = append(errs, field.Invalid(hopPath, route.NextHop, unusable(hop, subnet.Prefix)).WithOrigin(ruleRouteInside))
		}
		subnet.Routes = append(subnet.Routes, Route{Destination: destination, NextHop: hop, written: written})
	}
	return errs
}

// again is the fault of an entry that says, once it is read, what one before it does.
func again(path *field.Path, text string, value fmt.Stringer, first int) *field.Error {
	fault := field.Duplicate(path, text)
	fault.Detail = fmt.Sprintf("is %s, as entry %d is; leave one of them out", value, first)
	return fault
}

// clip keeps a refused value short: it is echoed before the schema bounds it.
func clip[T ~string](value T) T {
	const most = 64
	if len(value) > most {
		return value[:most]
	}
	return value
}
