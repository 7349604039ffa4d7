package admission_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// spec names a case after its input.
func spec(text string, _ verdict) string { return text }

// cidr writes a spec with nothing but a CIDR, quoted as YAML wants it.
func cidr(text string, want verdict) TableEntry {
	quoted := strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(text)
	return Entry(spec, `{cidr: "`+quoted+`"}`, want)
}

func entries(want verdict, texts ...string) []TableEntry {
	all := make([]TableEntry, len(texts))
	for i, text := range texts {
		all[i] = cidr(text, want)
	}
	return all
}

var _ = Describe("Cases about the CIDR", func() {
	DescribeTable("AN-05: a malformed CIDR is refused", judged, entries(refused("spec.cidr"),
		"10.0.0/24", "10.0.0.0/", "/24", "10.0.0.0/24/8", "10.0.0.0.0/24", "256.1.1.0/24", "2001:db8:::/64", `10.0.0.0\24`))

	DescribeTable("AN-12: signs, leading zeros and other bases in the prefix length are refused", judged,
		entries(refused("spec.cidr", "prefix length"),
			"192.0.2.0/+24", "192.0.2.0/-0", "192.0.2.0/024", "192.0.2.0/000024", "2001:db8::/064", "192.0.2.0/ 24", "192.0.2.0/0x18"),
		cidr("192.0.2.0/24", accepted("192.0.2.1")))

	DescribeTable("AN-15: leading zeros in octets are refused", judged,
		entries(refused("spec.cidr", "leading zeros"), "010.0.0.0/8", "192.168.000.0/24", "172.016.0.0/12"))

	DescribeTable("AN-17: a doubled zero octet is a leading zero", judged,
		Entry(spec, `{cidr: 10.0.00.00/24, gateway: 10.0.0.1}`, refused("spec.cidr", "leading zeros")),
		Entry(spec, `{cidr: 10.0.0.0/24, gateway: 10.0.0.1}`, accepted("10.0.0.1")))

	DescribeTable("AN-21: white space is refused and shown", judged,
		Entry(spec, "cidr: |\n  10.0.0.0/16\ngateway: 10.0.0.1\n", refused("spec.cidr", `"10.0.0.0/16\n"`, "white space")),
		Entry(spec, `{cidr: " 10.0.0.0/16"}`, refused("spec.cidr", "white space")),
		Entry(spec, `{cidr: "10.0.0.0/16\t"}`, refused("spec.cidr", `"10.0.0.0/16\t"`, "white space")))

	DescribeTable("AN-24: IPv6 groups may have leading zeros", judged,
		cidr("2001:0db8:0000:001a:0000:0000:0000:0000/64", accepted("2001:db8:0:1a::1")))

	DescribeTable("AN-35: letters are refused", judged, entries(refused("spec.cidr"),
		"abc.169.1.0/24", "a.b.c.d/23", "10.0.0.0/ab", "ten/8", "localhost/32"))

	DescribeTable("AN-43: a prefix length out of range is refused", judged, entries(refused("spec.cidr", "prefix length"),
		"192.0.2.1/33", "192.0.2.1/50000000", "2001:db8::/129", "2001:db8::/99999999999999999999"))

	DescribeTable("AN-44: a missing prefix length is never assumed", judged,
		entries(refused("spec.cidr", "the prefix length is missing"), "10.0.11.254", "2001:db8::1"),
		cidr("10.0.11.120-10.0.11.159", refused("spec.cidr", "a slash and a prefix length")))

	DescribeTable("AN-48: no network is the whole address space", judged,
		entries(refused("spec.cidr", "whole address space"), "10.0.0.0/0", "0.0.0.0/0", "::/0"))

	Describe("AN-50: two CIDRs in a field for one", func() {
		DescribeTable("are refused", judged,
			Entry(spec, `{cidr: "10.0.0.0/16,2001:db8::/64"}`, refused("spec.cidr")),
			Entry(spec, `{cidr: 10.0.0.0/16, gateway: "10.0.0.1,2001:db8::1"}`, refused("spec.gateway")))

		It("a list is refused as the wrong type", func() {
			subject := network(newNamespace(), "subject", `{cidr: ["10.0.0.0/16"]}`)
			a := create(subject)
			Expect(apierrors.IsBadRequest(a.err)).To(BeTrue(), "%v", a.err)
			Expect(a.err).To(MatchError(ContainSubstring("array into Go struct field NetworkSpec.spec.cidr of type string")))
			Expect(exists(subject)).To(BeFalse())
		})
	})

	It("a very long CIDR is refused without repeating it", func() {
		a := create(network(newNamespace(), "subject", `{cidr: "`+strings.Repeat("1", 100_000)+`"}`))
		expectCause(a, "FieldValueTooLong", "spec.cidr")
		Expect(len(a.err.Error())).To(BeNumerically("<", 1000))
	})
})
