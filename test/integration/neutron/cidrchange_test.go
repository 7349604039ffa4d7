package neutron

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/matchers"
)

func cidr(to string) func(*samplecrdv1.Network) {
	return func(network *samplecrdv1.Network) { network.Spec.CIDR, network.Spec.Gateway = to, "" }
}

var _ = Describe("Another range", func() {
	It("is there before the old one goes", func() {
		w := running()
		network := w.ready("a", "10.1.0.0/24")
		calls := w.tape.mark()
		w.Change("a", cidr("10.2.0.0/24"))
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Expect(w.tape.writes(calls)).To(Equal([]string{"POST subnets 201", "DELETE subnets/{id} 204"}))
		_, subnet := w.real(network)
		Expect(subnet).To(HaveKeyWithValue("cidr", "10.2.0.0/24"))
	})

	It("drains the old one while a port has an address of it, and names the port", func() {
		w := running()
		network := w.ready("a", "10.1.0.0/24")
		held, old := w.real(network)
		port := member.port(held.id(), old.id(), "compute:nova")
		w.Change("a", cidr("10.2.0.0/24"))
		Eventually(w.Of("a")).Should(beUnready(samplecrdv1.NetworkReasonDraining, ContainSubstring(port), ContainSubstring("10.1.0.0/24")))
		Expect(w.Get("a").Status.Subnets).To(ConsistOf(
			And(HaveField("CIDR", "10.2.0.0/24"), HaveField("State", samplecrdv1.SubnetActive)),
			And(HaveField("CIDR", "10.1.0.0/24"), HaveField("State", samplecrdv1.SubnetDraining), HaveField("ProviderID", HaveValue(Equal(old.id()))),
				HaveField("Users", ConsistOf(ContainSubstring(port)))),
		))
		Expect(w.Get("a")).NotTo(beStalled())
		_, subnets := made(member, network)
		Expect(subnets).To(HaveLen(2))
		at := slices.IndexFunc(subnets, func(s object) bool { return s.text("cidr") == "10.2.0.0/24" })
		Expect(at).NotTo(Equal(-1))

		member.remove("ports", port)
		w.touch("a")
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), HaveField("Status.Subnets", ConsistOf(HaveField("CIDR", "10.2.0.0/24")))))
		_, subnet := w.real(network)
		Expect(subnet.id()).To(Equal(subnets[at].id()), "the new one is still the same")
	})

	It("that overlaps the old one waits until nobody uses that, and changes nothing before", func() {
		w := running()
		network := w.ready("a", "10.3.0.0/24")
		held, old := w.real(network)
		port := member.port(held.id(), old.id(), "")
		calls := w.tape.mark()
		w.Change("a", cidr("10.3.0.0/23"))
		Eventually(w.Of("a")).Should(beUnready(samplecrdv1.NetworkReasonInUse, ContainSubstring(port), ContainSubstring("10.3.0.0/24")))
		Expect(w.tape.writes(calls)).To(BeEmpty())

		member.remove("ports", port)
		w.touch("a")
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), HaveField("Status.Subnets", ConsistOf(HaveField("CIDR", "10.3.0.0/23")))))
		Expect(w.tape.writes(calls)).To(Equal([]string{"DELETE subnets/{id} 204", "POST subnets 201"}))
		_, subnet := w.real(network)
		Expect(subnet).To(HaveKeyWithValue("cidr", "10.3.0.0/23"))
	})
})
