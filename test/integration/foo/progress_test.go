package foo

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// unready is the status of a Deployment whose Pods do not become available.
func unready(status *appsv1.DeploymentStatus) {
	status.ReadyReplicas, status.AvailableReplicas = 0, 0
	status.Conditions[0].Status, status.Conditions[1].Reason = corev1.ConditionFalse, "ReplicaSetUpdated"
}

// saying adds a condition to the status of a Deployment, or replaces it.
func saying(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) func(*appsv1.DeploymentStatus) {
	return func(all *appsv1.DeploymentStatus) {
		condition := appsv1.DeploymentCondition{Type: kind, Status: status, Reason: reason, Message: message}
		for i := range all.Conditions {
			if all.Conditions[i].Type == kind {
				all.Conditions[i] = condition
				return
			}
		}
		all.Conditions = append(all.Conditions, condition)
	}
}

var _ = Describe("What a Foo tells of its Deployment", func() {
	var (
		w   *world
		foo *samplev1alpha1.Foo
	)

	BeforeEach(func() {
		w = onWhole()
		foo = w.foo("a", "web", replicas(1))
		w.made(foo, "web")
	})

	It("CF-11: is not Ready before the Deployment has seen the change, whatever it had before", func() {
		w.report("web")
		Eventually(w.of("a")).Should(And(beReady(), count(1, 1)))
		seen := w.deployment("web").Generation
		w.change("a", replicas(3))
		Eventually(w.deploymentOf("web")).Should(HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(3))))
		Eventually(w.of("a")).Should(And(beWaiting(samplev1alpha1.FooReasonProgressing), count(1, 1)))
		w.touch("a")
		Consistently(w.of("a")).ShouldNot(beReady())

		By("numbers that fit and speak of the old generation")
		w.report("web", func(status *appsv1.DeploymentStatus) { status.ObservedGeneration = seen })
		Eventually(w.of("a")).Should(count(3, 3))
		w.touch("a")
		Expect(w.get("a")).To(beWaiting(samplev1alpha1.FooReasonProgressing))

		By("one Pod short")
		w.report("web", func(status *appsv1.DeploymentStatus) { status.AvailableReplicas = 2 })
		Eventually(w.of("a")).Should(And(beWaiting(samplev1alpha1.FooReasonProgressing), count(3, 2)))
		w.report("web")
		Eventually(w.of("a")).Should(And(beReady(), count(3, 3)))
	})

	DescribeTable("CF-11: does not take old Pods for new ones", func(rollout func(*appsv1.DeploymentStatus), shown int32) {
		w.report("web")
		Eventually(w.of("a")).Should(beReady())
		w.report("web", rollout)
		Eventually(w.of("a")).Should(And(beWaiting(samplev1alpha1.FooReasonProgressing), count(shown, 1)))
	},
		Entry("while none is of the new kind", func(status *appsv1.DeploymentStatus) { status.UpdatedReplicas = 0 }, int32(1)),
		Entry("while an old one is still there", func(status *appsv1.DeploymentStatus) { status.Replicas = 2 }, int32(2)),
	)

	It("CF-12: is 0, and not nothing, where no Pod is available", func() {
		w.report("web", unready)
		Eventually(w.of("a")).Should(And(beWaiting(samplev1alpha1.FooReasonProgressing), count(1, 0)))
		Expect(w.kubectl("get", "foo", "a", "-o", "jsonpath={.status.availableReplicas}")).To(Equal("0"))
		Expect(w.kubectl("get", "foo", "a")).To(MatchRegexp(`(?m)^a\s+web\s+1\s+0\s+False\s`))
	})

	It("CF-12: does not keep the old number after scaling to 0", func() {
		w.change("a", replicas(2))
		w.play()
		Eventually(w.of("a")).Should(And(beReady(), count(2, 2)))
		w.kubectl("scale", "foo/a", "--replicas=0")
		Eventually(w.of("a")).Should(And(beReady(), count(0, 0)))
		Expect(w.get("a").Spec.Replicas).To(HaveValue(BeZero()))
		Expect(w.kubectl("get", "foo", "a", "-o", "jsonpath={.status.availableReplicas}/{.status.replicas}")).To(Equal("0/0"))
	})

	It("is why its Pods cannot be made, and forgets it", func() {
		w.report("web", unready, func(status *appsv1.DeploymentStatus) { status.Replicas, status.UpdatedReplicas = 0, 0 },
			saying(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", "exceeded quota: compute"))
		Eventually(w.of("a")).Should(And(beWaiting(samplev1alpha1.FooReasonReplicaFailure), say("exceeded quota: compute")))
		Eventually(w.events("a")).Should(ContainElement("Warning ReplicaFailure"))
		w.report("web")
		Eventually(w.of("a")).Should(And(beReady(), say(Not(ContainSubstring("quota")))))
	})

	It("is that it gave up, and forgets it", func() {
		w.report("web", unready,
			saying(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded", `ReplicaSet "web-1" has timed out progressing.`))
		Eventually(w.of("a")).Should(And(beStalled(samplev1alpha1.FooReasonProgressDeadlineExceeded), say("has timed out progressing")))
		Eventually(w.events("a")).Should(ContainElement("Warning ProgressDeadlineExceeded"))
		By("a change of the Foo, which the Deployment has not seen yet")
		w.change("a", replicas(2))
		Eventually(w.of("a")).Should(beWaiting(samplev1alpha1.FooReasonProgressing))
		w.report("web")
		Eventually(w.of("a")).Should(And(beReady(), haveNo(stalled)))
	})

	It("is that somebody has paused it, which is left to him", func() {
		w.report("web")
		Eventually(w.of("a")).Should(beReady())
		w.kubectl("rollout", "pause", "deployment/web")
		w.podTemplate("next", "registry.example/web:2")
		w.change("a", madeFrom("next"))
		Eventually(w.deploymentOf("web")).Should(runs("registry.example/web:2"))
		w.report("web", func(status *appsv1.DeploymentStatus) { status.UpdatedReplicas = 0 },
			saying(appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentPaused", "Deployment is paused"))
		Eventually(w.of("a")).Should(And(beWaiting(samplev1alpha1.FooReasonProgressing), count(1, 1), say("Deployment web is paused")))
		settled()
		Expect(w.deployment("web").Spec.Paused).To(BeTrue())
		w.kubectl("rollout", "resume", "deployment/web")
		w.report("web")
		Eventually(w.of("a")).Should(And(beReady(), say(Not(ContainSubstring("paused")))))
	})

	It("is there for kubectl: columns, wait, describe", func() {
		w.play()
		w.kubectl("wait", "--for=condition=Ready", "foo/a", "--timeout=60s")
		lines := strings.Split(w.kubectl("get", "foo"), "\n")
		Expect(strings.Fields(lines[0])).To(Equal([]string{"NAME", "DEPLOYMENT", "DESIRED", "AVAILABLE", "READY", "AGE"}))
		Expect(strings.Fields(lines[1])[:5]).To(Equal([]string{"a", "web", "1", "1", "True"}))
		wide := strings.Split(w.kubectl("get", "foos", "-o", "wide"), "\n")
		Expect(wide[0]).To(ContainSubstring("REASON"))
		Expect(wide[1]).To(ContainSubstring("Every replica is available"))
		Eventually(func() string { return w.kubectl("describe", "foo", "a") }).Should(And(
			ContainSubstring("Synced"), ContainSubstring("Foo synced successfully")))
	})

	It("is a scale that kubectl and autoscalers can use", func() {
		w.play()
		Eventually(w.of("a")).Should(beReady())
		w.kubectl("scale", "foo/a", "--replicas=3")
		Eventually(w.deploymentOf("web")).Should(HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(3))))
		Eventually(w.of("a")).Should(And(beReady(), count(3, 3)))
		scale := &autoscalingv1.Scale{}
		Expect(yaml.Unmarshal([]byte(w.kubectl("get", "foo", "a", "--subresource=scale", "-o", "yaml")), scale)).To(Succeed())
		Expect(scale.Spec.Replicas).To(BeEquivalentTo(3))
		Expect(scale.Status.Replicas).To(BeEquivalentTo(3))
		Expect(scale.Status.Selector).To(Equal(*w.get("a").Status.Selector))
	})
})
