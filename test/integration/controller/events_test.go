package controller

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/matchers"
)

var _ = Describe("The Events of a Network", func() {
	It("are one for each transition, and none for a look that changes nothing", func() {
		w := onMemory()
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Eventually(w.Events("a")).Should(ConsistOf(HavePrefix("Normal Ready: ")))
		w.touch("a")
		w.touch("a")
		settled()

		away := errors.New("away")
		w.backend.Fail(away, away, away)
		w.Change("a", func(network *samplecrdv1.Network) { network.Spec.Gateway = "10.0.0.9" })
		Eventually(w.Events("a")).Should(ContainElement(HavePrefix("Warning BackendUnavailable: ")))
		Eventually(w.Of("a")).Should(matchers.BeReady())
		settled()
		Consistently(w.Events("a")).Should(ConsistOf(
			HavePrefix("Normal Ready: "), HavePrefix("Normal Ready: "), HavePrefix("Warning BackendUnavailable: "),
		))
	})

	It("do not come again with a new manager", func() {
		w := onMemory()
		w.Network("a", "10.0.0.0/24")
		w.Network("b", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Eventually(w.Of("b")).Should(beRefused(samplecrdv1.NetworkReasonOverlap, true))
		Eventually(w.Events("b")).Should(ConsistOf(HavePrefix("Warning Overlap: ")))
		w.stop()
		w.startOnMemory()
		w.touch("b")
		settled()
		Consistently(w.Events("b")).Should(ConsistOf(HavePrefix("Warning Overlap: ")))
		Expect(w.Events("a")(Default)).To(ConsistOf(HavePrefix("Normal Ready: ")))
	})
})
