package admission_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/test/env"
)

const (
	// serviceNetwork is a range that overlaps env.ServiceRange.
	serviceNetwork = "198.18.0.0/16"
	serviceOverlap = "overlaps " + env.ServiceRange + ", a Service range of the cluster; Pods would not reach one of the two; use a range apart from it"
)

// makeRangesClass makes a class with a policy for the cluster's ranges, and returns
// when the webhooks know the ranges. It gives its name.
func makeRangesClass(name, policy string) string {
	GinkgoHelper()
	makeClass(name, false, `{provider: Multus, multus: {type: Bridge}, clusterRanges: `+policy+`}`)
	makeClass(name+"-probe", false, bridge)
	Eventually(func() []string {
		return probe(`{cidr: ` + serviceNetwork + `, networkClassName: ` + name + `-probe}`).warnings
	}).Should(HaveExactElements(ContainSubstring("a Service range")))
	return name
}

// makeNode makes a Node with ranges for its Pods, until it is removed or the spec ends.
func makeNode(podCIDRs ...string) (remove func()) {
	GinkgoHelper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "secret-node-"}, Spec: corev1.NodeSpec{PodCIDR: podCIDRs[0], PodCIDRs: podCIDRs}}
	Expect(user.Create(ctx, node)).To(Succeed())
	remove = func() { Expect(client.IgnoreNotFound(user.Delete(ctx, node))).To(Succeed()) }
	DeferCleanup(remove)
	return remove
}

var _ = Describe("A Network on the cluster's own ranges", func() {
	It("is warned of, unless its class says otherwise", func() {
		makeRangesClass("warns", "Warn")
		subject := network(newNamespace(), "subject", `{cidr: 198.18.0.0/25, networkClassName: warns, additionalSubnets: [{cidr: 10.0.0.0/24}, {cidr: 198.18.0.128/25}]}`)
		overlaps := []string{"spec.cidr: 198.18.0.0/25 " + serviceOverlap, "spec.additionalSubnets[1].cidr: 198.18.0.128/25 " + serviceOverlap}
		a := create(subject)
		Expect(a.err).NotTo(HaveOccurred())
		Expect(a.warnings).To(ContainElements(overlaps))
		for _, text := range a.warnings {
			Expect(len(text)).To(BeNumerically("<=", 256), "every client shows that many characters")
		}

		By("of an update that leaves it there, too")
		a = mergePatch(subject, `{"spec":{"mtu":1400}}`)
		Expect(a.err).NotTo(HaveOccurred())
		Expect(a.warnings).To(ContainElements(overlaps))
	})

	It("is nobody's business where its class ignores them, or it has none", func() {
		makeRangesClass("ignores", "Ignore")
		expectAccepted(probe(`{cidr: ` + serviceNetwork + `, networkClassName: ignores}`))
		expectAccepted(probe(`{cidr: ` + serviceNetwork + `}`))
	})

	It("is refused where its class forbids them", func() {
		makeRangesClass("forbids", "Forbid")
		for _, cidr := range []string{serviceNetwork, env.ServiceRange, "198.18.0.128/25"} {
			expectRefusal(probe(`{cidr: `+cidr+`, networkClassName: forbids}`), "spec.cidr", serviceOverlap)
		}
		expectRefusal(probe(`{cidr: 198.18.1.9/16, networkClassName: forbids}`), "spec.cidr", `"198.18.1.9/16"`, serviceOverlap)
		expectAccepted(probe(`{cidr: 198.18.1.0/24, networkClassName: forbids}`))
		a := probe(`{cidr: 10.0.0.0/24, networkClassName: forbids, additionalSubnets: [{cidr: ` + env.ServiceRange + `}]}`)
		expectRefusal(a, "spec.additionalSubnets[0].cidr", serviceOverlap)
	})

	It("is warned of and refused for Pods' ranges as the nodes come and go, which are not named", func() {
		makeRangesClass("forbids", "Forbid")
		const refused, refused6 = `{cidr: 198.19.0.0/16, networkClassName: forbids}`, `{cidr: "fd00::/16", networkClassName: forbids}`
		expectAccepted(probe(refused))
		remove := makeNode("198.19.7.0/24", "fd00:19::/64")
		Eventually(func() error { return probe(refused).err }).Should(HaveOccurred())
		expectRefusal(probe(refused), "spec.cidr", "overlaps 198.19.7.0/24, a Pod range of the cluster")
		expectRefusal(probe(refused6), "spec.cidr", "overlaps fd00:19::/64, a Pod range of the cluster")
		expectAccepted(probe(`{cidr: 198.19.0.0/16, networkClassName: forbids-probe}`), "spec.cidr: 198.19.0.0/16 overlaps 198.19.7.0/24, a Pod range of the cluster")
		for _, spec := range []string{refused, refused6} {
			Expect(probe(spec).err).NotTo(MatchError(ContainSubstring("secret-node")))
		}
		remove()
		Eventually(func() error { return probe(refused).err }).Should(Succeed())
		expectAccepted(probe(refused6))
	})

	It("that is there when its class begins to forbid them can still be changed, but for that", func() {
		makeRangesClass("turns", "Ignore")
		subject := network(newNamespace(), "subject", `{cidr: `+serviceNetwork+`, networkClassName: turns}`)
		expectAccepted(create(subject))
		expectAccepted(mergePatch(newObject("NetworkClass", "", "turns"), `{"spec":{"clusterRanges":"Forbid"}}`))
		Eventually(func() error { return probe(`{cidr: ` + serviceNetwork + `, networkClassName: turns}`).err }).Should(HaveOccurred())

		expectAccepted(mergePatch(subject, `{"metadata":{"labels":{"colour":"blue"}}}`))
		expectAccepted(mergePatch(subject, `{"spec":{"mtu":1400}}`), "spec.cidr: "+serviceNetwork+" "+serviceOverlap)
		expectRefusal(mergePatch(subject, `{"spec":{"cidr":"198.18.0.0/17"}}`), "spec.cidr", serviceOverlap)
		expectAccepted(mergePatch(subject, `{"spec":{"cidr":"198.18.128.0/17"}}`))
		expectRefusal(mergePatch(subject, `{"spec":{"cidr":"`+serviceNetwork+`"}}`), "spec.cidr", serviceOverlap)
	})
})
