package addressing

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxImportIDLength is in characters, as the CRD has it.
const maxImportIDLength = 64

// The longest legal spellings, in characters: an IPv6 address whose last 32 bits
// are written as IPv4 (RFC 4291 2.2), and the same with a prefix length.
const (
	maxAddressLength = 45
	maxCIDRLength    = 49
)

// parseCIDR reads a range strictly. What a CRD's isCIDR refuses is refused here
// too, with a message that says what is wrong instead of that something is.
func parseCIDR(text string, path *field.Path) (netip.Prefix, *field.Error) {
	const example = "for example 192.168.0.0/16 or 2001:db8::/64"
	refuse := func(format string, args ...any) (netip.Prefix, *field.Error) {
		return netip.Prefix{}, field.Invalid(path, text, fmt.Sprintf(format, args...))
	}
	switch {
	case text == "":
		return netip.Prefix{}, field.Required(path, "set it to an address range, "+example)
	case len(text) > maxCIDRLength:
		return netip.Prefix{}, field.TooLong(path, nil, maxCIDRLength)
	case strings.TrimSpace(text) != text:
		return refuse("remove the white space around %s", strings.TrimSpace(text))
	}
	address, length, found := strings.Cut(text, "/")
	if !found {
		if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" && !addr.Is4In6() {
			return refuse("the prefix length is missing; write %s/%d if the single address is meant", addr, addr.BitLen())
		}
		return refuse("must be an address, a slash and a prefix length, %s", example)
	}
	addr, problem := parseText(address)
	if problem != "" {
		return refuse("%s; write an address, a slash and a prefix length, %s", problem, example)
	}
	bits, err := strconv.Atoi(length)
	switch {
	case err != nil || strconv.Itoa(bits) != length || bits < 0 || bits > addr.BitLen():
		return refuse("the prefix length must be a number from 1 to %d without sign, spaces or leading zeros", addr.BitLen())
	case bits == 0:
		return refuse("a network cannot be the whole address space; use a prefix length of at least 1")
	}
	return netip.PrefixFrom(addr, bits), nil
}

// parseAddress reads a plain address strictly.
func parseAddress(text string, path *field.Path) (netip.Addr, *field.Error) {
	switch {
	case text == "":
		return netip.Addr{}, field.Required(path, "set it to an IP address")
	case len(text) > maxAddressLength:
		return netip.Addr{}, field.TooLong(path, nil, maxAddressLength)
	}
	if address, length, found := strings.Cut(text, "/"); found {
		if _, problem := parseText(address); problem == "" {
			return netip.Addr{}, field.Invalid(path, text, fmt.Sprintf("must be a plain IP address; drop %q", "/"+length))
		}
	}
	addr, problem := parseText(text)
	if problem != "" {
		return netip.Addr{}, field.Invalid(path, text, problem)
	}
	return addr, nil
}

// parseText reads an address or says what is wrong with it. netip already refuses
// leading zeros, signs and host names; zones and IPv4-mapped IPv6 (RFC 4291
// 2.5.5.2), which would be a second spelling of an IPv4 address, are refused here.
func parseText(text string) (addr netip.Addr, problem string) {
	if strings.TrimSpace(text) != text {
		return netip.Addr{}, "must not have white space around it"
	}
	if strings.Contains(text, "%") {
		return netip.Addr{}, "must not have a zone ('%')"
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		if hasLeadingZero(text) {
			return netip.Addr{}, "must not have leading zeros in an IPv4 octet, which some programs read as octal"
		}
		return netip.Addr{}, "not an IP address such as 192.0.2.1 or 2001:db8::1"
	}
	if addr.Is4In6() {
		return netip.Addr{}, fmt.Sprintf("must not be IPv4 mapped into IPv6; use %s", addr.Unmap())
	}
	return addr, ""
}

// hasLeadingZero says whether text would be dotted IPv4 but for leading zeros.
func hasLeadingZero(text string) bool {
	octets := strings.Split(text, ".")
	if len(octets) != 4 {
		return false
	}
	found := false
	for _, octet := range octets {
		if _, err := strconv.ParseUint(octet, 10, 8); err != nil {
			return false
		}
		found = found || (len(octet) > 1 && octet[0] == '0')
	}
	return found
}

// parseImportID reads a backend's own name of a network. None is fine.
func parseImportID(text string, path *field.Path) (string, *field.Error) {
	foreign := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}
	switch {
	case len(text) > maxImportIDLength:
		return "", field.TooLong(path, nil, maxImportIDLength)
	case strings.ContainsFunc(text, foreign):
		return "", field.Invalid(path, text, "must be the backend's own id of a network: letters, digits, '-' and '_', for example 4f9a5b1e-1c5c-4b7e-9d0a-2f1f8f0c7a11")
	}
	return text, nil
}
