package foo

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// hold is a finalizer of somebody else.
const hold = "example.com/hold"

var _ = Describe("Deletion", func() {
	var (
		w   *world
		foo *samplev1alpha1.Foo
	)

	BeforeEach(func() {
		w = onWhole()
		w.play()
		foo = w.foo("a", "web", replicas(2))
		w.made(foo, "web")
		Eventually(w.of("a")).Should(beReady())
		settled()
	})

	deleteFoo := func(policy metav1.DeletionPropagation) {
		GinkgoHelper()
		Expect(w.Client.Delete(ctx, foo, client.PropagationPolicy(policy))).To(Succeed())
		Expect(w.get("a").DeletionTimestamp).NotTo(BeNil(), "the garbage collector would go on from here")
		settled()
	}

	It("of the Foo in the foreground brings back nothing that goes", func() {
		deleteFoo(metav1.DeletePropagationForeground)
		w.kubectl("scale", "deployment/web", "--replicas=5")
		settled()
		Expect(w.deployment("web").Spec.Replicas).To(HaveValue(BeEquivalentTo(5)))
		before := w.get("a")
		w.removeDeployment("web")
		settled()
		Consistently(w.names).Should(BeEmpty())
		Expect(w.get("a").ResourceVersion).To(Equal(before.ResourceVersion))
	})

	It("of the Foo alone leaves its Deployment as it is", func() {
		deleteFoo(metav1.DeletePropagationOrphan)
		w.changeDeployment("web", func(deployment *appsv1.Deployment) { deployment.OwnerReferences = nil })
		before := w.raw("web")
		w.drop(foo)
		Eventually(w.gone(foo)).Should(BeTrue())
		settled()
		Expect(w.raw("web")).To(Equal(before))
	})

	It("of the Deployment is waited for, and then it is made anew", func() {
		before := w.changeDeployment("web", func(deployment *appsv1.Deployment) { deployment.Finalizers = []string{hold} })
		w.removeDeployment("web")
		Eventually(w.of("a")).Should(And(beWaiting(samplev1alpha1.FooReasonProgressing), speakOf("web"),
			say("Deployment web is being deleted and will be made anew")))
		w.change("a", replicas(3))
		Eventually(w.of("a")).Should(beWaiting(samplev1alpha1.FooReasonProgressing))
		settled()
		Expect(w.deployment("web").Spec).To(Equal(before.Spec))

		w.drop(w.deployment("web"))
		Eventually(w.deploymentOf("web")).Should(And(beOf(foo), HaveField("UID", Not(Equal(before.UID)))))
		Eventually(w.of("a")).Should(And(beReady(), count(3, 3)))
	})

	It("of the Foo and a new one of its name end with a Deployment of the new one", func() {
		old := w.deployment("web")
		Expect(w.Client.Delete(ctx, foo)).To(Succeed())
		again := w.foo("a", "web", replicas(1))
		Eventually(w.of("a")).Should(And(beWaiting(samplev1alpha1.FooReasonProgressing),
			say("Deployment web belongs to an earlier Foo of this name"), count(0, 0)))
		settled()
		Expect(w.deployment("web").ResourceVersion).To(Equal(old.ResourceVersion), "it is the garbage collector's")
		w.removeDeployment("web")
		w.made(again, "web")
		Eventually(w.of("a")).Should(And(beReady(), haveNo(stalled), count(1, 1)))
		Expect(w.events("a")(Default)).To(HaveEach("Normal Synced"), "nobody had to act")
	})

	It("of somebody else's Deployment is waited for as well", func() {
		w.foreign("theirs")
		other := w.foo("b", "theirs")
		Eventually(w.of("b")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
		w.changeDeployment("theirs", func(deployment *appsv1.Deployment) { deployment.Finalizers = []string{hold} })
		w.removeDeployment("theirs")
		Eventually(w.of("b")).Should(beWaiting(samplev1alpha1.FooReasonProgressing))
		settled()
		Expect(w.deployment("theirs").OwnerReferences).To(BeEmpty())
		w.drop(w.deployment("theirs"))
		w.made(other, "theirs")
		Eventually(w.of("b")).Should(beReady())
	})
})
