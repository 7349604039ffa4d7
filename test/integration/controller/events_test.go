package controller

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

var _ = Describe("The Events of a Network", func() {
	It("are one for each transition, and none for a look that changes nothing", func() {
		w := onMemory()
		w.network("a", "10.0.0.0/24")
		Eventually(w.of("a")).Should(beReady())
		Eventually(w.events("a")).Should(Equal([]string{"Normal Ready"}))
		w.touch("a")
		w.touch("a")
		settled()

		away := errors.New("away")
		w.backend.Fail(away, away, away)
		w.change("a", func(network *samplecrdv1.Network) { network.Spec.Gateway = "10.0.0.9" })
		Eventually(w.events("a")).Should(ContainElement("Warning BackendUnavailable"))
		Eventually(w.of("a")).Should(beReady())
		settled()
		Consistently(w.events("a")).Should(ConsistOf(
			Or(Equal("Normal Ready"), Equal("Normal Ready again")), Or(Equal("Normal Ready"), Equal("Normal Ready again")),
			"Warning BackendUnavailable",
		))
	})

	It("do not come again with a new manager", func() {
		w := onMemory()
		w.network("a", "10.0.0.0/24")
		w.network("b", "10.0.0.0/24")
		Eventually(w.of("a")).Should(beReady())
		Eventually(w.of("b")).Should(beRefused(samplecrdv1.NetworkReasonOverlap, true))
		Eventually(w.events("b")).Should(Equal([]string{"Warning Overlap"}))
		w.stop()
		w.startOnMemory()
		w.touch("b")
		settled()
		Consistently(w.events("b")).Should(Equal([]string{"Warning Overlap"}))
		Expect(w.events("a")(Default)).To(Equal([]string{"Normal Ready"}))
	})
})
