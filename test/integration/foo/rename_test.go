package foo

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

var _ = Describe("CF-01: a change of deploymentName", func() {
	var (
		w   *world
		foo *samplev1alpha1.Foo
	)

	BeforeEach(func() {
		w = onWhole()
		foo = w.foo("cf-01", "old")
		w.made(foo, "old")
		w.report("old")
		Eventually(w.of("cf-01")).Should(beReady())
	})

	It("keeps the old Deployment until the new one is available, and not longer", func() {
		old := w.deployment("old")
		w.change("cf-01", naming("new"))
		w.made(foo, "new")
		Eventually(w.of("cf-01")).Should(And(
			beWaiting(samplev1alpha1.FooReasonProgressing), speakOf("new"), count(0, 0),
			say("The Pods of Deployment new are not as asked yet; Deployment old stays meanwhile")))
		w.report("new", func(status *appsv1.DeploymentStatus) { status.AvailableReplicas, status.ReadyReplicas = 0, 0 })
		Eventually(w.of("cf-01")).Should(count(1, 0))
		w.touch("cf-01")
		Expect(w.names(Default)).To(ConsistOf("old", "new"))
		Expect(w.deployment("old").ResourceVersion).To(Equal(old.ResourceVersion))

		w.report("new")
		Eventually(w.names).Should(ConsistOf("new"))
		Eventually(w.of("cf-01")).Should(And(beReady(), speakOf("new"), count(1, 1), say(Not(ContainSubstring("old")))))
	})

	It("gives the two Deployments no Pod in common", func() {
		w.change("cf-01", naming("new"))
		w.made(foo, "new")
		old, err := metav1.LabelSelectorAsSelector(w.deployment("old").Spec.Selector)
		Expect(err).NotTo(HaveOccurred())
		Expect(old.Matches(labelsOf(w.deployment("old")))).To(BeTrue())
		Expect(old.Matches(labelsOf(w.deployment("new")))).To(BeFalse())
	})

	It("leaves an old Deployment alone that has become somebody else's", func() {
		w.changeDeployment("old", func(deployment *appsv1.Deployment) {
			deployment.OwnerReferences[0].Kind, deployment.OwnerReferences[0].APIVersion = "Web", "example.com/v1"
			deployment.OwnerReferences[0].UID = "8a3ff6a0-0000-4000-8000-000000000000"
		})
		Eventually(w.of("cf-01")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
		before := w.raw("old")
		w.change("cf-01", naming("new"))
		w.made(foo, "new")
		w.report("new")
		Eventually(w.of("cf-01")).Should(And(beReady(), speakOf("new")))
		settled()
		Expect(w.raw("old")).To(Equal(before))
	})

	It("ends with the last name only, when names change faster than Pods start", func() {
		for _, name := range []string{"second", "third"} {
			w.change("cf-01", naming(name))
			w.made(foo, name)
		}
		settled()
		Expect(w.names(Default)).To(ConsistOf("old", "second", "third"))
		w.report("second")
		settled()
		Expect(w.names(Default)).To(ConsistOf("old", "second", "third"), "nobody asks for the second one any more")
		Expect(w.get("cf-01")).To(And(beWaiting(samplev1alpha1.FooReasonProgressing),
			say(And(ContainSubstring("old"), ContainSubstring("second"), ContainSubstring("stay meanwhile")))))
		w.report("third")
		Eventually(w.names).Should(ConsistOf("third"))
		Eventually(w.of("cf-01")).Should(And(beReady(), speakOf("third")))
	})

	It("goes back to the Deployment that still runs", func() {
		old := w.deployment("old")
		w.change("cf-01", naming("new"))
		w.made(foo, "new")
		w.change("cf-01", naming("old"))
		Eventually(w.names).Should(ConsistOf("old"))
		Eventually(w.of("cf-01")).Should(And(beReady(), speakOf("old"), count(1, 1)))
		Expect(w.deployment("old").UID).To(Equal(old.UID))
		Expect(w.deployment("old").Spec).To(Equal(old.Spec))
	})

	It("brings what runs to the new number as well", func() {
		w.change("cf-01", naming("new"))
		w.made(foo, "new")
		w.change("cf-01", naming("old"), replicas(2))
		Eventually(w.deploymentOf("old")).Should(HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(2))))
		settled()
		Expect(w.names(Default)).To(ConsistOf("old", "new"), "the old one has to become available again")
		w.report("old")
		Eventually(w.names).Should(ConsistOf("old"))
		Eventually(w.of("cf-01")).Should(And(beReady(), count(2, 2)))
	})

	It("does not stop what runs when the new name is taken, and goes through once it is free", func() {
		w.foreign("web")
		web, old := w.raw("web"), w.raw("old")
		w.change("cf-01", naming("web"))
		Eventually(w.of("cf-01")).Should(And(
			beStalled(samplev1alpha1.FooReasonResourceExists), speakOf("old"), count(1, 1),
			say(And(ContainSubstring(`"web"`), ContainSubstring("Deployment old stays meanwhile")))))
		settled()
		Expect(w.raw("web")).To(Equal(web))
		Expect(w.raw("old")).To(Equal(old))

		w.removeDeployment("web")
		w.made(foo, "web")
		Expect(w.names(Default)).To(ConsistOf("old", "web"))
		w.report("web")
		Eventually(w.names).Should(ConsistOf("web"))
		Eventually(w.of("cf-01")).Should(And(beReady(), speakOf("web")))
	})

	It("leaves a copy alone that somebody made by hand, with its owner", func() {
		own := w.deployment("old")
		copied := stripped(own)
		copied.Name, copied.OwnerReferences = "copy", own.OwnerReferences
		w.create(copied)
		before := w.raw("copy")
		w.touch("cf-01")
		Expect(w.get("cf-01")).To(And(beReady(), speakOf("old"), say(Not(ContainSubstring("copy")))))

		w.change("cf-01", naming("new"))
		w.made(foo, "new")
		Eventually(w.of("cf-01")).Should(say("Deployment old stays meanwhile"))
		w.report("new")
		Eventually(w.names).Should(ConsistOf("copy", "new"))
		Eventually(w.of("cf-01")).Should(And(beReady(), speakOf("new")))
		settled()
		Expect(w.raw("copy")).To(Equal(before))
	})

	It("is done at once where no Pod is asked for", func() {
		w.play()
		w.change("cf-01", naming("new"), replicas(0))
		Eventually(w.names).Should(ConsistOf("new"))
		Eventually(w.of("cf-01")).Should(And(beReady(), count(0, 0)))
	})
})
