package controller

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/env"
)

// multusOptions is what the binary runs.
var multusOptions = env.ManagerOptions{Controllers: true, Webhooks: true}

// multusOptionsOnlyWebhooks judges, and reconciles nothing.
var multusOptionsOnlyWebhooks = env.ManagerOptions{Webhooks: true}

func (w *world) nadGone(name string) func() bool {
	return func() bool {
		return apierrors.IsNotFound(w.Client.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, newNAD("", "")))
	}
}

var _ = Describe("A Network on Multus", func() {
	DescribeTable("is Unsupported where host-local cannot serve it", func(change func(*samplecrdv1.Network), reason string) {
		w := onMultus()
		w.network("a", "10.0.0.0/24", change)
		Eventually(w.of("a")).Should(beRefused(samplecrdv1.NetworkReasonUnsupported, true))
		Expect(message(w.get("a"), ready)).To(ContainSubstring(reason))
		Expect(w.nadGone("a")()).To(BeTrue())
	},
		Entry("a /31", func(n *samplecrdv1.Network) { n.Spec.CIDR = "10.0.0.0/31" }, "longest prefix is /30"),
		Entry("a /127", func(n *samplecrdv1.Network) { n.Spec.CIDR = "2001:db8::/127" }, "longest prefix is /126"),
		Entry("DHCP", func(n *samplecrdv1.Network) { n.Spec.DHCP = new(samplecrdv1.DHCPEnabled) }, "spec.dhcp"),
		Entry("DNS servers", func(n *samplecrdv1.Network) { n.Spec.DNSServers = []string{"10.0.0.53"} }, "spec.dnsServers"),
		Entry("a second subnet", func(n *samplecrdv1.Network) {
			n.Spec.AdditionalSubnets = []samplecrdv1.SubnetSpec{{CIDR: "10.1.0.0/24"}}
		}, "spec.additionalSubnets"),
	)

	It("leaves a foreign NetworkAttachmentDefinition alone, and takes its place when it goes", func() {
		w := onMultus()
		foreign := newNAD(w.namespace, "a")
		foreign.SetLabels(map[string]string{"app.kubernetes.io/managed-by": managedByUs})
		Expect(w.Client.Create(ctx, foreign)).To(Succeed())
		w.network("a", "10.0.0.0/24")
		Eventually(w.of("a")).Should(beWithout(samplecrdv1.NetworkReasonConflict, true))
		Expect(message(w.get("a"), ready)).To(ContainSubstring(`NetworkAttachmentDefinition "a"`))
		w.touch("a")
		settled()
		Expect(w.nad("a")(Default).GetResourceVersion()).To(Equal(foreign.GetResourceVersion()))
		Expect(w.Client.Delete(ctx, foreign)).To(Succeed())
		Eventually(w.of("a")).Should(beReady())
		Expect(w.nad("a")(Default).GetUID()).NotTo(Equal(foreign.GetUID()))
	})

	It("leaves a foreign NetworkAttachmentDefinition behind when it is deleted beside it", func() {
		w := onMultus()
		foreign := newNAD(w.namespace, "a")
		foreign.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: samplecrdv1.SchemeGroupVersion.String(), Kind: "Network", Name: "a", UID: "a-former-life",
		}})
		Expect(w.Client.Create(ctx, foreign)).To(Succeed())
		w.network("a", "10.0.0.0/24")
		Eventually(w.of("a")).Should(beWithout(samplecrdv1.NetworkReasonConflict, true))
		w.remove("a")
		Eventually(w.gone("a")).Should(BeTrue())
		Expect(w.nad("a")(Default).GetResourceVersion()).To(Equal(foreign.GetResourceVersion()))
	})

	It("says QuotaExceeded where a ResourceQuota forbids the NetworkAttachmentDefinition", func() {
		w := onMultus()
		none := corev1.ResourceList{"count/network-attachment-definitions.k8s.cni.cncf.io": resource.MustParse("0")}
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "none"}}
		quota.Spec.Hard = none
		Expect(w.Client.Create(ctx, quota)).To(Succeed())
		// The control plane here has no controller that would count.
		quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
		Expect(w.Client.Status().Update(ctx, quota)).To(Succeed())
		Eventually(func(g Gomega) {
			err := w.Client.Create(ctx, newNAD(w.namespace, "probe"))
			if err == nil {
				g.Expect(w.Client.Delete(ctx, newNAD(w.namespace, "probe"))).To(Succeed())
			}
			g.Expect(err).To(MatchError(ContainSubstring("exceeded quota")))
		}).Should(Succeed())

		w.network("a", "10.0.0.0/24")
		Eventually(w.of("a")).Should(beWithout(samplecrdv1.NetworkReasonQuotaExceeded, false))
		Expect(w.Client.Delete(ctx, quota)).To(Succeed())
		Eventually(func(g Gomega) {
			w.touch("a")
			g.Expect(w.of("a")(g)).To(beReady())
		}).WithPolling(time.Second).Should(Succeed())
	})

	It("waits for a NetworkAttachmentDefinition that is held while it goes", func() {
		w := onMultus()
		w.network("a", "10.0.0.0/24")
		Eventually(w.of("a")).Should(beReady())
		settled()
		w.tamper("a", func(nad *unstructured.Unstructured) { nad.SetFinalizers([]string{foreignFinalizer}) })
		w.remove("a")
		Eventually(w.of("a")).Should(And(beHeld(), haveCondition(programmed, metav1.ConditionUnknown, samplecrdv1.NetworkReasonPending)))
		Eventually(w.nad("a")).ShouldNot(HaveField("GetDeletionTimestamp()", BeNil()))
		Consistently(w.of("a")).Should(beHeld())
		w.tamper("a", func(nad *unstructured.Unstructured) { nad.SetFinalizers(nil) })
		Eventually(w.gone("a")).Should(BeTrue())
	})
})
