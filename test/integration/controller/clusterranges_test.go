package controller

import (
	"os"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/builders"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/matchers"
)

// serviceNetwork is a Network's range that overlaps env.ServiceRange.
const serviceNetwork = "198.18.0.0/16"

func clusterRanges(policy samplecrdv1.ClusterRangesPolicy) func(*samplecrdv1.NetworkClass) {
	return func(class *samplecrdv1.NetworkClass) { class.Spec.ClusterRanges = policy }
}

// node makes a Node with ranges for its Pods, until it is removed or the spec ends.
func (w *world) node(podCIDRs ...string) (remove func()) {
	GinkgoHelper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "secret-node-"}, Spec: corev1.NodeSpec{PodCIDRs: podCIDRs}}
	node.Spec.PodCIDR = podCIDRs[0]
	Expect(w.Client.Create(ctx, node)).To(Succeed())
	remove = func() { Expect(client.IgnoreNotFound(w.Client.Delete(ctx, node))).To(Succeed()) }
	DeferCleanup(remove)
	return remove
}

// onRanges is a world on the fake backend whose Networks are of a class with policy.
func onRanges(policy samplecrdv1.ClusterRangesPolicy) *world {
	GinkgoHelper()
	w := onMemory()
	w.Class = w.newClass(clusterRanges(policy)).Name
	return w
}

var _ = Describe("The cluster's own ranges", func() {
	It("are in nobody's way where the class warns of them, or ignores them", func() {
		w := onRanges(samplecrdv1.ClusterRangesWarn)
		w.Network("warned", serviceNetwork)
		w.Network("ignored", serviceNetwork, builders.OfClass(w.newClass(clusterRanges(samplecrdv1.ClusterRangesIgnore)).Name))
		Eventually(w.Of("warned")).Should(matchers.BeReady())
		Eventually(w.Of("ignored")).Should(matchers.BeReady())
	})

	It("are not to be had where the class forbids them: Services'", func() {
		w := onRanges(samplecrdv1.ClusterRangesForbid)
		w.Network("a", serviceNetwork)
		Eventually(w.Of("a")).Should(beRefused(samplecrdv1.NetworkReasonNotAllowed, true))
		Expect(matchers.Message(w.Get("a"), accepted)).To(And(ContainSubstring("spec.cidr"),
			ContainSubstring("overlaps "+env.ServiceRange+", a Service range of the cluster"), ContainSubstring("use a range apart from it")))
		Expect(w.backend.Calls("Ensure")).To(BeZero())
		w.Change("a", func(network *samplecrdv1.Network) { network.Spec.CIDR = "10.0.0.0/24" })
		Eventually(w.Of("a")).Should(matchers.BeReady())
	})

	It("are not to be had where the class forbids them: Pods', until the node goes", func() {
		w := onRanges(samplecrdv1.ClusterRangesForbid)
		remove := w.node("198.19.7.0/24", "fd00:19::/64")
		w.Network("a", "10.0.0.0/24", func(network *samplecrdv1.Network) {
			network.Spec.AdditionalSubnets = []samplecrdv1.SubnetSpec{{CIDR: "fd00::/16"}}
		})
		w.Network("b", "198.19.0.0/16")
		for _, name := range []string{"a", "b"} {
			Eventually(w.Of(name)).Should(beRefused(samplecrdv1.NetworkReasonNotAllowed, true))
			Expect(matchers.Message(w.Get(name), accepted)).NotTo(ContainSubstring("secret-node"))
		}
		Expect(matchers.Message(w.Get("a"), accepted)).To(And(ContainSubstring("spec.additionalSubnets[0].cidr"), ContainSubstring("fd00:19::/64, a Pod range")))
		Expect(matchers.Message(w.Get("b"), accepted)).To(ContainSubstring("198.19.7.0/24, a Pod range"))
		remove()
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Eventually(w.Of("b")).Should(matchers.BeReady())
	})

	It("that come later stop nothing that runs, which says so until they go", func() {
		w := onRanges(samplecrdv1.ClusterRangesForbid)
		created := w.Network("a", "198.19.0.0/16")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		sound := matchers.Message(w.Get("a"), accepted)
		remove := w.node("198.19.7.0/24")
		Eventually(func() string { return matchers.Message(w.Get("a"), accepted) }).Should(
			And(HavePrefix("Accepted earlier, and would be refused today"), ContainSubstring("198.19.7.0/24, a Pod range")))
		Expect(w.Get("a")).To(matchers.BeReady())

		By("also through a change of the rest")
		w.Change("a", func(network *samplecrdv1.Network) { network.Spec.MTU = new(int32(1400)) })
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Expect(w.backend.Networks()).To(HaveKey(created.UID))

		By("while another like it is refused")
		w.Network("late", "198.19.7.0/25")
		Eventually(w.Of("late")).Should(beRefused(samplecrdv1.NetworkReasonNotAllowed, true))

		remove()
		Eventually(func() string { return matchers.Message(w.Get("a"), accepted) }).Should(Equal(sound))
	})

	It("come with a ServiceCIDR that is added, too", func() {
		w := onRanges(samplecrdv1.ClusterRangesForbid)
		w.Network("a", "198.19.0.0/16")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		more := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{GenerateName: "more-"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"198.19.8.0/24"}}}
		Expect(w.Client.Create(ctx, more)).To(Succeed())
		DeferCleanup(func() { Expect(client.IgnoreNotFound(w.Client.Delete(ctx, more))).To(Succeed()) })
		Eventually(func() string { return matchers.Message(w.Get("a"), accepted) }).Should(ContainSubstring("198.19.8.0/24, a Service range"))
		Expect(w.Get("a")).To(matchers.BeReady())
	})

	It("forbidden by a class that allowed them stop nothing that runs", func() {
		w := onRanges(samplecrdv1.ClusterRangesIgnore)
		w.Network("a", serviceNetwork)
		Eventually(w.Of("a")).Should(matchers.BeReady())
		w.changeClass(w.Class, clusterRanges(samplecrdv1.ClusterRangesForbid))
		Eventually(func() string { return matchers.Message(w.Get("a"), accepted) }).Should(
			And(HavePrefix("Accepted earlier"), ContainSubstring(env.ServiceRange+", a Service range")))
		Expect(w.Get("a")).To(matchers.BeReady())
		w.Change("a", builders.Gateway("198.18.9.9"))
		Eventually(w.Of("a")).Should(matchers.BeReady())

		By("but not moving to another part of them")
		w.Change("a", func(network *samplecrdv1.Network) {
			network.Spec.CIDR, network.Spec.Gateway = "198.18.0.0/20", ""
		})
		Eventually(w.Of("a")).Should(matchers.HaveCondition(accepted, metav1.ConditionFalse, samplecrdv1.NetworkReasonNotAllowed))
		Expect(w.backend.Networks()).To(HaveLen(1))
	})

	Context("that cannot be read", func() {
		It("are waited for where they are forbidden, and keep nothing else waiting", func() {
			grant := withoutNodes(whole, "cannot-list-nodes")
			w := newWorld(whole)
			w.start(env.ManagerOptions{Controllers: true, Webhooks: true, As: "cannot-list-nodes"})
			forbids := w.newClass(clusterRanges(samplecrdv1.ClusterRangesForbid)).Name
			w.Network("other", "10.0.0.0/24")
			w.admitted("waits", "10.1.0.0/24", builders.OfClass(forbids))
			Eventually(w.Of("other")).Should(matchers.BeReady())
			Eventually(w.Of("waits")).Should(And(
				matchers.HaveCondition(accepted, metav1.ConditionUnknown, samplecrdv1.NetworkReasonPending),
				matchers.HaveCondition(ready, metav1.ConditionUnknown, samplecrdv1.NetworkReasonPending),
				WithTransform(matchers.Verdict, Equal(matchers.InProgress)), Not(matchers.BeHeld()),
			))
			Eventually(func() string { return matchers.Message(w.Get("waits"), ready) }).Should(
				Equal(`Waits until every Pod range of the cluster is known, since NetworkClass "` + forbids + `" forbids them`))
			Expect(w.nadGone("waits")()).To(BeTrue())

			By("refusing what is known to overlap")
			Eventually(func() error {
				return w.Client.Create(ctx, w.Draft("bad", serviceNetwork, builders.OfClass(forbids)), client.DryRunAll)
			}).Should(MatchError(ContainSubstring("a Service range of the cluster")))

			grant()
			// The informer asks again with back-off.
			Eventually(w.Of("waits")).WithTimeout(3 * time.Minute).Should(matchers.BeReady())
		})

		It("change nothing that is said of what runs", func() {
			withoutNodes(bare, "cannot-list-nodes")
			w := onRanges(samplecrdv1.ClusterRangesForbid)
			w.Network("a", "198.19.0.0/16")
			Eventually(w.Of("a")).Should(matchers.BeReady())
			w.node("198.19.7.0/24")
			Eventually(func() string { return matchers.Message(w.Get("a"), accepted) }).Should(ContainSubstring("a Pod range"))
			w.stop()
			before := w.Get("a").Status
			w.start(env.ManagerOptions{Controllers: true, Backends: env.Instead(w.backend), As: "cannot-list-nodes"})
			w.touch("a")
			settled()
			Expect(w.Get("a").Status).To(Equal(before))
		})
	})
})

// admitted creates a Network as soon as the webhooks know its class.
func (w *world) admitted(name, cidr string, changes ...func(*samplecrdv1.Network)) {
	GinkgoHelper()
	Eventually(func() error { return w.Client.Create(ctx, w.Draft(name, cidr, changes...)) }).Should(Succeed())
}

// withoutNodes gives user the manager's rights but for Nodes; grant gives those too.
// Call it before the world is made, which needs its manager to the end.
func withoutNodes(e *env.Env, user string) (grant func()) {
	GinkgoHelper()
	text, err := os.ReadFile(env.Path("config", "rbac", "role.yaml"))
	Expect(err).NotTo(HaveOccurred())
	role := &rbacv1.ClusterRole{}
	Expect(yaml.UnmarshalStrict(text, role)).To(Succeed())
	role.Name = user
	whole := role.DeepCopy()
	for i := range role.Rules {
		role.Rules[i].Resources = slices.DeleteFunc(role.Rules[i].Resources, func(name string) bool { return name == "nodes" })
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	for _, object := range []client.Object{role, binding} {
		Expect(e.Client.Create(ctx, object)).To(Succeed())
		DeferCleanup(func() { Expect(e.Client.Delete(ctx, object)).To(Succeed()) })
	}
	return func() {
		role.Rules = whole.Rules
		Expect(e.Client.Update(ctx, role)).To(Succeed())
	}
}
