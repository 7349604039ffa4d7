package startup

import (
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// holder gives who holds the manager's Lease; "" for nobody.
func holder(g Gomega) string {
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: "default", Name: "samplecrd-controller.samplecrd.k8s.io"}
	g.Expect(cluster.Client.Get(ctx, key, &lease)).To(Succeed())
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

var _ = Describe("With leader election", func() {
	It("reconciles as the holder of the Lease, also when the kinds come late, and lets it go at the end", func() {
		// The specs of other files run before or after, as the seed has it.
		for _, kind := range []string{networks, classes, nads} {
			withdraw(kind)
		}
		manager := start("--leader-elect", "--leader-election-namespace=default")
		DeferCleanup(manager.kill)
		Eventually(manager.waits).Should(HaveLen(1))
		Eventually(holder).ShouldNot(BeEmpty())
		for _, kind := range []string{networks, classes, nads} {
			serve(kind)
			DeferCleanup(withdraw, kind)
		}
		Eventually(manager.ready).Should(BeTrue())
		createClass()
		namespace := newNamespace()
		createNetwork(namespace, "a", "10.0.0.0/24")
		Eventually(conditions(namespace, "a")).Should(beReady())
		deleteNetwork(namespace, "a")

		Expect(manager.Signal(syscall.SIGTERM)).To(Succeed())
		Eventually(manager.Ended()).Should(Receive(BeNil()), "exit code 0")
		Eventually(holder).Should(BeEmpty())
	})
})
