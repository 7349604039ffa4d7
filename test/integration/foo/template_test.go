package foo

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// changeTemplate patches a PodTemplate.
func (w *world) changeTemplate(name string, change func(*corev1.PodTemplate)) {
	GinkgoHelper()
	template := &corev1.PodTemplate{}
	Expect(w.Client.Get(ctx, w.key(name), template)).To(Succeed())
	before := template.DeepCopy()
	change(template)
	Expect(w.Client.Patch(ctx, template, client.MergeFrom(before))).To(Succeed())
}

// runs is true of a Deployment whose only container has this image.
func runs(image string) OmegaMatcher {
	return HaveField("Spec.Template.Spec.Containers", ConsistOf(HaveField("Image", image)))
}

var _ = Describe("A Foo with a PodTemplate", func() {
	var w *world

	BeforeEach(func() { w = onWhole() })

	It("makes its Pods from it, with its labels and annotations and ours", func() {
		w.podTemplate("web", "registry.example/web:1", func(template *corev1.PodTemplate) {
			template.Labels = map[string]string{"of": "the-object"}
			template.Template.Labels = map[string]string{"example.com/team": "a", "app.kubernetes.io/name": "web"}
			template.Template.Annotations = map[string]string{"example.com/mesh": "on"}
		})
		foo := w.foo("a", "web", madeFrom("web"))
		deployment := w.made(foo, "web")
		Expect(deployment).To(runs("registry.example/web:1"))
		ours := map[string]string{
			"app.kubernetes.io/name": "foo", "app.kubernetes.io/instance": "a",
			"app.kubernetes.io/managed-by": "samplecrd-controller", "samplecontroller.k8s.io/deployment": "web",
		}
		Expect(deployment.Labels).To(Equal(ours))
		ours["example.com/team"] = "a"
		Expect(deployment.Spec.Template.Labels).To(Equal(ours), "ours select, and win")
		Expect(deployment.Spec.Template.Annotations).To(Equal(map[string]string{"example.com/mesh": "on"}))
		Expect(deployment.Annotations).To(BeEmpty())
		w.report("web")
		Eventually(w.of("a")).Should(beReady())
	})

	It("rolls its changes out", func() {
		w.podTemplate("web", "registry.example/web:1")
		foo := w.foo("a", "web", madeFrom("web"))
		other := w.foo("b", "web-b", madeFrom("web"))
		w.made(foo, "web")
		w.made(other, "web-b")
		w.report("web")
		w.report("web-b")
		Eventually(w.of("a")).Should(beReady())
		Eventually(w.of("b")).Should(beReady())
		w.changeTemplate("web", func(template *corev1.PodTemplate) {
			template.Template.Spec.Containers[0].Image = "registry.example/web:2"
		})
		for name, deployment := range map[string]string{"a": "web", "b": "web-b"} {
			Eventually(w.deploymentOf(deployment)).Should(runs("registry.example/web:2"))
			Eventually(w.of(name)).Should(beWaiting(samplev1alpha1.FooReasonProgressing))
			w.report(deployment)
			Eventually(w.of(name)).Should(beReady())
		}
	})

	It("writes nothing for a change that does not concern its Pods", func() {
		w.play()
		w.podTemplate("web", "registry.example/web:1")
		w.foo("a", "web", madeFrom("web"))
		Eventually(w.of("a")).Should(beReady())
		settled()
		written, before := w.writes(Default), reconciles()
		w.changeTemplate("web", func(template *corev1.PodTemplate) { template.Labels = map[string]string{"a": "b"} })
		Eventually(reconciles).Should(BeNumerically(">", before))
		settled()
		Consistently(w.writesSince(written)).Should(Equal(map[string]int{"PATCH podtemplates 200": 1}), "the test's own")
	})

	It("has nothing left of a template that it does not use any more", func() {
		w.play()
		w.podTemplate("rich", "registry.example/web:1", func(template *corev1.PodTemplate) {
			template.Template.Labels = map[string]string{"example.com/team": "a"}
			template.Template.Annotations = map[string]string{"example.com/mesh": "on"}
			spec := &template.Template.Spec
			spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}}
			spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "scratch", MountPath: "/scratch"}}
			spec.Containers = append(spec.Containers, corev1.Container{Name: "second", Image: "registry.example/second"})
			spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
			spec.NodeSelector = map[string]string{"disk": "fast"}
			spec.TerminationGracePeriodSeconds = new(int64(5))
		})
		w.podTemplate("plain", "registry.example/web:1", func(template *corev1.PodTemplate) {
			template.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "B", Value: "2"}}
		})
		foo := w.foo("a", "web", madeFrom("rich"))
		rich := w.made(foo, "web").Spec.Template
		Expect(rich.Spec.Containers).To(HaveLen(2))
		bare := w.made(w.foo("b", "bare"), "bare").Spec.Template.Spec
		plain := w.made(w.foo("c", "plain", madeFrom("plain")), "plain").Spec.Template.Spec

		w.change("a", madeFrom(""))
		Eventually(w.deploymentOf("web")).Should(HaveField("Spec.Template.Spec", Equal(bare)))
		Expect(w.deployment("web").Spec.Template.Labels).NotTo(HaveKey("example.com/team"))
		Expect(w.deployment("web").Spec.Template.Annotations).To(BeEmpty())
		w.change("a", madeFrom("rich"))
		Eventually(w.deploymentOf("web")).Should(HaveField("Spec.Template", Equal(rich)))
		w.change("a", madeFrom("plain"))
		Eventually(w.deploymentOf("web")).Should(HaveField("Spec.Template.Spec", Equal(plain)))
		Eventually(w.of("a")).Should(beReady())
		Expect(w.deployment("web")).To(beOf(foo))
	})

	It("waits for it when it is missing, and goes on when it comes", func() {
		w.play()
		foo := w.foo("a", "web", madeFrom("late"))
		Eventually(w.of("a")).Should(And(beWaiting(samplev1alpha1.FooReasonTemplateNotFound), say("PodTemplate late not found"), count(0, 0)))
		Eventually(w.events("a")).Should(Equal([]string{"Warning TemplateNotFound"}))
		settled()
		Expect(w.names(Default)).To(BeEmpty())
		w.podTemplate("late", "registry.example/web:1")
		Expect(w.made(foo, "web")).To(runs("registry.example/web:1"))
		Eventually(w.of("a")).Should(And(beReady(), say(Not(ContainSubstring("late")))))

		By("deleting it, which stops nothing that runs")
		before := w.raw("web")
		w.kubectl("delete", "podtemplate", "late")
		Eventually(w.of("a")).Should(And(beWaiting(samplev1alpha1.FooReasonTemplateNotFound), speakOf("web"), count(1, 1)))
		settled()
		Expect(w.raw("web")).To(Equal(before))
		w.podTemplate("late", "registry.example/web:2")
		Eventually(w.deploymentOf("web")).Should(runs("registry.example/web:2"))
		Eventually(w.of("a")).Should(beReady())
	})
})
