package controller

import (
	"fmt"
	"strings"
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
	"github.com/samplecrd/samplecrd/test/matchers"
)

// multusOptions is what the binary runs.
var multusOptions = env.ManagerOptions{Controllers: true, Webhooks: true}

// multusOptionsOnlyWebhooks judges, and reconciles nothing.
var multusOptionsOnlyWebhooks = env.ManagerOptions{Webhooks: true}

func (w *world) nadGone(name string) func() bool {
	return func() bool {
		return apierrors.IsNotFound(w.Client.Get(ctx, types.NamespacedName{Namespace: w.Namespace, Name: name}, newNAD("", "")))
	}
}

var _ = Describe("A Network on Multus", func() {
	DescribeTable("is Unsupported where host-local cannot serve it", func(change func(*samplecrdv1.Network), reason string) {
		w := onMultus()
		w.Network("a", "10.0.0.0/24", change)
		Eventually(w.Of("a")).Should(beRefused(samplecrdv1.NetworkReasonUnsupported, true))
		Expect(matchers.Message(w.Get("a"), ready)).To(ContainSubstring(reason))
		Expect(w.nadGone("a")()).To(BeTrue())
	},
		Entry("a /31", func(n *samplecrdv1.Network) { n.Spec.CIDR = "10.0.0.0/31" }, "longest prefix is /30"),
		Entry("a /127", func(n *samplecrdv1.Network) { n.Spec.CIDR = "2001:db8::/127" }, "longest prefix is /126"),
		Entry("DHCP", func(n *samplecrdv1.Network) { n.Spec.DHCP = new(samplecrdv1.DHCPEnabled) }, "spec.dhcp"),
		Entry("a second IPv4 gateway", func(n *samplecrdv1.Network) {
			n.Spec.AdditionalSubnets = []samplecrdv1.SubnetSpec{{CIDR: "10.1.0.0/24"}}
		}, "spec.additionalSubnets[0].gateway"),
		Entry("a gateway on one of two subnets", func(n *samplecrdv1.Network) {
			n.Spec.AdditionalSubnets = []samplecrdv1.SubnetSpec{{CIDR: "2001:db8::/64", Gateway: samplecrdv1.GatewayNone}}
		}, "spec.additionalSubnets[0].gateway"),
	)

	It("brings both families, pools, DNS servers, routes and the MTU into the NetworkAttachmentDefinition", func() {
		w := onMultus()
		w.Network("a", "10.0.0.0/24", func(n *samplecrdv1.Network) {
			n.Spec.AllocationPools = []samplecrdv1.AddressRange{{Start: "10.0.0.10", End: "10.0.0.19"}, {Start: "10.0.0.30", End: "10.0.0.39"}}
			n.Spec.DNSServers = []string{"192.0.2.53"}
			n.Spec.Routes = []samplecrdv1.Route{{Destination: "172.16.0.0/12", NextHop: "10.0.0.9"}}
			n.Spec.MTU = new(int32(1400))
			n.Spec.AdditionalSubnets = []samplecrdv1.SubnetSpec{{
				CIDR: "2001:0DB8::1/64", Gateway: "2001:db8::fe", DNSServers: []string{"2001:db8::53", "192.0.2.53"},
				AllocationPools: []samplecrdv1.AddressRange{{Start: "2001:db8::100", End: "2001:db8::1ff"}},
				Routes:          []samplecrdv1.Route{{Destination: "2001:db8:1::/48", NextHop: "2001:db8::9"}},
			}}
		})
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), haveSubnets("10.0.0.0/24 Active", "2001:db8::/64 Active")))
		uid := string(w.Get("a").UID)
		Expect(w.nad("a")(Default).Object["spec"]).To(HaveKeyWithValue("config", MatchJSON(fmt.Sprintf(`{
			"cniVersion": "1.0.0", "name": %q, "type": "bridge", "bridge": %q, "isGateway": true, "forceAddress": true, "mtu": 1400,
			"ipam": {
				"type": "host-local",
				"ranges": [
					[
						{"subnet": "10.0.0.0/24", "gateway": "10.0.0.1", "rangeStart": "10.0.0.10", "rangeEnd": "10.0.0.19"},
						{"subnet": "10.0.0.0/24", "gateway": "10.0.0.1", "rangeStart": "10.0.0.30", "rangeEnd": "10.0.0.39"}
					],
					[{"subnet": "2001:db8::/64", "gateway": "2001:db8::fe", "rangeStart": "2001:db8::100", "rangeEnd": "2001:db8::1ff"}]
				],
				"routes": [{"dst": "172.16.0.0/12", "gw": "10.0.0.9"}, {"dst": "2001:db8:1::/48", "gw": "2001:db8::9"}]
			},
			"dns": {"nameservers": ["192.0.2.53", "2001:db8::53"]}
		}`, uid, "br-"+strings.ReplaceAll(uid, "-", "")[:12]))))

		w.Change("a", func(n *samplecrdv1.Network) {
			n.Spec.AllocationPools, n.Spec.DNSServers, n.Spec.Routes, n.Spec.AdditionalSubnets = nil, nil, nil, nil
		})
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), haveSubnets("10.0.0.0/24 Active")))
		Expect(w.cni("a")(Default).IPAM.Ranges).To(Equal([][]cniRange{{{Subnet: "10.0.0.0/24", Gateway: "10.0.0.1"}}}))
	})

	It("leaves a foreign NetworkAttachmentDefinition alone, and takes its place when it goes", func() {
		w := onMultus()
		foreign := newNAD(w.Namespace, "a")
		foreign.SetLabels(map[string]string{"app.kubernetes.io/managed-by": managedByUs})
		Expect(w.Client.Create(ctx, foreign)).To(Succeed())
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(beWithout(samplecrdv1.NetworkReasonConflict, true))
		Expect(matchers.Message(w.Get("a"), ready)).To(ContainSubstring(`NetworkAttachmentDefinition "a"`))
		w.touch("a")
		settled()
		Expect(w.nad("a")(Default).GetResourceVersion()).To(Equal(foreign.GetResourceVersion()))
		Expect(w.Client.Delete(ctx, foreign)).To(Succeed())
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Expect(w.nad("a")(Default).GetUID()).NotTo(Equal(foreign.GetUID()))
	})

	It("leaves a foreign NetworkAttachmentDefinition behind when it is deleted beside it", func() {
		w := onMultus()
		foreign := newNAD(w.Namespace, "a")
		foreign.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: samplecrdv1.SchemeGroupVersion.String(), Kind: "Network", Name: "a", UID: "a-former-life",
		}})
		Expect(w.Client.Create(ctx, foreign)).To(Succeed())
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(beWithout(samplecrdv1.NetworkReasonConflict, true))
		w.Remove("a")
		Eventually(w.Gone("a")).Should(BeTrue())
		Expect(w.nad("a")(Default).GetResourceVersion()).To(Equal(foreign.GetResourceVersion()))
	})

	It("says QuotaExceeded where a ResourceQuota forbids the NetworkAttachmentDefinition", func() {
		w := onMultus()
		none := corev1.ResourceList{"count/network-attachment-definitions.k8s.cni.cncf.io": resource.MustParse("0")}
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "none"}}
		quota.Spec.Hard = none
		Expect(w.Client.Create(ctx, quota)).To(Succeed())
		// The control plane here has no controller that would count.
		quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
		Expect(w.Client.Status().Update(ctx, quota)).To(Succeed())
		Eventually(func(g Gomega) {
			err := w.Client.Create(ctx, newNAD(w.Namespace, "probe"))
			if err == nil {
				g.Expect(w.Client.Delete(ctx, newNAD(w.Namespace, "probe"))).To(Succeed())
			}
			g.Expect(err).To(MatchError(ContainSubstring("exceeded quota")))
		}).Should(Succeed())

		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(beWithout(samplecrdv1.NetworkReasonQuotaExceeded, false))
		Expect(w.Client.Delete(ctx, quota)).To(Succeed())
		Eventually(func(g Gomega) {
			w.touch("a")
			g.Expect(w.Of("a")(g)).To(matchers.BeReady())
		}).WithPolling(time.Second).Should(Succeed())
	})

	It("waits for a NetworkAttachmentDefinition that is held while it goes", func() {
		w := onMultus()
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		settled()
		w.tamper("a", func(nad *unstructured.Unstructured) { nad.SetFinalizers([]string{foreignFinalizer}) })
		w.Remove("a")
		Eventually(w.Of("a")).Should(And(matchers.BeHeld(), matchers.HaveCondition(programmed, metav1.ConditionUnknown, samplecrdv1.NetworkReasonPending)))
		Eventually(w.nad("a")).ShouldNot(HaveField("GetDeletionTimestamp()", BeNil()))
		Consistently(w.Of("a")).Should(matchers.BeHeld())
		w.tamper("a", func(nad *unstructured.Unstructured) { nad.SetFinalizers(nil) })
		Eventually(w.Gone("a")).Should(BeTrue())
	})
})

var _ = Describe("A change of a Network's range on Multus", func() {
	It("is carried out at once, and the old range is free for another Network", func() {
		w := onMultus()
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		for _, cidr := range []string{"10.1.0.0/24", "10.1.0.0/16", "10.1.128.0/17"} {
			w.move("a", cidr)
			Eventually(w.Of("a")).Should(And(matchers.BeReady(), haveSubnets(cidr+" Active")))
			config := w.cni("a")(Default)
			Expect(config.IPAM.Ranges).To(Equal([][]cniRange{{{Subnet: cidr, Gateway: w.Get("a").Spec.Gateway}}}))
		}
		for name, cidr := range map[string]string{"b": "10.0.0.0/24", "c": "10.1.0.0/17"} {
			// The webhook's cache may not show yet that the range is free.
			Eventually(func() error { return w.Client.Create(ctx, w.Draft(name, cidr)) }).Should(Succeed())
			Eventually(w.Of(name)).Should(matchers.BeReady())
		}
	})
})
