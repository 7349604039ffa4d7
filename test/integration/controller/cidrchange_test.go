package controller

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/matchers"
)

// use makes a subnet used on the fake backend, or free again with no users, which
// it is in any case when the spec ends.
func (w *world) use(network *samplecrdv1.Network, cidr string, users ...string) {
	GinkgoHelper()
	prefix := netip.MustParsePrefix(cidr)
	Expect(w.backend.SetUsers(network.UID, prefix, users...)).To(Succeed())
	// The subnet may have gone by then.
	DeferCleanup(func() { _ = w.backend.SetUsers(network.UID, prefix) })
}

// move changes the range of a Network.
func (w *world) move(name, cidr string) {
	GinkgoHelper()
	w.Change(name, func(network *samplecrdv1.Network) { network.Spec.CIDR = cidr })
}

// backendHolds gives the ranges that the fake has of a Network, in order.
func (w *world) backendHolds(network *samplecrdv1.Network) func() []string {
	return func() []string {
		var all []string
		for _, subnet := range w.backend.Networks()[network.UID].Subnets {
			all = append(all, subnet.Prefix.String())
		}
		return all
	}
}

// haveSubnets is true of a status that records exactly these, each written as
// "10.0.0.0/24 Draining pod a, pod b".
func haveSubnets(want ...string) types.GomegaMatcher {
	return WithTransform(func(network *samplecrdv1.Network) []string {
		var all []string
		for _, subnet := range network.Status.Subnets {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", subnet.CIDR, subnet.State, strings.Join(subnet.Users, ", "))))
		}
		return all
	}, ConsistOf(want))
}

// drains is a Network on the fake that was moved from 10.0.0.0/24, which a Pod
// uses, to 10.1.0.0/24.
func drains() (*world, *samplecrdv1.Network) {
	GinkgoHelper()
	w := onMemory()
	created := w.Network("a", "10.0.0.0/24")
	Eventually(w.Of("a")).Should(matchers.BeReady())
	w.use(created, "10.0.0.0/24", "Pod web-0")
	w.move("a", "10.1.0.0/24")
	Eventually(w.Of("a")).Should(And(
		beWithout(samplecrdv1.NetworkReasonDraining, false),
		haveSubnets("10.1.0.0/24 Active", "10.0.0.0/24 Draining Pod web-0"),
	))
	return w, created
}

var _ = Describe("A change of a Network's range, apart from the old one", func() {
	It("makes the new subnet first, says who holds the old one, and ends by itself when they go", func() {
		w := onMemory()
		created := w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		old := w.Get("a").Status
		w.use(created, "10.0.0.0/24", "Pod web-1", "Pod web-0")
		w.move("a", "10.1.0.0/24")
		Eventually(w.Of("a")).Should(And(
			beWithout(samplecrdv1.NetworkReasonDraining, false),
			haveSubnets("10.1.0.0/24 Active", "10.0.0.0/24 Draining Pod web-0, Pod web-1"),
		))
		network := w.Get("a")
		Expect(matchers.Message(network, ready)).To(HaveSuffix("10.0.0.0/24 is still used by Pod web-0, Pod web-1"))
		Expect(network.Status.ProviderID).To(Equal(old.ProviderID))
		Expect(network.Status.Subnets).To(ContainElement(And(
			HaveField("CIDR", "10.0.0.0/24"), HaveField("Gateway", HaveValue(Equal("10.0.0.1"))), HaveField("ProviderID", Equal(old.Subnets[0].ProviderID)),
		)))
		Expect(w.backendHolds(created)()).To(Equal([]string{"10.1.0.0/24", "10.0.0.0/24"}))
		Eventually(w.Events("a")).Should(ContainElement(HavePrefix("Warning Draining: ")))

		w.touch("a")
		settled()
		version := w.Get("a").ResourceVersion
		w.touch("a")
		settled()
		Expect(w.backend.Writes()).To(Equal(2), "nothing is written while it waits")
		Expect(w.Get("a").Status).To(Equal(network.Status))
		Expect(w.Get("a").ResourceVersion).NotTo(Equal(version), "touched")

		w.use(created, "10.0.0.0/24", "Pod web-1")
		Eventually(w.Of("a")).Should(haveSubnets("10.1.0.0/24 Active", "10.0.0.0/24 Draining Pod web-1"))
		w.use(created, "10.0.0.0/24")
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), haveSubnets("10.1.0.0/24 Active")))
		Expect(w.backendHolds(created)()).To(Equal([]string{"10.1.0.0/24"}))
	})

	It("names ten at most, and nobody who must not be named", func() {
		w, created := drains()
		var users []string
		for i := range 12 {
			users = append(users, fmt.Sprintf("Pod web-%02d", i))
		}
		w.use(created, "10.0.0.0/24", users...)
		Eventually(w.Of("a")).Should(HaveField("Status.Subnets", ContainElement(HaveField("Users", Equal(users[:10])))))
		Expect(matchers.Message(w.Get("a"), programmed)).To(HaveSuffix("Pod web-09 and others"))
		w.use(created, "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())

		w.Network("b", "10.2.0.0/24")
		Eventually(w.Of("b")).Should(matchers.BeReady())
		Expect(w.backend.SetOthers(w.Get("b").UID, netip.MustParsePrefix("10.2.0.0/24"), true)).To(Succeed())
		w.move("b", "10.3.0.0/24")
		Eventually(w.Of("b")).Should(And(
			beWithout(samplecrdv1.NetworkReasonDraining, false), haveSubnets("10.3.0.0/24 Active", "10.2.0.0/24 Draining"),
		))
		Expect(matchers.Message(w.Get("b"), ready)).To(HaveSuffix("10.2.0.0/24 is still used by others, who may not be named here"))
		Expect(w.backend.SetOthers(w.Get("b").UID, netip.MustParsePrefix("10.2.0.0/24"), false)).To(Succeed())
		Eventually(w.Of("b")).Should(matchers.BeReady())
	})

	It("can be taken back while the old subnet drains", func() {
		w, created := drains()
		id := w.backend.Networks()[created.UID].Subnets[1].ID
		w.use(created, "10.1.0.0/24", "Pod web-1")
		w.move("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(And(
			beWithout(samplecrdv1.NetworkReasonDraining, false),
			haveSubnets("10.0.0.0/24 Active", "10.1.0.0/24 Draining Pod web-1"),
		))
		Expect(w.backend.Networks()[created.UID].Subnets[0].ID).To(Equal(id))
		w.use(created, "10.1.0.0/24")
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), haveSubnets("10.0.0.0/24 Active")))
		Expect(w.backendHolds(created)()).To(Equal([]string{"10.0.0.0/24"}))
	})

	It("can be followed by another one while the old subnet drains", func() {
		w, created := drains()
		w.use(created, "10.1.0.0/24", "Pod web-1")
		w.move("a", "10.2.0.0/24")
		Eventually(w.Of("a")).Should(haveSubnets("10.2.0.0/24 Active", "10.0.0.0/24 Draining Pod web-0", "10.1.0.0/24 Draining Pod web-1"))
		Expect(matchers.Message(w.Get("a"), ready)).To(HaveSuffix("10.0.0.0/24 is still used by Pod web-0; 10.1.0.0/24 is still used by Pod web-1"))
		w.use(created, "10.0.0.0/24")
		Eventually(w.Of("a")).Should(haveSubnets("10.2.0.0/24 Active", "10.1.0.0/24 Draining Pod web-1"))
		w.use(created, "10.1.0.0/24")
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), haveSubnets("10.2.0.0/24 Active")))
	})

	It("waits for the old subnet's users when the Network is deleted meanwhile", func() {
		w, created := drains()
		w.Remove("a")
		Eventually(w.Of("a")).Should(And(matchers.BeHeld(), matchers.HaveCondition(ready, metav1.ConditionFalse, samplecrdv1.NetworkReasonInUse)))
		Expect(matchers.Message(w.Get("a"), ready)).To(ContainSubstring("Pod web-0"))
		Expect(w.backendHolds(created)()).To(Equal([]string{"10.1.0.0/24", "10.0.0.0/24"}))
		w.use(created, "10.0.0.0/24")
		Eventually(w.Gone("a")).Should(BeTrue())
		Expect(w.backend.Networks()).To(BeEmpty())
	})

	It("is remembered over a restart of the manager, and ends when the users went meanwhile", func() {
		w, created := drains()
		settled()
		version, writes := w.Get("a").ResourceVersion, w.backend.Writes()
		w.stop()
		passes := reconciles()
		w.startOnMemory()
		Eventually(reconciles).Should(BeNumerically(">", passes))
		settled()
		Expect(w.Get("a").ResourceVersion).To(Equal(version))
		Expect(w.backend.Writes()).To(Equal(writes))
		w.stop()
		w.use(created, "10.0.0.0/24")
		w.startOnMemory()
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), haveSubnets("10.1.0.0/24 Active")))
	})

	It("is found again when somebody clears the status", func() {
		w, _ := drains()
		settled()
		before := w.Get("a").Status
		cleared := w.Get("a")
		cleared.Status = samplecrdv1.NetworkStatus{}
		Expect(w.Client.Status().Update(ctx, cleared)).To(Succeed())
		Eventually(w.Of("a")).Should(And(
			beWithout(samplecrdv1.NetworkReasonDraining, false), HaveField("Status.Subnets", Equal(before.Subnets)),
		))
	})

	It("keeps both ranges claimed while the backend fails", func() {
		w, created := drains()
		settled()
		w.backend.Fail(errors.New("away"))
		w.touch("a")
		Eventually(w.Of("a")).Should(haveSubnets("10.1.0.0/24 Active", "10.0.0.0/24 Draining Pod web-0"))
		w.use(created, "10.0.0.0/24")
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), haveSubnets("10.1.0.0/24 Active")))
	})

	It("gives the old range to nobody before it has drained", func() {
		w, created := drains()
		w.Network("b", "10.0.0.0/16")
		Eventually(w.Of("b")).Should(beRefused(samplecrdv1.NetworkReasonOverlap, true))
		Expect(matchers.Message(w.Get("b"), ready)).To(ContainSubstring("10.0.0.0/24"))
		w.use(created, "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Eventually(w.Of("b")).Should(matchers.BeReady())
	})

	It("lets an additional subnet drain alone, and changes what stays in place", func() {
		w := onMemory()
		created := w.Network("a", "10.0.0.0/24", func(network *samplecrdv1.Network) {
			network.Spec.AdditionalSubnets = []samplecrdv1.SubnetSpec{{CIDR: "2001:db8:1::/64"}, {CIDR: "2001:db8:2::/64"}}
		})
		Eventually(w.Of("a")).Should(matchers.BeReady())
		for _, cidr := range []string{"10.0.0.0/24", "2001:db8:1::/64", "2001:db8:2::/64"} {
			w.use(created, cidr, "Pod web-0")
		}
		w.Change("a", func(network *samplecrdv1.Network) {
			network.Spec.Gateway, network.Spec.MTU = "10.0.0.254", new(int32(1400))
			network.Spec.AdditionalSubnets = []samplecrdv1.SubnetSpec{{CIDR: "2001:db8:2::/64", DNSServers: []string{"2001:db8:2::53"}}}
		})
		Eventually(w.Of("a")).Should(And(
			beWithout(samplecrdv1.NetworkReasonDraining, false),
			haveSubnets("10.0.0.0/24 Active", "2001:db8:2::/64 Active", "2001:db8:1::/64 Draining Pod web-0"),
		))
		held := w.backend.Networks()[created.UID]
		Expect(held).To(And(HaveField("MTU", int32(1400)), HaveField("Subnets", HaveLen(3))))
		Expect(held.Subnets[0].Gateway.String()).To(Equal("10.0.0.254"))
		Expect(held.Subnets[1].DNSServers).To(HaveLen(1))
		w.use(created, "2001:db8:1::/64")
		Eventually(w.Of("a")).Should(matchers.BeReady())
	})
})

var _ = Describe("A change of a Network's range, onto the old one", func() {
	It("changes nothing while the old subnet is used, says by whom, and is made when they go", func() {
		w := onMemory()
		created := w.Network("a", "10.0.0.0/24", func(network *samplecrdv1.Network) {
			network.Spec.AdditionalSubnets = []samplecrdv1.SubnetSpec{{CIDR: "2001:db8::/64"}}
		})
		Eventually(w.Of("a")).Should(matchers.BeReady())
		w.use(created, "10.0.0.0/24", "Pod web-0")
		before := w.backend.Networks()[created.UID]
		w.Change("a", func(network *samplecrdv1.Network) {
			network.Spec.CIDR, network.Spec.MTU, network.Spec.AdditionalSubnets = "10.0.0.0/16", new(int32(1400)), nil
		})
		Eventually(w.Of("a")).Should(And(
			beWithout(samplecrdv1.NetworkReasonInUse, false),
			haveSubnets("10.0.0.0/24 Draining Pod web-0", "2001:db8::/64 Active", "10.0.0.0/16 Pending"),
		))
		Expect(matchers.Message(w.Get("a"), ready)).To(ContainSubstring("10.0.0.0/24 is still used by Pod web-0"))
		w.touch("a")
		settled()
		Expect(w.backend.Networks()[created.UID]).To(Equal(before))
		Expect(w.backend.Writes()).To(Equal(1))

		w.use(created, "10.0.0.0/24")
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), haveSubnets("10.0.0.0/16 Active")))
		Expect(w.backendHolds(created)()).To(Equal([]string{"10.0.0.0/16"}))
	})

	It("can be taken back while it waits, as if nothing had been", func() {
		w := onMemory()
		created := w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		w.use(created, "10.0.0.0/24", "Pod web-0")
		w.move("a", "10.0.0.0/16")
		Eventually(w.Of("a")).Should(beWithout(samplecrdv1.NetworkReasonInUse, false))
		w.move("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), haveSubnets("10.0.0.0/24 Active")))
		Expect(w.backend.Writes()).To(Equal(1))
	})

	It("waits for what drains from an earlier change, too", func() {
		w, created := drains()
		w.move("a", "10.0.0.128/25")
		Eventually(w.Of("a")).Should(And(
			beWithout(samplecrdv1.NetworkReasonInUse, false),
			haveSubnets("10.0.0.0/24 Draining Pod web-0", "10.1.0.0/24 Active", "10.0.0.128/25 Pending"),
		))
		w.use(created, "10.0.0.0/24")
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), haveSubnets("10.0.0.128/25 Active")))
	})
})
