package controller

import (
	"errors"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8stypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/builders"
	"github.com/samplecrd/samplecrd/test/matchers"
)

var _ = Describe("The deletion of a Network", func() {
	It("waits while something uses the network, says who, and ends by itself", func() {
		w := onMemory()
		created := w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		var users []string
		for i := range 30 {
			users = append(users, fmt.Sprintf("Pod shop/web-%02d", i))
		}
		w.use(created, "10.0.0.0/24", users...)
		w.Remove("a")
		Eventually(w.Of("a")).Should(And(
			matchers.HaveCondition(programmed, metav1.ConditionFalse, samplecrdv1.NetworkReasonInUse),
			matchers.HaveCondition(ready, metav1.ConditionFalse, samplecrdv1.NetworkReasonInUse),
			matchers.BeHeld(),
		))
		said := matchers.Message(w.Get("a"), programmed)
		Expect(strings.Count(said, "Pod shop/web-")).To(Equal(10))
		Expect(said).To(And(ContainSubstring(users[0]), ContainSubstring("and others")))
		Expect(w.backend.Networks()).To(HaveKey(created.UID))
		w.use(created, "10.0.0.0/24")
		Eventually(w.Gone("a")).Should(BeTrue())
		Expect(w.backend.Networks()).To(BeEmpty())
	})

	It("is tried again when the backend fails", func() {
		w := onMemory()
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		settled()
		away := errors.New("away")
		w.backend.Fail(away, away, away)
		w.Remove("a")
		Eventually(w.Gone("a")).Should(BeTrue())
		Expect(w.backend.Networks()).To(BeEmpty())
	})

	It("takes the network along, and the name can be used again at once", func() {
		w := onMultus()
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		before := w.cni("a")(Default)
		w.Remove("a")
		Eventually(w.Gone("a")).Should(BeTrue())
		Expect(w.nadGone("a")()).To(BeTrue())
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Expect(w.cni("a")(Default).Name).NotTo(Equal(before.Name), "host-local must not find the old leases")
	})

	DescribeTable("leaves the network behind with Retain, no longer ours", func(policy func(*world)) {
		w := onMultus()
		w.Network("a", "10.0.0.0/24", func(network *samplecrdv1.Network) { network.Finalizers = []string{foreignFinalizer} })
		Eventually(w.Of("a")).Should(matchers.BeReady())
		config := w.cni("a")(Default)
		policy(w)
		Eventually(func(g Gomega) {
			nad := w.nad("a")(g)
			g.Expect(nad.GetOwnerReferences()).To(BeEmpty())
			g.Expect(nad.GetLabels()).NotTo(HaveKey("app.kubernetes.io/managed-by"))
			g.Expect(nad.GetDeletionTimestamp()).To(BeNil())
		}).Should(Succeed())
		Eventually(w.Of("a")).ShouldNot(matchers.BeHeld())
		w.Change("a", func(network *samplecrdv1.Network) { network.Finalizers = nil })
		Eventually(w.Gone("a")).Should(BeTrue())
		Expect(w.cni("a")(Default)).To(Equal(config))
	},
		Entry("set before", func(w *world) {
			w.Change("a", builders.Retained)
			w.Remove("a")
		}),
		Entry("set while it is being deleted", func(w *world) {
			w.stop()
			w.Remove("a")
			w.start(multusOptionsOnlyWebhooks)
			w.Change("a", builders.Retained)
			w.stop()
			w.start(multusOptions)
		}),
	)

	It("ends with Retain set while the backend still says that somebody uses the network", func() {
		w := onMemory()
		created := w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		w.use(created, "10.0.0.0/24", "Pod shop/web-0")
		w.Remove("a")
		Eventually(w.Of("a")).Should(matchers.HaveCondition(programmed, metav1.ConditionFalse, samplecrdv1.NetworkReasonInUse))
		w.Change("a", builders.Retained)
		Eventually(w.Gone("a")).Should(BeTrue())
		Expect(w.backend.Released()).To(ConsistOf(HaveField("Owner.UID", created.UID)))
	})

	It("ends with Retain although the backend does not answer", func() {
		w := onMemory()
		w.Network("a", "10.0.0.0/24", builders.Retained)
		Eventually(w.Of("a")).Should(matchers.BeReady())
		settled()
		w.backend.Fail(errors.New("away"))
		w.Remove("a")
		Eventually(w.Gone("a")).Should(BeTrue())
	})

	It("leaves a foreign finalizer and says that the backend has let go", func() {
		w := onMemory()
		w.Network("a", "10.0.0.0/24", func(network *samplecrdv1.Network) { network.Finalizers = []string{foreignFinalizer} })
		Eventually(w.Of("a")).Should(matchers.BeReady())
		w.Remove("a")
		Eventually(w.Of("a")).Should(And(
			Not(matchers.BeHeld()),
			Not(matchers.HaveCondition(ready, metav1.ConditionTrue, samplecrdv1.NetworkReasonReady)),
			HaveField("Status.ProviderID", BeNil()),
			HaveField("Status.Subnets", BeEmpty()),
		))
		Expect(w.backend.Networks()).To(BeEmpty())
	})

	It("happens while the manager is away, and is made up for", func() {
		w := onMemory()
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		w.stop()
		w.Remove("a")
		Expect(w.Get("a")).To(matchers.BeHeld())
		w.startOnMemory()
		Eventually(w.Gone("a")).Should(BeTrue())
		Expect(w.backend.Networks()).To(BeEmpty())
	})

	DescribeTable("CN-05: leaves a Network alone whose range is the same in other words, where nothing competes", func(on func() *world, first string) {
		w := on()
		class := w.newClass(func(class *samplecrdv1.NetworkClass) { class.Spec.OverlapScope = samplecrdv1.OverlapNone }).Name
		cidrs := map[string]string{"a": "10.0.0.0/8", "b": "10.161.0.0/8"}
		uids := map[string]k8stypes.UID{}
		for _, name := range []string{first, map[string]string{"a": "b", "b": "a"}[first]} {
			// The webhook's cache may not show the class yet.
			Eventually(func() error {
				network := w.Draft(name, cidrs[name], builders.OfClass(class))
				err := w.Client.Create(ctx, network)
				uids[name] = network.UID
				return err
			}).Should(Succeed())
		}
		for name := range cidrs {
			Eventually(w.Of(name)).Should(And(matchers.BeReady(), haveSubnets("10.0.0.0/8 Active")))
		}
		settled()
		before := w.real("b", uids["b"])
		Expect(before).NotTo(BeNil())
		w.Remove("a")
		Eventually(w.Gone("a")).Should(BeTrue())
		w.touch("b")
		settled()
		Expect(w.Of("b")(Default)).To(And(matchers.BeReady(), haveSubnets("10.0.0.0/8 Active")))
		Expect(w.real("b", uids["b"])).To(Equal(before))
		Expect(w.real("a", uids["a"])).To(BeNil())
	},
		Entry("on the fake, a first", onMemory, "a"),
		Entry("on the fake, b first", onMemory, "b"),
		Entry("on Multus, a first", onMultus, "a"),
		Entry("on Multus, b first", onMultus, "b"),
	)
})

// real is what the backend holds of a Network; nil when that is nothing.
func (w *world) real(name string, uid k8stypes.UID) any {
	GinkgoHelper()
	if w.Env == bare {
		if network, there := w.backend.Networks()[uid]; there {
			return network
		}
		return nil
	}
	nad := newNAD(w.Namespace, name)
	err := w.Client.Get(ctx, client.ObjectKeyFromObject(nad), nad)
	if apierrors.IsNotFound(err) {
		return nil
	}
	Expect(err).NotTo(HaveOccurred())
	return nad.Object
}
