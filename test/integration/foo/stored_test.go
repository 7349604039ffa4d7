package foo

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/matchers"
)

var _ = Describe("A stored Foo", func() {
	It("says -1 until a controller has seen it, which no tool takes for done", func() {
		w := newWorld(bare)
		w.foo("a", "web")
		Expect(w.get("a").Status).To(Equal(samplev1alpha1.FooStatus{ObservedGeneration: new(int64(-1))}))
		Expect(matchers.Verdict(w.get("a"))).To(Equal(matchers.InProgress))
		w.start(env.ManagerOptions{Controllers: true})
		w.play()
		Eventually(w.of("a")).Should(beReady())
	})

	It("CF-09: means one replica when it has no number, whatever the Deployment has", func() {
		w := onBare()
		w.play()
		foo := w.foo("cf-09", "web")
		Expect(w.get("cf-09").Spec.Replicas).To(BeNil(), "nothing fills it in here")
		Expect(w.made(foo, "web").Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
		Eventually(w.of("cf-09")).Should(And(beReady(), count(1, 1)))

		// An autoscaler that is aimed wrongly, and a change of the Pods.
		w.kubectl("scale", "deployment/web", "--replicas=4")
		w.kubectl("set", "image", "deployment/web", "foo=nginx:old")
		Eventually(w.deploymentOf("web")).Should(And(
			HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(1))),
			HaveField("Spec.Template.Spec.Containers", ConsistOf(HaveField("Image", "nginx:latest")))))
		Eventually(w.of("cf-09")).Should(And(beReady(), count(1, 1)))
		Expect(w.get("cf-09").Spec.Replicas).To(BeNil(), "what the user wrote is never rewritten")
		Expect(w.kubectl("explain", "foo.spec.replicas")).To(ContainSubstring("Absent or null: 1"))

		By("going back to none from a number")
		w.change("cf-09", replicas(4))
		Eventually(w.of("cf-09")).Should(And(beReady(), count(4, 4)))
		w.change("cf-09", func(foo *samplev1alpha1.Foo) { foo.Spec.Replicas = nil })
		Eventually(w.of("cf-09")).Should(And(beReady(), count(1, 1)))
	})

	It("AF-10: without deploymentName is reported once, and heals when it gets one", func() {
		w := onBare()
		w.play()
		foo := w.foo("af-10", "")
		Eventually(w.of("af-10")).Should(And(
			beStalled(samplev1alpha1.FooReasonInvalid), count(0, 0), say("spec.deploymentName"),
			HaveField("Status.DeploymentName", BeNil())))
		w.touch("af-10")
		Expect(w.names(Default)).To(BeEmpty())
		Expect(w.events("af-10")(Default)).To(Equal([]string{"Warning Invalid"}))
		w.change("af-10", naming("web"))
		w.made(foo, "web")
		Eventually(w.of("af-10")).Should(And(beReady(), haveNo(stalled), speakOf("web")))
	})

	DescribeTable("that breaks a rule keeps what it has, and heals", func(broken func(*samplev1alpha1.Foo), path string) {
		w := onBare()
		w.play()
		w.foo("a", "web", replicas(2))
		Eventually(w.of("a")).Should(beReady())
		before := w.raw("web")
		w.change("a", broken)
		Eventually(w.of("a")).Should(And(beStalled(samplev1alpha1.FooReasonInvalid), speakOf("web"), count(2, 2), say(path)))
		settled()
		Expect(w.raw("web")).To(Equal(before))
		Expect(w.names(Default)).To(ConsistOf("web"))
		w.change("a", naming("web"), replicas(1), madeFrom(""))
		Eventually(w.of("a")).Should(And(beReady(), haveNo(stalled), speakOf("web"), count(1, 1)))
	},
		Entry("a negative number", replicas(-1), "spec.replicas"),
		Entry("no deploymentName any more", naming(""), "spec.deploymentName"),
		Entry("a deploymentName that no Deployment can have", naming("Web_1"), "spec.deploymentName"),
		Entry("a podTemplateName that no PodTemplate can have", madeFrom("A b"), "spec.podTemplateName"),
	)

	It("gets its status back when somebody clears it", func() {
		w := onBare()
		w.play()
		w.foo("a", "web", replicas(2))
		Eventually(w.of("a")).Should(beReady())
		settled()
		foo := w.get("a")
		before := foo.Status
		foo.Status = samplev1alpha1.FooStatus{}
		Expect(w.Client.Status().Update(ctx, foo)).To(Succeed())
		Eventually(w.of("a")).Should(And(beReady(), HaveField("Status", sameAs(before))))
	})

	It("gets its status back when somebody writes nonsense there", func() {
		w := onBare()
		w.play()
		w.foo("a", "web", replicas(2))
		Eventually(w.of("a")).Should(beReady())
		settled()
		foo := w.get("a")
		before := foo.DeepCopy().Status
		foo.Status.AvailableReplicas, foo.Status.Selector, foo.Status.DeploymentName = new(int32(9)), new("a=b"), nil
		foo.Status.Conditions = []metav1.Condition{{
			Type: stalled, Status: metav1.ConditionTrue, Reason: "Invalid", LastTransitionTime: metav1.Now(),
		}}
		Expect(w.Client.Status().Update(ctx, foo)).To(Succeed())
		Eventually(w.of("a")).Should(And(beReady(), haveNo(stalled), HaveField("Status", sameAs(before))))
	})
})

// sameAs compares two statuses in all but times.
func sameAs(status samplev1alpha1.FooStatus) OmegaMatcher {
	timeless := func(status samplev1alpha1.FooStatus) samplev1alpha1.FooStatus {
		status = *status.DeepCopy()
		for i := range status.Conditions {
			status.Conditions[i].LastTransitionTime = metav1.Time{}
		}
		return status
	}
	return WithTransform(timeless, Equal(timeless(status)))
}
