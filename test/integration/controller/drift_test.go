package controller

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers/memory"
	"github.com/samplecrd/samplecrd/test/builders"
	"github.com/samplecrd/samplecrd/test/matchers"
)

const managedByUs = "samplecrd-controller"

var _ = Describe("The NetworkAttachmentDefinition of a Network", func() {
	var (
		w       *world
		created *samplecrdv1.Network
	)

	BeforeEach(func() {
		w = onMultus()
		// The seed's Network.
		created = w.Network("a", "192.168.0.0/16", builders.Gateway("192.168.0.1"))
		Eventually(w.Of("a")).Should(matchers.BeReady())
	})

	It("has the range and the gateway, and never hands the gateway out", func() {
		config := w.cni("a")(Default)
		Expect(config.Type).To(Equal("bridge"))
		Expect(config.IPAM.Type).To(Equal("host-local"))
		Expect(config.IPAM.Ranges).To(Equal([][]cniRange{{{Subnet: "192.168.0.0/16", Gateway: "192.168.0.1"}}}))
		Expect(config.IsGateway).To(BeTrue())
		Expect(config.ForceAddress).To(BeTrue())
		Expect(len(config.Bridge)).To(BeNumerically("<=", 15))
		nad := w.nad("a")(Default)
		Expect(nad.GetLabels()).To(HaveKeyWithValue("app.kubernetes.io/managed-by", managedByUs))
		Expect(nad.GetOwnerReferences()).To(ConsistOf(And(HaveField("UID", created.UID), HaveField("Kind", "Network"))))
	})

	It("follows the gateway, also where the range is written with host bits", func() {
		w.Change("a", func(network *samplecrdv1.Network) {
			network.Spec.CIDR, network.Spec.Gateway = "192.168.1.0/16", "192.168.1.1"
		})
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Expect(w.cni("a")(Default).IPAM.Ranges).To(Equal([][]cniRange{{{Subnet: "192.168.0.0/16", Gateway: "192.168.1.1"}}}))
		Expect(w.Get("a").Status.Subnets).To(ConsistOf(And(HaveField("CIDR", "192.168.0.0/16"), HaveField("Gateway", HaveValue(Equal("192.168.1.1"))))))
	})

	It("carries the gateway in the range of every pool", func() {
		w.Change("a", func(network *samplecrdv1.Network) {
			network.Spec.AllocationPools = []samplecrdv1.AddressRange{
				{Start: "192.168.0.10", End: "192.168.0.20"}, {Start: "192.168.3.0", End: "192.168.3.255"},
			}
		})
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Expect(w.cni("a")(Default).IPAM.Ranges).To(Equal([][]cniRange{{
			{Subnet: "192.168.0.0/16", Gateway: "192.168.0.1", RangeStart: "192.168.0.10", RangeEnd: "192.168.0.20"},
			{Subnet: "192.168.0.0/16", Gateway: "192.168.0.1", RangeStart: "192.168.3.0", RangeEnd: "192.168.3.255"},
		}}))
	})

	It("follows the range, in place", func() {
		before := w.nad("a")(Default)
		w.Change("a", func(network *samplecrdv1.Network) {
			network.Spec.CIDR, network.Spec.Gateway = "10.5.0.0/24", "10.5.0.254"
		})
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), HaveField("Status.Subnets", ConsistOf(HaveField("CIDR", "10.5.0.0/24")))))
		Expect(w.cni("a")(Default).IPAM.Ranges).To(Equal([][]cniRange{{{Subnet: "10.5.0.0/24", Gateway: "10.5.0.254"}}}))
		Expect(w.nad("a")(Default).GetUID()).To(Equal(before.GetUID()))
	})

	It("is no gateway's where the Network has none", func() {
		w.Change("a", func(network *samplecrdv1.Network) { network.Spec.Gateway = samplecrdv1.GatewayNone })
		Eventually(w.Of("a")).Should(matchers.BeReady())
		config := w.cni("a")(Default)
		Expect(config.IsGateway).To(BeFalse())
		Expect(config.IPAM.Ranges).To(Equal([][]cniRange{{{Subnet: "192.168.0.0/16"}}}))
	})

	DescribeTable("is restored when somebody edits it, and keeps what others added", func(edit func(*unstructured.Unstructured)) {
		before := w.nad("a")(Default)
		w.tamper("a", func(nad *unstructured.Unstructured) {
			nad.SetLabels(map[string]string{"app.kubernetes.io/managed-by": managedByUs, "team": "shop"})
			nad.SetAnnotations(map[string]string{"k8s.v1.cni.cncf.io/resourceName": "example.com/net"})
			nad.SetFinalizers([]string{foreignFinalizer})
			edit(nad)
		})
		DeferCleanup(func() {
			w.tamper("a", func(nad *unstructured.Unstructured) { nad.SetFinalizers(nil) })
		})
		Eventually(func(g Gomega) {
			nad := w.nad("a")(g)
			g.Expect(nad.Object["spec"]).To(Equal(before.Object["spec"]))
			g.Expect(nad.GetLabels()).To(Equal(map[string]string{"app.kubernetes.io/managed-by": managedByUs, "team": "shop"}))
			g.Expect(nad.GetOwnerReferences()).To(ContainElements(before.GetOwnerReferences()))
		}).Should(Succeed())
		nad := w.nad("a")(Default)
		Expect(nad.GetAnnotations()).To(HaveKey("k8s.v1.cni.cncf.io/resourceName"))
		Expect(nad.GetFinalizers()).To(ConsistOf(foreignFinalizer))
		Expect(nad.GetUID()).To(Equal(before.GetUID()))
		Expect(w.Get("a")).To(matchers.BeReady())
	},
		Entry("its configuration", func(nad *unstructured.Unstructured) {
			nad.Object["spec"] = map[string]any{"config": `{"type":"macvlan"}`}
		}),
		Entry("its configuration removed", func(nad *unstructured.Unstructured) { delete(nad.Object, "spec") }),
		Entry("its label", func(nad *unstructured.Unstructured) {
			nad.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "somebody", "team": "shop"})
		}),
		Entry("its label removed", func(nad *unstructured.Unstructured) { nad.SetLabels(map[string]string{"team": "shop"}) }),
		Entry("its owner reference bent", func(nad *unstructured.Unstructured) {
			owners := nad.GetOwnerReferences()
			owners[0].Controller = nil
			nad.SetOwnerReferences(owners)
		}),
	)

	It("PR-18: comes again when somebody deletes it, and the Network can then be deleted", func() {
		before := w.nad("a")(Default)
		Expect(w.Client.Delete(ctx, before)).To(Succeed())
		Eventually(func(g Gomega) {
			nad := w.nad("a")(g)
			g.Expect(nad.GetUID()).NotTo(Equal(before.GetUID()))
			g.Expect(nad.Object["spec"]).To(Equal(before.Object["spec"]))
		}).Should(Succeed())
		Eventually(w.Of("a")).Should(matchers.BeReady())
		w.Remove("a")
		Eventually(w.Gone("a")).Should(BeTrue())
		Expect(w.nadGone("a")()).To(BeTrue())
	})

	It("PR-18: needs not be there for the Network to go", func() {
		w.stop()
		Expect(w.Client.Delete(ctx, w.nad("a")(Default))).To(Succeed())
		w.Remove("a")
		w.start(multusOptions)
		Eventually(w.Gone("a")).Should(BeTrue())
	})
})

var _ = Describe("A network on a backend that tells of changes", func() {
	It("is made again when somebody removes it", func() {
		w := onMemory()
		created := w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		settled()
		before := w.backend.Networks()[created.UID].ID
		w.backend.Tamper(created.UID, func(network *memory.Network) { network.ID = "" })
		Eventually(w.backend.Networks).Should(HaveKeyWithValue(created.UID, HaveField("ID", Not(Equal(before)))))
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), HaveField("Status.ProviderID", HaveValue(Not(Equal(before))))))
	})
})
