package addressing_test

import (
	"net/netip"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

var specPath = field.NewPath("spec")

// fault is what a test compares of a field.Error: its kind and its place.
type fault struct {
	Type  field.ErrorType
	Field string
}

func invalid(path string) fault  { return fault{field.ErrorTypeInvalid, path} }
func required(path string) fault { return fault{field.ErrorTypeRequired, path} }
func tooLong(path string) fault  { return fault{field.ErrorTypeTooLong, path} }
func tooMany(path string) fault  { return fault{field.ErrorTypeTooMany, path} }
func twice(path string) fault    { return fault{field.ErrorTypeDuplicate, path} }
func unknown(path string) fault  { return fault{field.ErrorTypeNotSupported, path} }

func faultsOf(errs field.ErrorList) []fault {
	var faults []fault
	for _, err := range errs {
		faults = append(faults, fault{err.Type, err.Field})
	}
	return faults
}

// text joins the details, for the cases that are about the text.
func text(errs field.ErrorList) string {
	var details []string
	for _, err := range errs {
		details = append(details, err.Error())
	}
	return strings.Join(details, "\n")
}

func parseCIDR(cidr string) (addressing.Plan, field.ErrorList) {
	return addressing.Parse(&samplecrdv1.NetworkSpec{CIDR: cidr}, specPath)
}

func TestParseAcceptsCIDR(t *testing.T) {
	for name, tc := range map[string]struct{ cidr, want string }{
		"an IPv4 range":                                           {"192.168.0.0/16", "192.168.0.0/16"},
		"the shortest prefix":                                     {"128.0.0.0/1", "128.0.0.0/1"},
		"a single IPv4 address":                                   {"203.0.113.7/32", "203.0.113.7/32"},
		"host bits are cleared":                                   {"192.168.1.0/16", "192.168.0.0/16"},
		"host bits off an octet border are cleared":               {"192.168.2.225/28", "192.168.2.224/28"},
		"an IPv6 range":                                           {"2001:db8::/64", "2001:db8::/64"},
		"IPv6 in upper case":                                      {"2001:DB8:A::/48", "2001:db8:a::/48"},
		"IPv6 host bits are cleared":                              {"2001:db8::1/64", "2001:db8::/64"},
		"a single IPv6 address":                                   {"2001:db8::1/128", "2001:db8::1/128"},
		"a link-local range":                                      {"fe80::/64", "fe80::/64"},
		"IPv6 whose last 32 bits are dotted":                      {"64:ff9b::192.0.2.0/120", "64:ff9b::c000:200/120"},
		"the longest legal spelling, 49 characters":               {"0000:0000:0000:0000:0001:0000:192.168.100.128/128", "::1:0:c0a8:6480/128"},
		"AN-12: a plain prefix length":                            {"192.0.2.0/24", "192.0.2.0/24"},
		"AN-17: single zeros are no leading zeros":                {"10.0.0.0/24", "10.0.0.0/24"},
		"AN-24: IPv6 groups may have leading zeros":               {"2001:0db8:0000:001a:0000:0000:0000:0000/64", "2001:db8:0:1a::/64"},
		"the group that IPv4 is mapped by, without being mapped":  {"::ffff:0:0:0/96", "::ffff:0:0:0/96"},
		"the unspecified address, when the prefix length says so": {"0.0.0.0/8", "0.0.0.0/8"},
	} {
		t.Run(name, func(t *testing.T) {
			plan, errs := parseCIDR(tc.cidr)
			if len(errs) > 0 {
				t.Fatalf("%q was refused: %v", tc.cidr, errs)
			}
			if got := plan.Subnets[0].Prefix; got != netip.MustParsePrefix(tc.want) {
				t.Errorf("canonical prefix is %s, want %s", got, tc.want)
			}
			if got, want := plan.Subnets[0].Written, netip.MustParsePrefix(tc.cidr); got != want {
				t.Errorf("written prefix is %s, want %s", got, want)
			}
		})
	}
}

func TestParseRefusesCIDR(t *testing.T) {
	for name, cidrs := range map[string][]string{
		"AN-05: malformed ranges": {
			"10.0.0/24", "10.0.0.0/", "/24", "10.0.0.0/24/8", "10.0.0.0.0/24", "256.1.1.0/24", "2001:db8:::/64", `10.0.0.0\24`,
		},
		"AN-12: prefix lengths that are not plain numbers": {
			"192.0.2.0/+24", "192.0.2.0/-0", "192.0.2.0/024", "192.0.2.0/000024", "2001:db8::/064", "192.0.2.0/ 24", "192.0.2.0/0x18", "192.0.2.0/-1", "192.0.2.0/00", "192.0.2.0/2_4", "192.0.2.0/٢٤",
		},
		"AN-15: leading zeros in octets":           {"010.0.0.0/8", "192.168.000.0/24", "172.016.0.0/12"},
		"AN-17: doubled zeros in octets":           {"10.0.00.00/24"},
		"AN-21: white space":                       {"10.0.0.0/16\n", " 10.0.0.0/16", "10.0.0.0/16 ", "\t10.0.0.0/16", "10.0.0.0 /16", "10.0.0.0/16\u00a0", "10.0.0.0/16\u2028", "10. 0.0.0/16", " "},
		"AN-35: letters, and nothing is looked up": {"abc.169.1.0/24", "a.b.c.d/23", "10.0.0.0/ab", "ten/8", "localhost/32", "localhost"},
		"AN-43: prefix lengths out of range":       {"192.0.2.1/33", "192.0.2.1/50000000", "2001:db8::/129", "2001:db8::/99999999999999999999", "192.0.2.1/4294967320"},
		"AN-44: a missing prefix length":           {"10.0.11.254", "10.0.11.120-10.0.11.159", "2001:db8::1"},
		"AN-48: the whole address space":           {"10.0.0.0/0", "0.0.0.0/0", "::/0", "2001:db8::/0"},
		"AN-50: a pair of ranges":                  {"10.0.0.0/16,2001:db8::/64"},
		"IPv4 mapped into IPv6":                    {"::ffff:10.0.0.0/104", "::ffff:a00:0/104", "::FFFF:0a00:0000/104", "0:0:0:0:0:ffff:10.0.0.0/120", "::ffff:0:0/96", "::ffff:10.0.0.1"},
		"a zone":                                   {"fe80::%eth0/64", "fe80::1%25eth0/64", "fe80::%/64", "fe80::/64%eth0", "fe80::1%eth0"},
		"other notations":                          {"10.0.0.0/255.0.0.0", "[2001:db8::]/64", "0x0a000000/8", "167772160/8", "10/8", "10.0.0.0/8#", "http://10.0.0.0/8", "None", "null", "/", "//", "::", "::/", "1::2::3/64", "2001:db8::/64\x00", "10.0.0.0\x00/8"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, cidr := range cidrs {
				_, errs := parseCIDR(cidr)
				if got := faultsOf(errs); len(got) != 1 || got[0] != invalid("spec.cidr") {
					t.Errorf("%q gives %v, want one invalid spec.cidr", cidr, errs)
					continue
				}
				if errs[0].BadValue != cidr {
					t.Errorf("%q is echoed as %q", cidr, errs[0].BadValue)
				}
			}
		})
	}
}

func TestParseBoundsCIDR(t *testing.T) {
	for name, tc := range map[string]struct {
		cidr string
		want fault
	}{
		"an empty range is required":                    {"", required("spec.cidr")},
		"fifty characters are too long":                 {"0000:0000:0000:0000:0001:0000:192.168.100.128/0128", tooLong("spec.cidr")},
		"a megabyte is too long, and is not echoed":     {strings.Repeat("1", 1<<20), tooLong("spec.cidr")},
		"a megabyte of spaces is too long":              {strings.Repeat(" ", 1<<20), tooLong("spec.cidr")},
		"forty-nine characters of nonsense are invalid": {strings.Repeat("/", 49), invalid("spec.cidr")},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := parseCIDR(tc.cidr)
			if got := faultsOf(errs); len(got) != 1 || got[0] != tc.want {
				t.Errorf("got %.200s, want %v", text(errs), tc.want)
			}
			if got := text(errs); len(got) > 300 {
				t.Errorf("the message has %d characters", len(got))
			}
		})
	}
}

// The text is what these cases are about: it names what would have been right.
func TestParseExplainsCIDR(t *testing.T) {
	for name, tc := range map[string]struct {
		cidr string
		want string
	}{
		"AN-21: a newline is quoted, so that it is seen":      {"10.0.0.0/16\n", `"10.0.0.0/16\n"`},
		"AN-21: what is left without white space is named":    {"10.0.0.0/16\n", "remove the white space around 10.0.0.0/16"},
		"AN-44: a single address is offered as /32":           {"10.0.11.254", "write 10.0.11.254/32"},
		"AN-44: a single address is offered as /128":          {"2001:db8::1", "write 2001:db8::1/128"},
		"AN-15: a leading zero is named":                      {"010.0.0.0/8", "leading zeros"},
		"AN-12: a leading zero of the prefix length is named": {"192.0.2.0/024", "leading zeros"},
		"AN-43: the range of IPv4 prefix lengths is named":    {"192.0.2.1/33", "from 1 to 32"},
		"AN-43: the range of IPv6 prefix lengths is named":    {"2001:db8::/129", "from 1 to 128"},
		"AN-48: the shortest prefix length is named":          {"10.0.0.0/0", "at least 1"},
		"a mapped address is offered as IPv4":                 {"::ffff:a00:0/104", "use 10.0.0.0"},
		"a zone is named":                                     {"fe80::%eth0/64", "zone"},
		"an absent range is shown by example":                 {"", "192.168.0.0/16"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := parseCIDR(tc.cidr)
			if got := text(errs); !strings.Contains(got, tc.want) {
				t.Errorf("%q does not say %q", got, tc.want)
			}
		})
	}
}

// What cannot be read must not look as if it could.
func TestParsePrefix(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want netip.Prefix
	}{
		"a canonical prefix":               {"10.0.0.0/8", netip.MustParsePrefix("10.0.0.0/8")},
		"host bits are cleared":            {"10.1.2.3/8", netip.MustParsePrefix("10.0.0.0/8")},
		"nothing gives the zero prefix":    {"", netip.Prefix{}},
		"nonsense gives the zero prefix":   {"nonsense/99", netip.Prefix{}},
		"an address gives the zero prefix": {"10.0.0.1", netip.Prefix{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := addressing.ParsePrefix(tc.text); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
