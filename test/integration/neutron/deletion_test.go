package neutron

import (
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/builders"
	"github.com/samplecrd/samplecrd/test/faults"
	"github.com/samplecrd/samplecrd/test/matchers"
)

var _ = Describe("The deletion of a Network", func() {
	It("PR-01: waits for ports that are not Neutron's own, names ten of them and their owners, and ends by itself", func() {
		w := running()
		network := w.ready("a", "10.1.0.0/24")
		held, subnet := w.real(network)
		last := member.port(held.id(), subnet.id(), "compute:nova")
		var others []string
		for range 11 {
			others = append(others, member.port(held.id(), subnet.id(), ""))
		}
		calls := w.tape.mark()
		w.Remove("a")
		Eventually(w.Of("a")).Should(beUnready(samplecrdv1.NetworkReasonInUse, ContainSubstring("and others")))
		said := message(w.Get("a"))
		Expect(strings.Count(said, "port ")).To(Equal(10), said)
		for _, port := range others {
			member.remove("ports", port)
		}
		w.touch("a")
		Eventually(w.Of("a")).Should(beUnready(samplecrdv1.NetworkReasonInUse, HaveSuffix("Still used by port "+last+" (compute:nova)")))
		Expect(w.Get("a")).To(And(matchers.BeHeld(), Not(beStalled())))
		Expect(w.tape.writes(calls)).To(BeEmpty())
		Expect(member.find("ports", "network_id", held.id())).To(ConsistOf(HaveKeyWithValue("id", last)))

		member.remove("ports", last)
		since := time.Now()
		Eventually(w.Gone("a")).WithTimeout(72 * time.Second * 5 / 4).Should(BeTrue())
		AddReportEntry("Gone after its last port", time.Since(since).String())
		networks, subnets := made(member, network)
		Expect(networks).To(BeEmpty())
		Expect(subnets).To(BeEmpty())
	})

	It("PR-02: goes on where it was when Neutron says for a while that the network is used", func() {
		w := running()
		w.ready("a", "10.1.0.0/24")
		w.faults.Add(faults.Rule{Method: http.MethodDelete, Path: "/networks/", Times: 3},
			faults.Failure(http.StatusConflict, "NetworkInUse", "Unable to complete operation on network. There are one or more ports still in use on the network."))
		calls := w.tape.mark()
		w.Remove("a")
		for tries := 1; tries <= 3; tries++ {
			Eventually(w.tape.count(calls, "DELETE networks/{id} 409")).Should(Equal(tries))
			Eventually(w.Of("a")).Should(beUnready(samplecrdv1.NetworkReasonInUse))
			w.settled()
			Consistently(w.tape.count(calls, "DELETE networks/{id} 409")).Should(Equal(tries), "no hot loop")
			w.touch("a")
		}
		Eventually(w.Gone("a")).Should(BeTrue())
		Expect(w.tape.writes(calls)).To(Equal([]string{
			"DELETE subnets/{id} 204", "DELETE networks/{id} 409", "DELETE networks/{id} 409", "DELETE networks/{id} 409", "DELETE networks/{id} 204",
		}))
		Expect(w.Events("a")(Default)).To(ConsistOf(HavePrefix("Normal Ready"), HavePrefix("Warning InUse")))
	})

	It("takes for done what somebody else has removed", func() {
		w := running()
		network := w.ready("a", "10.1.0.0/24")
		held, subnet := w.real(network)
		w.faults.Add(faults.Rule{Method: http.MethodDelete, Path: "/subnets/"}, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
			member.remove("subnets", subnet.id())
			member.remove("networks", held.id())
			return next.RoundTrip(request)
		})
		calls := w.tape.mark()
		w.Remove("a")
		Eventually(w.Gone("a")).Should(BeTrue())
		Expect(w.tape.writes(calls)).To(Equal([]string{"DELETE subnets/{id} 404", "DELETE networks/{id} 404"}))
	})

	It("leaves the network behind with Retain, with no mark on it", func() {
		w := running()
		network := w.ready("a", "10.1.0.0/24", builders.Retained)
		held, subnet := w.real(network)
		w.Remove("a")
		Eventually(w.Gone("a")).Should(BeTrue())
		Expect(member.find("networks", "id", held.id())).To(ConsistOf(
			And(HaveKeyWithValue("description", ""), HaveKeyWithValue("name", w.Namespace+"/a"))))
		Expect(member.find("subnets", "network_id", held.id())).To(ConsistOf(
			And(HaveKeyWithValue("description", ""), HaveKeyWithValue("id", subnet.id()), HaveKeyWithValue("cidr", "10.1.0.0/24"))))
	})

	It("ends when Retain is set while Neutron is away", func() {
		w := running()
		network := w.ready("a", "10.1.0.0/24")
		held, _ := w.real(network)
		w.faults.Add(faults.Rule{}, faults.Refused())
		w.Remove("a")
		Eventually(w.Of("a")).Should(And(matchers.BeHeld(), beUnready(samplecrdv1.NetworkReasonBackendUnavailable)))
		Consistently(w.Gone("a")).Should(BeFalse())
		w.Change("a", builders.Retained)
		Eventually(w.Gone("a")).Should(BeTrue())
		Expect(member.find("networks", "id", held.id())).To(HaveLen(1))
		Expect(w.tape.count(0, "DELETE networks")()).To(BeZero())
	})
})
