package controller

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/matchers"
)

var _ = Describe("More changes than a status has room for", func() {
	// eight gives a Network eight subnets of a block.
	eight := func(block int) func(*samplecrdv1.Network) {
		return func(network *samplecrdv1.Network) {
			network.Spec.CIDR, network.Spec.AdditionalSubnets = fmt.Sprintf("10.%d.0.0/24", block), nil
			for i := 1; i < 8; i++ {
				network.Spec.AdditionalSubnets = append(network.Spec.AdditionalSubnets, samplecrdv1.SubnetSpec{CIDR: fmt.Sprintf("10.%d.%d.0/24", block, i)})
			}
		}
	}
	useBlock := func(w *world, network *samplecrdv1.Network, block int, users ...string) {
		GinkgoHelper()
		for i := range 8 {
			w.use(network, fmt.Sprintf("10.%d.%d.0/24", block, i), users...)
		}
	}

	It("wait until something has drained, and are then carried out by themselves", func() {
		w := onMemory()
		created := w.Network("a", "", eight(1))
		Eventually(w.Of("a")).Should(matchers.BeReady())
		useBlock(w, created, 1, "Pod web-1")
		w.Change("a", eight(2))
		Eventually(w.Of("a")).Should(And(beWithout(samplecrdv1.NetworkReasonDraining, false), HaveField("Status.Subnets", HaveLen(16))))
		useBlock(w, created, 2, "Pod web-2")

		w.Change("a", eight(3))
		Eventually(w.Of("a")).Should(And(beWithout(samplecrdv1.NetworkReasonDraining, false), HaveField("Status.Subnets", HaveLen(16))))
		settled()
		Expect(w.backendHolds(created)()).To(And(HaveLen(16), Not(ContainElement(HavePrefix("10.3.")))))

		By("making room for one of them")
		w.use(created, "10.1.4.0/24")
		Eventually(w.backendHolds(created)).Should(And(HaveLen(16), ContainElement("10.3.0.0/24"), Not(ContainElement("10.1.4.0/24"))))
		Eventually(w.Of("a")).Should(And(
			beWithout(samplecrdv1.NetworkReasonDraining, false),
			HaveField("Status.Subnets", And(HaveLen(16), ContainElement(And(HaveField("CIDR", "10.3.0.0/24"), HaveField("State", samplecrdv1.SubnetActive))))),
		))

		By("making room for all")
		for _, i := range []int{0, 1, 2, 3, 5, 6, 7} {
			w.use(created, fmt.Sprintf("10.1.%d.0/24", i))
		}
		Eventually(w.Of("a")).Should(HaveField("Status.Subnets", And(HaveLen(16), HaveEach(HaveField("CIDR", Not(HavePrefix("10.1.")))))))
		useBlock(w, created, 2)
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), HaveField("Status.Subnets", And(HaveLen(8), HaveEach(HaveField("CIDR", HavePrefix("10.3.")))))))
	})
})
