package foo

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

var _ = Describe("A PodTemplate that no Deployment can be made from", func() {
	DescribeTable("is told of once, tried slowly, and at once when it changes", func(spoil func(*corev1.PodSpec), part string) {
		w := onWhole()
		w.play()
		w.podTemplate("bad", "registry.example/web:1", func(template *corev1.PodTemplate) { spoil(&template.Template.Spec) })
		failures, written := reconcileErrors(), w.writes(Default)
		foo := w.foo("a", "web", madeFrom("bad"))
		Eventually(w.of("a")).Should(And(beStalled(samplev1alpha1.FooReasonRejected), say(part), count(0, 0)))
		Eventually(w.events("a")).Should(Equal([]string{"Warning Rejected"}))
		settled()
		passes := reconciles()
		Consistently(reconciles).Should(Equal(passes))
		Expect(reconcileErrors()).To(Equal(failures), "what cannot succeed is not an error of ours")
		Expect(w.writesSince(written)(Default)).To(HaveKeyWithValue("PATCH foos/status 200", 1))
		Expect(w.names(Default)).To(BeEmpty())

		w.changeTemplate("bad", func(template *corev1.PodTemplate) {
			template.Template.Spec = corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "registry.example/web:2"}}}
		})
		Expect(w.made(foo, "web")).To(runs("registry.example/web:2"))
		Eventually(w.of("a")).Should(And(beReady(), haveNo(stalled)))

		By("spoiling it again, which stops nothing that runs")
		before := w.raw("web")
		w.changeTemplate("bad", func(template *corev1.PodTemplate) { spoil(&template.Template.Spec) })
		Eventually(w.of("a")).Should(And(beStalled(samplev1alpha1.FooReasonRejected), say(part), speakOf("web"), count(1, 1)))
		settled()
		Expect(w.raw("web")).To(Equal(before))
	},
		Entry("since its Pods end", func(spec *corev1.PodSpec) { spec.RestartPolicy = corev1.RestartPolicyNever }, "restartPolicy"),
		Entry("since its Pods have a deadline", func(spec *corev1.PodSpec) { spec.ActiveDeadlineSeconds = new(int64(60)) }, "activeDeadlineSeconds"),
		Entry("since it sets a variable twice", func(spec *corev1.PodSpec) {
			spec.Containers[0].Env = []corev1.EnvVar{{Name: "TWICE", Value: "1"}, {Name: "TWICE", Value: "2"}}
		}, "TWICE"),
		Entry("since it has a port twice", func(spec *corev1.PodSpec) {
			spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "a", ContainerPort: 80}, {Name: "b", ContainerPort: 80}}
		}, "80"),
	)
})
