package addressing

import (
	"fmt"
	"net/netip"
	"slices"

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
	importID, fault := parseImportID(spec.ImportID, path.Child("importID"))
	if fault != nil {
		errs = append(errs, fault.WithOrigin(ruleImportID))
	}
	plan.ImportID = importID
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

// clip keeps a refused value short: it is echoed before the schema bounds it.
func clip[T ~string](value T) T {
	const most = 64
	if len(value) > most {
		return value[:most]
	}
	return value
}
