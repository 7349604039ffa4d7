package admission_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/samplecrd/samplecrd/test/env"
)

// The gateway follows the CIDR when only the webhook wrote it, and is the user's
// affair when the user did. Who wrote it is told by the managed fields, which the
// two ways to apply keep differently.
var _ = Describe("The gateway when the CIDR moves", func() {
	ways := []TableEntry{
		Entry("by client-side apply", "apply"),
		Entry("by server-side apply", "apply", "--server-side"),
	}
	var subject *unstructured.Unstructured
	BeforeEach(func() { subject = newObject("Network", newNamespace(), "subject") })

	apply := func(spec string, args ...string) env.Result {
		GinkgoHelper()
		return kubectl(manifest(subject.GetNamespace(), subject.GetName(), spec), append(args, "-f", "-")...)
	}
	applied := func(spec string, args ...string) {
		GinkgoHelper()
		result := apply(spec, args...)
		Expect(result.ExitCode).To(BeZero(), result.Stderr)
	}
	expectGateway := func(want string) {
		GinkgoHelper()
		Expect(specOf(stored(subject), "gateway")).To(Equal(want))
	}
	expectLeftAlone := func(result env.Result, cidr, gateway string) {
		GinkgoHelper()
		Expect(result.ExitCode).To(Equal(1))
		Expect(result.Stderr).To(HavePrefix(`The Network "subject" is invalid: spec.gateway: Invalid value: "` + gateway + `"`))
		Expect(result.Stderr).To(And(ContainSubstring("use an address from"), ContainSubstring("or remove it")))
		Expect(specOf(stored(subject), "cidr")).To(Equal(cidr))
		expectGateway(gateway)
	}

	DescribeTable("is chosen anew if the manifest never had one", func(args ...string) {
		applied(`{cidr: 10.0.0.0/24}`, args...)
		expectGateway("10.0.0.1")
		applied(`{cidr: 10.1.0.0/24}`, args...)
		expectGateway("10.1.0.1")
		applied(`{cidr: "2001:db8::/64"}`, args...)
		expectGateway("2001:db8::1")
		applied(`{cidr: 192.0.2.7/32}`, args...)
		expectGateway("192.0.2.7")
	}, ways)

	DescribeTable("is the user's once the manifest repeats the chosen one", func(args ...string) {
		applied(`{cidr: 10.0.0.0/24}`, args...)
		applied(`{cidr: 10.0.0.0/24, gateway: 10.0.0.1}`, args...)
		expectLeftAlone(apply(`{cidr: 10.1.0.0/24, gateway: 10.0.0.1}`, args...), "10.0.0.0/24", "10.0.0.1")
		applied(`{cidr: 10.1.0.0/24}`, args...)
		expectGateway("10.1.0.1")
	}, ways)

	DescribeTable("is kept if it still fits", func(args ...string) {
		applied(`{cidr: 10.0.1.0/24}`, args...)
		applied(`{cidr: 10.0.0.0/16}`, args...)
		expectGateway("10.0.1.1")
	}, ways)

	DescribeTable("is refused if the user wrote it, and says what to do", func(args ...string) {
		applied(`{cidr: 10.0.0.0/24, gateway: 10.0.0.9}`, args...)
		expectLeftAlone(apply(`{cidr: 10.1.0.0/24, gateway: 10.0.0.9}`, args...), "10.0.0.0/24", "10.0.0.9")
		expectLeftAlone(apply(`{cidr: "2001:db8::/64", gateway: 10.0.0.9}`, args...), "10.0.0.0/24", "10.0.0.9")
		applied(`{cidr: 10.1.0.0/24, gateway: 10.1.0.9}`, args...)
		expectGateway("10.1.0.9")
	}, ways)

	DescribeTable("is chosen if its line is removed together with the change", func(args ...string) {
		applied(`{cidr: 10.0.0.0/24, gateway: 10.0.0.9}`, args...)
		applied(`{cidr: 10.1.0.0/24}`, args...)
		expectGateway("10.1.0.1")
		applied(`{cidr: 10.2.0.0/24}`, args...)
		expectGateway("10.2.0.1")
	}, ways)

	DescribeTable("is chosen if its line was removed before the change", func(args ...string) {
		applied(`{cidr: 10.0.0.0/24, gateway: 10.0.0.9}`, args...)
		applied(`{cidr: 10.0.0.0/24}`, args...)
		expectGateway("10.0.0.1")
		applied(`{cidr: 10.1.0.0/24}`, args...)
		expectGateway("10.1.0.1")
	}, ways)

	DescribeTable("is chosen if it is written as null or empty", func(args ...string) {
		for _, unset := range []string{"null", `""`} {
			applied(`{cidr: 10.0.0.0/24, gateway: `+unset+`}`, args...)
			expectGateway("10.0.0.1")
			applied(`{cidr: 10.1.0.0/24, gateway: `+unset+`}`, args...)
			expectGateway("10.1.0.1")
		}
	}, ways)

	DescribeTable("is left out for good as None", func(args ...string) {
		applied(`{cidr: 10.0.0.0/24, gateway: None}`, args...)
		applied(`{cidr: "2001:db8::/64", gateway: None}`, args...)
		expectGateway("None")
	}, ways)

	It("is refused if another manager wrote it, until that one lets go", func() {
		cidrOwner := []string{"apply", "--server-side", "--field-manager=cidr-owner"}
		gatewayOwner := []string{"apply", "--server-side", "--field-manager=gateway-owner"}
		applied(`{cidr: 10.0.0.0/24}`, cidrOwner...)
		expectGateway("10.0.0.1")
		applied(`{gateway: 10.0.0.9}`, gatewayOwner...)
		expectGateway("10.0.0.9")

		expectLeftAlone(apply(`{cidr: 10.1.0.0/24}`, cidrOwner...), "10.0.0.0/24", "10.0.0.9")

		applied(`{}`, gatewayOwner...)
		expectGateway("10.0.0.1")
		applied(`{cidr: 10.1.0.0/24}`, cidrOwner...)
		expectGateway("10.1.0.1")
	})

	It("is refused if somebody edited it after the webhook had chosen it", func() {
		applied(`{cidr: 10.0.0.0/24}`, "apply")
		expectAccepted(mergePatch(subject, `{"spec":{"gateway":"10.0.0.9"}}`))
		expectLeftAlone(apply(`{cidr: 10.1.0.0/24}`, "apply"), "10.0.0.0/24", "10.0.0.9")
	})

	It("is refused if a server-side apply takes the chosen one for its own in the same breath", func() {
		serverSide := []string{"apply", "--server-side"}
		applied(`{cidr: 10.0.0.0/24}`, serverSide...)
		expectLeftAlone(apply(`{cidr: 10.1.0.0/24, gateway: 10.0.0.1}`, serverSide...), "10.0.0.0/24", "10.0.0.1")
	})

	It("is refused if a create by another client wrote it", func() {
		expectAccepted(create(withSpec(subject, `{cidr: 10.0.0.0/24, gateway: 10.0.0.1}`)))
		a := mergePatch(subject, `{"spec":{"cidr":"10.1.0.0/24"}}`)
		expectRefusal(a, "spec.gateway", "remove it")
	})

	It("stays through updates of labels, finalizers and status", func() {
		applied(`{cidr: 10.0.0.0/24}`, "apply")
		before := stored(subject)
		expectAccepted(mergePatch(subject, `{"metadata":{"labels":{"colour":"blue"},"finalizers":["example.org/hold"]}}`))
		expectAccepted(update(stored(subject)))
		expectAccepted(mergePatch(subject, `{"metadata":{"finalizers":null}}`))
		after := stored(subject)
		Expect(after.Object["spec"]).To(Equal(before.Object["spec"]))
		Expect(after.GetGeneration()).To(Equal(before.GetGeneration()))
		applied(`{cidr: 10.1.0.0/24}`, "apply")
		expectGateway("10.1.0.1")
	})
})
