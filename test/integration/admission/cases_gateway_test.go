package admission_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Cases about the gateway", func() {
	DescribeTable("AN-02: the broadcast address of a /27 is refused", judged,
		Entry(spec, `{cidr: 10.20.30.64/27, gateway: 10.20.30.95}`, refused("spec.gateway", "broadcast")),
		Entry(spec, `{cidr: 10.20.30.64/27, gateway: 10.20.30.127}`, refused("spec.gateway", "not inside")),
		Entry(spec, `{cidr: 10.20.30.64/27, gateway: 10.20.30.255}`, refused("spec.gateway", "not inside")),
		Entry(spec, `{cidr: 10.20.30.64/27, gateway: 10.20.30.94}`, accepted("10.20.30.94")))

	DescribeTable("AN-08: a gateway outside the subnet is refused, and the message names both", judged,
		Entry(spec, `{cidr: 172.18.0.0/24, gateway: 192.168.128.2}`, refused("spec.gateway", "192.168.128.2", "not inside 172.18.0.0/24")))

	It("AN-09: a gateway that the user wrote is judged again when the CIDR moves", func() {
		subject := network(newNamespace(), "subject", `{cidr: 192.0.2.0/24, gateway: 192.0.2.1}`)
		expectAccepted(create(subject))

		expectRefusal(mergePatch(subject, `{"spec":{"cidr":"198.51.100.0/24"}}`), "spec.gateway", `"192.0.2.1"`, "not inside 198.51.100.0/24")
		kept := stored(subject)
		Expect(specOf(kept, "cidr")).To(Equal("192.0.2.0/24"))
		Expect(specOf(kept, "gateway")).To(Equal("192.0.2.1"))

		expectAccepted(mergePatch(subject, `{"spec":{"cidr":"198.51.100.0/24","gateway":"198.51.100.1"}}`))
		kept = stored(subject)
		Expect(specOf(kept, "cidr")).To(Equal("198.51.100.0/24"))
		Expect(specOf(kept, "gateway")).To(Equal("198.51.100.1"))
	})

	DescribeTable("AN-11: an absent gateway becomes the first usable address", judged,
		Entry(spec, `{cidr: 192.0.2.64/26}`, accepted("192.0.2.65")))

	DescribeTable("AN-14: a zone or a slash in a gateway is refused", judged,
		Entry(spec, `{cidr: "fe80::/64", gateway: "fe80::1234:1%net0/104"}`, refused("spec.gateway")),
		Entry(spec, `{cidr: "fe80::/64", gateway: "fe80::1234:1%net0"}`, refused("spec.gateway", "zone")),
		Entry(spec, `{cidr: "fe80::/64", gateway: "fe80::1234:1/104"}`, refused("spec.gateway", `drop "/104"`)))

	DescribeTable("AN-16: leading zeros in a gateway are refused, and only the gateway is blamed", judged,
		Entry(spec, `{cidr: 10.0.0.0/24, gateway: "10.0.0.01"}`, refused("spec.gateway", "leading zeros")),
		Entry(spec, `{cidr: 10.0.0.0/24, gateway: "10.0.0.001"}`, refused("spec.gateway", "leading zeros")),
		Entry(spec, `{cidr: 10.8.0.0/24, gateway: "012.8.0.1"}`, refused("spec.gateway", "leading zeros")))

	DescribeTable("AN-23: network and broadcast address are those of the canonical range", judged,
		Entry(spec, `{cidr: 192.168.2.225/28, gateway: 192.168.2.239}`, refused("spec.gateway", "broadcast address of 192.168.2.224/28")),
		Entry(spec, `{cidr: 192.168.2.225/28, gateway: 192.168.2.225}`, accepted("192.168.2.225", "192.168.2.224/28")),
		Entry(spec, `{cidr: 192.168.2.225/28, gateway: 192.168.2.224}`, refused("spec.gateway", "network address of 192.168.2.224/28")))

	It("AN-26: host bits are warned of on create, on update and on dry-run, and kept", func() {
		subject := network(newNamespace(), "subject", `{cidr: 10.0.0.5/24, gateway: 10.0.0.5}`)
		expectAccepted(create(subject, client.DryRunAll), "10.0.0.0/24")
		Expect(exists(subject)).To(BeFalse())
		expectAccepted(create(subject), "10.0.0.0/24")

		changed := stored(subject)
		changed.Object["spec"].(map[string]any)["mtu"] = int64(1400)
		expectAccepted(update(changed, client.DryRunAll), "10.0.0.0/24")
		expectAccepted(update(changed), "10.0.0.0/24")

		kept := stored(subject)
		Expect(specOf(kept, "cidr")).To(Equal("10.0.0.5/24"))
		Expect(specOf(kept, "gateway")).To(Equal("10.0.0.5"))
	})

	DescribeTable("AN-29: a gateway of another subnet of the link is not inside", judged,
		Entry(spec, `{cidr: "2001:db8:5:333::/64", gateway: "2001:db8:5::1"}`, refused("spec.gateway", "not inside 2001:db8:5:333::/64")))

	DescribeTable("AN-30: a link-local gateway belongs to a link-local range", judged,
		Entry(spec, `{cidr: "2001:db8:a10:710::/64", gateway: "fe80::1"}`, refused("spec.gateway", "not inside")),
		Entry(spec, `{cidr: "fe80::/64", gateway: "fe80::1"}`, accepted("fe80::1")))

	DescribeTable("AN-31: every address of a /127 and a /128 is usable", judged,
		Entry(spec, `{cidr: "2001:db8::/127", gateway: "2001:db8::"}`, accepted("2001:db8::")),
		Entry(spec, `{cidr: "2001:db8::/127", gateway: "2001:db8::1"}`, accepted("2001:db8::1")),
		Entry(spec, `{cidr: "2001:db8::1/128"}`, accepted("2001:db8::1")),
		Entry(spec, `{cidr: "2001:db8::/127"}`, accepted("2001:db8::")),
		Entry(spec, `{cidr: "2001:db8::/127", gateway: "2001:db8::2"}`, refused("spec.gateway", "not inside")))

	DescribeTable("AN-32: both addresses of a /31 are usable", judged,
		Entry(spec, `{cidr: 192.0.2.0/31, gateway: 192.0.2.0}`, accepted("192.0.2.0")),
		Entry(spec, `{cidr: 192.0.2.0/31, gateway: 192.0.2.1}`, accepted("192.0.2.1")),
		Entry(spec, `{cidr: 192.0.2.0/31}`, accepted("192.0.2.0")))

	DescribeTable("AN-33: a /31 given by its second address is the same range", judged,
		Entry(spec, `{cidr: 192.0.2.1/31}`, accepted("192.0.2.0", "192.0.2.0/31")),
		Entry(spec, `{cidr: 192.0.2.1/31, gateway: 192.0.2.1}`, accepted("192.0.2.1", "192.0.2.0/31")),
		Entry(spec, `{cidr: 192.0.2.1/31, gateway: 192.0.2.2}`, refused("spec.gateway", "not inside 192.0.2.0/31")))

	DescribeTable("AN-34: a /30 and a /32 are no errors", judged,
		Entry(spec, `{cidr: 203.0.113.4/30}`, accepted("203.0.113.5")),
		Entry(spec, `{cidr: 203.0.113.7/32}`, accepted("203.0.113.7")),
		Entry(spec, `{cidr: 203.0.113.7/32, gateway: 203.0.113.8}`, refused("spec.gateway", "not inside 203.0.113.7/32")))

	DescribeTable("AN-36: a prefix length behind the gateway is refused with a hint", judged,
		Entry(spec, `{cidr: 172.26.20.0/28, gateway: 172.26.20.1/28}`, refused("spec.gateway", "plain IP", `drop "/28"`)))

	DescribeTable("AN-37: an empty gateway is an absent one", judged,
		Entry(spec, `{cidr: 192.168.30.0/24, gateway: ""}`, accepted("192.168.30.1")),
		Entry(spec, `{cidr: 192.168.30.0/24, gateway: null}`, accepted("192.168.30.1")))

	DescribeTable("None asks for no gateway, and nothing else does", judged,
		Entry(spec, `{cidr: 192.168.30.0/24, gateway: None}`, accepted("None")),
		Entry(spec, `{cidr: 192.168.30.0/24, gateway: none}`, refused("spec.gateway", "None for no gateway")),
		Entry(spec, `{cidr: 192.168.30.0/24, gateway: " None"}`, refused("spec.gateway")))
})
