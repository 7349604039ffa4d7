package controller

import (
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/matchers"
	"github.com/samplecrd/samplecrd/test/metrics"
)

var _ = Describe("The steps of a Network", func() {
	It("are at most three writes to it and one to its NetworkAttachmentDefinition", func() {
		w := newWorld(whole)
		var written atomic.Int64
		w.start(countingMultus(&written))
		Eventually(w.classCondition(w.Class)).ShouldNot(BeNil())
		settled()
		seen, before := w.record(), writes(Default, w.Env)
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		settled()

		want := metrics.Requests{
			"POST networks 201":                       1, // the test's own
			"PATCH networks 200":                      1, // the finalizer
			"PATCH networks/status 200":               2, // the claim; Ready
			"POST network-attachment-definitions 201": 1,
		}
		Eventually(writesSince(w.Env, before)).Should(Equal(want))
		Expect(seen.of("a")).To(HaveLen(4), "each write is one version")

		w.touch("a")
		settled()
		want["PATCH networks 200"]++ // the test's own
		Consistently(writesSince(w.Env, before)).Should(Equal(want))
		Expect(written.Load()).To(BeEquivalentTo(1))
	})

	It("store finalizer and claim before the backend is touched", func() {
		w := onMemory()
		seen := w.record()
		unblock := w.backend.Block()
		w.Network("a", "10.0.0.0/24")
		Eventually(w.backend.Calls).WithArguments("Ensure").Should(Equal(1))
		network := w.Get("a")
		Expect(network).To(And(
			matchers.BeHeld(),
			HaveField("Status.Subnets", ConsistOf(samplecrdv1.SubnetStatus{CIDR: "10.0.0.0/24", Gateway: new("10.0.0.1"), State: samplecrdv1.SubnetPending})),
			matchers.HaveCondition(accepted, metav1.ConditionTrue, samplecrdv1.NetworkReasonAccepted),
			matchers.HaveCondition(programmed, metav1.ConditionUnknown, samplecrdv1.NetworkReasonPending),
			matchers.HaveCondition(ready, metav1.ConditionUnknown, samplecrdv1.NetworkReasonPending),
			WithTransform(matchers.Verdict, Equal(matchers.InProgress)),
		))
		Expect(w.backend.Writes()).To(BeZero())
		unblock()
		Eventually(w.Of("a")).Should(matchers.BeReady())
		for _, version := range seen.of("a") {
			// The claim comes first: a Network that loses it to a crash is free to go.
			if len(version.Finalizers) > 0 {
				Expect(version.Status.Subnets).NotTo(BeEmpty())
			}
		}
	})

	It("claim a new range before they touch the backend for it, and keep the old one until it has let go", func() {
		w := onMemory()
		created := w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		settled()
		unblock := w.backend.Block()
		asked := w.backend.Calls("Ensure")
		w.Change("a", func(network *samplecrdv1.Network) { network.Spec.CIDR = "10.1.0.0/24" })
		Eventually(w.backend.Calls).WithArguments("Ensure").Should(BeNumerically(">", asked))
		Expect(w.Get("a")).To(And(
			matchers.HaveCondition(ready, metav1.ConditionUnknown, samplecrdv1.NetworkReasonPending),
			matchers.HaveCondition(programmed, metav1.ConditionUnknown, samplecrdv1.NetworkReasonPending),
			HaveField("Status.Subnets", ConsistOf(
				And(HaveField("CIDR", "10.0.0.0/24"), HaveField("State", samplecrdv1.SubnetActive)),
				And(HaveField("CIDR", "10.1.0.0/24"), HaveField("State", samplecrdv1.SubnetPending)),
			)),
		))
		Expect(w.backend.Networks()[created.UID].Subnets[0].Prefix.String()).To(Equal("10.0.0.0/24"))
		unblock()
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), HaveField("Status.Subnets", ConsistOf(HaveField("CIDR", "10.1.0.0/24")))))
		Expect(w.backend.Networks()[created.UID].Subnets[0].Prefix.String()).To(Equal("10.1.0.0/24"))
	})

	It("never say Ready for a generation that the backend does not hold yet", func() {
		w := onMemory()
		created := w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		settled()
		unblock := w.backend.Block()
		asked := w.backend.Calls("Ensure")
		changed := w.Change("a", func(network *samplecrdv1.Network) { network.Spec.Gateway = "10.0.0.7" })
		Eventually(w.backend.Calls).WithArguments("Ensure").Should(BeNumerically(">", asked))
		Consistently(w.Of("a")).ShouldNot(matchers.BeReady())
		found := meta.FindStatusCondition(w.Get("a").Status.Conditions, ready)
		Expect(found.Status == metav1.ConditionTrue && found.ObservedGeneration == changed.Generation).To(BeFalse())
		unblock()
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Expect(w.backend.Networks()[created.UID].Subnets[0].Gateway.String()).To(Equal("10.0.0.7"))
		Expect(w.Get("a").Status.Subnets[0].Gateway).To(HaveValue(Equal("10.0.0.7")))
	})

	It("are taken again when somebody clears the status or takes the finalizer off", func() {
		w := onMemory()
		created := w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		settled()
		before := w.Get("a").Status
		cleared := w.Get("a")
		cleared.Status = samplecrdv1.NetworkStatus{}
		Expect(w.Client.Status().Update(ctx, cleared)).To(Succeed())
		Eventually(w.Of("a")).Should(And(matchers.BeReady(),
			HaveField("Status.Subnets", Equal(before.Subnets)), HaveField("Status.ProviderID", Equal(before.ProviderID))))
		w.Change("a", func(network *samplecrdv1.Network) { network.Finalizers = nil })
		Eventually(w.Of("a")).Should(matchers.BeHeld())
		Expect(w.held()).To(ConsistOf(created.UID))
		Expect(w.backend.Writes()).To(Equal(1))
	})
})
