package controller

import (
	"errors"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

func retained(network *samplecrdv1.Network) {
	network.Spec.DeletionPolicy = new(samplecrdv1.DeletionRetain)
}

var _ = Describe("The deletion of a Network", func() {
	It("waits while something uses the network, says who, and ends by itself", func() {
		w := onMemory()
		created := w.network("a", "10.0.0.0/24")
		Eventually(w.of("a")).Should(beReady())
		var users []string
		for i := range 30 {
			users = append(users, fmt.Sprintf("Pod shop/web-%02d", i))
		}
		w.backend.SetUsers(created.UID, users...)
		w.remove("a")
		Eventually(w.of("a")).Should(And(
			haveCondition(programmed, metav1.ConditionFalse, samplecrdv1.NetworkReasonInUse),
			haveCondition(ready, metav1.ConditionFalse, samplecrdv1.NetworkReasonInUse),
			beHeld(),
		))
		said := message(w.get("a"), programmed)
		Expect(strings.Count(said, "Pod shop/web-")).To(Equal(10))
		Expect(said).To(And(ContainSubstring(users[0]), ContainSubstring("and others")))
		Expect(w.backend.Networks()).To(HaveKey(created.UID))
		w.backend.SetUsers(created.UID)
		Eventually(w.gone("a")).Should(BeTrue())
		Expect(w.backend.Networks()).To(BeEmpty())
	})

	It("is tried again when the backend fails", func() {
		w := onMemory()
		w.network("a", "10.0.0.0/24")
		Eventually(w.of("a")).Should(beReady())
		settled()
		away := errors.New("away")
		w.backend.Fail(away, away, away)
		w.remove("a")
		Eventually(w.gone("a")).Should(BeTrue())
		Expect(w.backend.Networks()).To(BeEmpty())
	})

	It("takes the network along, and the name can be used again at once", func() {
		w := onMultus()
		w.network("a", "10.0.0.0/24")
		Eventually(w.of("a")).Should(beReady())
		before := w.cni("a")(Default)
		w.remove("a")
		Eventually(w.gone("a")).Should(BeTrue())
		Expect(w.nadGone("a")()).To(BeTrue())
		w.network("a", "10.0.0.0/24")
		Eventually(w.of("a")).Should(beReady())
		Expect(w.cni("a")(Default).Name).NotTo(Equal(before.Name), "host-local must not find the old leases")
	})

	DescribeTable("leaves the network behind with Retain, no longer ours", func(policy func(*world)) {
		w := onMultus()
		w.network("a", "10.0.0.0/24", func(network *samplecrdv1.Network) { network.Finalizers = []string{foreignFinalizer} })
		Eventually(w.of("a")).Should(beReady())
		config := w.cni("a")(Default)
		policy(w)
		Eventually(func(g Gomega) {
			nad := w.nad("a")(g)
			g.Expect(nad.GetOwnerReferences()).To(BeEmpty())
			g.Expect(nad.GetLabels()).NotTo(HaveKey("app.kubernetes.io/managed-by"))
			g.Expect(nad.GetDeletionTimestamp()).To(BeNil())
		}).Should(Succeed())
		Eventually(w.of("a")).ShouldNot(beHeld())
		w.change("a", func(network *samplecrdv1.Network) { network.Finalizers = nil })
		Eventually(w.gone("a")).Should(BeTrue())
		Expect(w.cni("a")(Default)).To(Equal(config))
	},
		Entry("set before", func(w *world) {
			w.change("a", retained)
			w.remove("a")
		}),
		Entry("set while it is being deleted", func(w *world) {
			w.stop()
			w.remove("a")
			w.start(multusOptionsOnlyWebhooks)
			w.change("a", retained)
			w.stop()
			w.start(multusOptions)
		}),
	)

	It("ends with Retain set while the backend still says that somebody uses the network", func() {
		w := onMemory()
		created := w.network("a", "10.0.0.0/24")
		Eventually(w.of("a")).Should(beReady())
		w.backend.SetUsers(created.UID, "Pod shop/web-0")
		w.remove("a")
		Eventually(w.of("a")).Should(haveCondition(programmed, metav1.ConditionFalse, samplecrdv1.NetworkReasonInUse))
		w.change("a", retained)
		Eventually(w.gone("a")).Should(BeTrue())
		Expect(w.backend.Released()).To(ConsistOf(HaveField("Owner.UID", created.UID)))
	})

	It("ends with Retain although the backend does not answer", func() {
		w := onMemory()
		w.network("a", "10.0.0.0/24", retained)
		Eventually(w.of("a")).Should(beReady())
		settled()
		w.backend.Fail(errors.New("away"))
		w.remove("a")
		Eventually(w.gone("a")).Should(BeTrue())
	})

	It("leaves a foreign finalizer and says that the backend has let go", func() {
		w := onMemory()
		w.network("a", "10.0.0.0/24", func(network *samplecrdv1.Network) { network.Finalizers = []string{foreignFinalizer} })
		Eventually(w.of("a")).Should(beReady())
		w.remove("a")
		Eventually(w.of("a")).Should(And(
			Not(beHeld()),
			Not(haveCondition(ready, metav1.ConditionTrue, samplecrdv1.NetworkReasonReady)),
			HaveField("Status.ProviderID", BeNil()),
			HaveField("Status.Subnets", BeEmpty()),
		))
		Expect(w.backend.Networks()).To(BeEmpty())
	})

	It("happens while the manager is away, and is made up for", func() {
		w := onMemory()
		w.network("a", "10.0.0.0/24")
		Eventually(w.of("a")).Should(beReady())
		w.stop()
		w.remove("a")
		Expect(w.get("a")).To(beHeld())
		w.startOnMemory()
		Eventually(w.gone("a")).Should(BeTrue())
		Expect(w.backend.Networks()).To(BeEmpty())
	})
})
