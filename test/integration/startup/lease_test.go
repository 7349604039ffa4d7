package startup

import (
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// holder gives who holds the managers' Lease in a namespace; "" for nobody.
func holder(namespace string) func(Gomega) string {
	return func(g Gomega) string {
		var lease coordinationv1.Lease
		key := client.ObjectKey{Namespace: namespace, Name: "samplecrd-controller.samplecrd.k8s.io"}
		g.Expect(cluster.Client.Get(ctx, key, &lease)).To(Succeed())
		return ptr.Deref(lease.Spec.HolderIdentity, "")
	}
}

var _ = Describe("With leader election", func() {
	It("reconciles as the holder of the Lease, also when the kinds come late, and lets it go at the end", func() {
		withdrawAbandoned(every...)
		namespace := newNamespace()
		manager := start("--leader-elect", "--leader-election-namespace="+namespace)
		DeferCleanup(manager.kill)
		Eventually(manager.waits).Should(HaveLen(1))
		Eventually(holder(namespace)).ShouldNot(BeEmpty())
		serve(every...)
		Eventually(manager.ready).Should(BeTrue())
		createClass()
		createNetwork(namespace, "a", "10.0.0.0/24")
		Eventually(conditions(namespace, "a")).Should(beReady())
		expectDeployment(createFoo(namespace, "a"))
		deleteNetwork(namespace, "a")

		Expect(manager.Signal(syscall.SIGTERM)).To(Succeed())
		Eventually(manager.Ended()).Should(Receive(BeNil()), "exit code 0")
		Eventually(holder(namespace)).Should(BeEmpty())
	})
})
