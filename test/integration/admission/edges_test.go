package admission_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

var _ = Describe("At the edges", func() {
	It("a Network with a generated name is judged and filled in as any other", func() {
		subject := network(newNamespace(), "", `{cidr: 10.0.0.0/24}`)
		subject.SetGenerateName("made-")
		a := create(subject)
		expectAccepted(a)
		Expect(a.object.GetName()).To(HavePrefix("made-"))
		Expect(specOf(stored(a.object), "gateway")).To(Equal("10.0.0.1"))
		expectRefusal(create(withSpec(subject, `{cidr: 10.0.0.0/24, gateway: 10.1.0.1}`)), "spec.gateway")
	})

	It("a Network without a spec is refused by both gates", func() {
		kept := network(newNamespace(), "kept", `{cidr: 10.0.0.0/24}`)
		expectAccepted(create(kept))
		without := func() []answer {
			var answers []answer
			for _, spec := range []any{nil, map[string]any{}} {
				created := network(kept.GetNamespace(), "subject", `{}`)
				updated := stored(kept)
				created.Object["spec"], updated.Object["spec"] = spec, spec
				answers = append(answers, create(created), update(updated))
			}
			created, updated := newObject("Network", kept.GetNamespace(), "subject"), stored(kept)
			delete(updated.Object, "spec")
			return append(answers, create(created), update(updated))
		}
		for _, a := range without() {
			expectCause(a, "FieldValueRequired", "spec.cidr")
		}
		floorAlone()
		for _, a := range without() {
			Expect(apierrors.IsInvalid(a.err)).To(BeTrue(), "%v", a.err)
		}
	})

	It("the largest Network is admitted by both gates", func() {
		namespace := newNamespace()
		subject := network(namespace, "subject", largest("2001:0db8:0000:000%d:0000:0000:0000:%s"))
		expectAccepted(create(subject))
		expectAccepted(mergePatch(subject, `{"spec":{"mtu":1400}}`))
		floorAlone()
		expectAccepted(create(network(namespace, "other", largest("2001:0db8:0000:000%d:0000:0000:0000:%s"))))
		expectAccepted(mergePatch(subject, `{"spec":{"mtu":1500}}`))
	})

	It("the largest faulty Network is refused with every fault", func() {
		a := create(network(newNamespace(), "subject", largest("2001:0db8:0000:000%d:0000:0000:0000:x%s")))
		Expect(apierrors.IsInvalid(a.err)).To(BeTrue(), "%v", a.err)
		// Of each subnet: cidr, gateway, 16 pools with two ends, 8 servers, 32 routes
		// with two addresses.
		Expect(causes(a.err)).To(HaveLen(8 * (2 + 2*16 + 8 + 2*32)))
	})
})

// largest writes a spec in which every list is full. address is a format that
// takes the number of the subnet and the last group.
func largest(address string) string {
	subnets := make([]string, 8)
	for i := range subnets {
		at := func(number int) string { return fmt.Sprintf(`"`+address+`"`, i, fmt.Sprintf("%04x", number)) }
		list := func(count int, entry func(int) string) string {
			entries := make([]string, count)
			for j := range entries {
				entries[j] = entry(j)
			}
			return "[" + strings.Join(entries, ", ") + "]"
		}
		length := func(text string, bits int) string { return fmt.Sprintf(`%s/%d"`, strings.TrimSuffix(text, `"`), bits) }
		subnets[i] = fmt.Sprintf("cidr: %s, gateway: %s, allocationPools: %s, dnsServers: %s, routes: %s",
			length(at(0), 64), at(1),
			list(16, func(j int) string { return fmt.Sprintf("{start: %s, end: %s}", at(0x100+2*j), at(0x101+2*j)) }),
			list(8, func(j int) string { return at(0x200 + j) }),
			list(32, func(j int) string {
				return fmt.Sprintf("{destination: %s, nextHop: %s}", length(at(0x300+j), 128), at(0x400))
			}))
	}
	return "{" + subnets[0] + ", additionalSubnets: [{" + strings.Join(subnets[1:], "}, {") + "}]}"
}
