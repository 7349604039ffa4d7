package neutron

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/matchers"
)

var _ = Describe("What somebody else does to a network", func() {
	It("is seen and put right", func() {
		w := running(swept)
		network := w.ready("a", "10.1.0.0/24")
		w.ready("b", "10.2.0.0/24")
		held, subnet := w.real(network)
		other, _ := w.real(w.Get("b"))
		took := map[string]string{}
		step := func(what string, change func(), done func(Gomega)) {
			GinkgoHelper()
			begun := time.Now()
			change()
			Eventually(done).Should(Succeed())
			took[what] = time.Since(begun).Round(100 * time.Millisecond).String()
		}

		step("gateway", func() { member.change("subnets", subnet.id(), object{"gateway_ip": nil}) }, func(g Gomega) {
			g.Expect(member.find("subnets", "id", subnet.id())).To(ConsistOf(HaveKeyWithValue("gateway_ip", "10.1.0.1")))
		})
		step("name", func() { member.change("networks", held.id(), object{"name": w.Namespace + "/else"}) }, func(g Gomega) {
			g.Expect(member.find("networks", "id", held.id())).To(ConsistOf(HaveKeyWithValue("name", w.Namespace+"/a")))
		})
		step("subnet", func() { member.remove("subnets", subnet.id()) }, func(g Gomega) {
			_, subnets := made(member, network)
			g.Expect(subnets).To(HaveLen(1))
			g.Expect(w.Of("a")(g)).To(And(matchers.BeReady(), HaveField("Status.Subnets", ConsistOf(HaveField("ProviderID", HaveValue(Equal(subnets[0].id())))))))
		})
		step("network", func() { member.remove("networks", held.id()) }, func(g Gomega) {
			networks, subnets := made(member, network)
			g.Expect(networks).To(HaveLen(1))
			g.Expect(subnets).To(HaveLen(1))
			g.Expect(w.Of("a")(g)).To(And(matchers.BeReady(), HaveField("Status.ProviderID", HaveValue(Equal(networks[0].id())))))
		})
		AddReportEntry("Repaired after", took)
		Expect(member.find("networks", "id", other.id())).To(ConsistOf(HaveKeyWithValue("revision_number", other["revision_number"])), "nobody touched the other one")
	})

	It("costs two calls a sweep when it is nothing, and no write of a status", func() {
		w := running(swept)
		w.ready("a", "10.1.0.0/24")
		w.ready("b", "10.2.0.0/24")
		// From the end of one sweep on.
		since := w.tape.mark()
		Eventually(w.tape.count(since, "GET subnets 200")).Should(Equal(1))
		versions, calls := len(told.versions(w.Namespace)), w.tape.mark()
		Eventually(w.tape.count(calls, "GET subnets 200")).Should(Equal(3))
		Expect(w.tape.told(calls)[:6]).To(Equal([]string{
			"GET networks 200", "GET subnets 200", "GET networks 200", "GET subnets 200", "GET networks 200", "GET subnets 200",
		}))
		Expect(told.versions(w.Namespace)).To(HaveLen(versions))
	})

	It("is a conflict when the mark is taken off, and no second network is made", func() {
		w := running(swept)
		network := w.ready("a", "10.1.0.0/24")
		held, _ := w.real(network)
		member.change("networks", held.id(), object{"description": "mine now"})
		Eventually(w.Of("a")).Should(And(beUnready(samplecrdv1.NetworkReasonConflict, ContainSubstring(held.id()), ContainSubstring(mark(network))), beStalled()))
		Expect(member.find("networks", "name", w.Namespace+"/a")).To(ConsistOf(HaveKeyWithValue("description", "mine now")))
		member.change("networks", held.id(), object{"description": mark(network)})
		w.touch("a")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Expect(w.tape.count(0, "POST networks")()).To(Equal(1))
	})
})
