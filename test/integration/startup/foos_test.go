package startup

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

var _ = Describe("A kind that goes under the running binary", Ordered, func() {
	var (
		manager *process
		shop    string
		foo     *samplev1alpha1.Foo
	)

	BeforeAll(func() {
		withdrawAbandoned(every...)
		serve(every...)
		manager, shop = start(), newNamespace()
		DeferCleanup(func() { manager.kill() })
		Eventually(manager.ready).Should(BeTrue())
		createClass()
		createNetwork(shop, "a", "10.0.0.0/24")
		Eventually(conditions(shop, "a")).Should(beReady())
		foo = createFoo(shop, "a")
		expectDeployment(foo)
	})

	AfterEach(func() {
		Expect(manager.Ended()).NotTo(Receive(), "it is one process from the beginning to the end")
	})

	It("leaves the Networks alone when it is that of the Foos", func() {
		withdraw(foos)
		Expect(manager.live()).To(BeTrue())
		expectRepair(shop, "a")
		createNetwork(shop, "b", "10.1.0.0/24")
		Eventually(conditions(shop, "b")).Should(beReady())
		bad := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "bad"}}
		bad.Spec.CIDR, bad.Spec.Gateway = "10.2.0.0/24", "10.2.0.255"
		Expect(cluster.Client.Create(ctx, bad)).To(MatchError(ContainSubstring("broadcast")))
		deleteNetwork(shop, "b")
	})

	It("makes nothing more for the Foos that went with it", func() {
		// The garbage collector's part.
		Expect(cluster.Client.DeleteAllOf(ctx, &appsv1.Deployment{}, client.InNamespace(shop))).To(Succeed())
		Consistently(func(g Gomega) []appsv1.Deployment {
			var all appsv1.DeploymentList
			g.Expect(cluster.Client.List(ctx, &all, client.InNamespace(shop))).To(Succeed())
			return all.Items
		}).Should(BeEmpty())
	})

	It("takes new Foos, of the same name too, when it comes back", func() {
		serve(foos)
		foo = createFoo(shop, "a")
		expectWatched(foo)
		Expect(cluster.Client.Create(ctx, newFoo(shop, "bad", 101))).To(beOver(100))
		Expect(scale(foo, 101)).To(beOver(100))
		Expect(manager.lines("Successfully synced")).To(ContainElement(ContainSubstring(shop + "/a")))
	})

	It("leaves the Foos alone when it is that of the Networks, of the classes and of what Multus brings", func() {
		withdraw(networks, classes, nads)
		Expect(manager.live()).To(BeTrue())
		expectWatched(foo)
		expectWatched(createFoo(shop, "b"))
		Expect(cluster.Client.Create(ctx, newFoo(shop, "bad", 101))).To(beOver(100))
		Expect(scale(foo, 101)).To(beOver(100))
	})

	It("is taken up again with all the others", func() {
		withdraw(foos)
		serve(every...)
		createClass()
		createNetwork(shop, "a", "10.0.0.0/24")
		Eventually(conditions(shop, "a")).Should(beReady())
		expectRepair(shop, "a")
		expectWatched(createFoo(shop, "c"))
		deleteNetwork(shop, "a")
	})

	It("brings no panic, and an end in order", func() {
		Expect(manager.lines("panic")).To(BeEmpty())
		Expect(manager.Stop()).To(Succeed(), "SIGTERM ends it with exit code 0")
	})
})
