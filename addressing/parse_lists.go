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
