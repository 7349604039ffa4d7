package foo

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

var _ = Describe("CF-08: a Foo's Deployment that somebody changes", func() {
	var (
		w      *world
		foo    *samplev1alpha1.Foo
		before *appsv1.Deployment
	)

	BeforeEach(func() {
		w = onWhole()
		w.play()
		foo = w.foo("cf-08", "web", replicas(2))
		w.made(foo, "web")
		Eventually(w.of("cf-08")).Should(beReady())
		settled()
		before = w.deployment("web")
	})

	It("goes back to the Foo's number with one write, and stays there", func() {
		written := w.writes(Default)
		w.kubectl("scale", "deployment/web", "--replicas=6")
		Eventually(w.deploymentOf("web")).Should(And(
			HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(2))), HaveField("Generation", before.Generation+2)))
		Eventually(w.of("cf-08")).Should(And(beReady(), count(2, 2)))
		settled()
		Consistently(w.writesSince(written)).Should(And(
			HaveKeyWithValue("PATCH deployments/scale 200", 1), // the test's own
			HaveKeyWithValue("APPLY deployments 200", 1),
			HaveKeyWithValue("PUT deployments/status 200", BeNumerically("<=", 3)), // the player's
		))
		Expect(w.deployment("web").Generation).To(Equal(before.Generation + 2))
	})

	DescribeTable("is brought back", func(change func(*appsv1.Deployment)) {
		changed := w.changeDeployment("web", change)
		Expect(changed.ResourceVersion).NotTo(Equal(before.ResourceVersion))
		Eventually(w.deploymentOf("web")).Should(And(
			HaveField("Spec", Equal(before.Spec)), HaveField("Labels", Equal(before.Labels)),
			HaveField("OwnerReferences", Equal(before.OwnerReferences))))
		Eventually(w.of("cf-08")).Should(beReady())
		Expect(w.deployment("web").UID).To(Equal(before.UID))
	},
		Entry("another image", func(deployment *appsv1.Deployment) {
			deployment.Spec.Template.Spec.Containers[0].Image = "nginx:old"
		}),
		Entry("a label of ours with another value", func(deployment *appsv1.Deployment) {
			deployment.Labels["app.kubernetes.io/managed-by"] = "somebody"
		}),
		Entry("no labels", func(deployment *appsv1.Deployment) { deployment.Labels = nil }),
		Entry("a label of the Pods that does not select", func(deployment *appsv1.Deployment) {
			delete(deployment.Spec.Template.Labels, "app.kubernetes.io/managed-by")
		}),
		Entry("an owner that does not hold up deletion", func(deployment *appsv1.Deployment) {
			deployment.OwnerReferences[0].BlockOwnerDeletion = new(false)
		}),
	)

	It("is brought back when another manager of fields takes ours by force", func() {
		theirs := appsv1apply.Deployment("web", w.namespace).WithSpec(appsv1apply.DeploymentSpec().WithReplicas(6))
		Expect(w.Client.Apply(ctx, theirs, client.FieldOwner("them"), client.ForceOwnership)).To(Succeed())
		Eventually(w.deploymentOf("web")).Should(And(
			HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(2))), HaveField("Generation", before.Generation+2)))
		settled()
		Expect(w.deployment("web").Generation).To(Equal(before.Generation + 2))
	})

	DescribeTable("is nobody's any more, and left alone", func(release func(*appsv1.Deployment)) {
		w.changeDeployment("web", release)
		after := w.raw("web")
		Eventually(w.of("cf-08")).Should(And(
			beStalled(samplev1alpha1.FooReasonResourceExists), count(0, 0), say("samplecontroller.k8s.io/adopt-by=cf-08")))
		w.change("cf-08", replicas(3))
		Eventually(w.of("cf-08")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
		settled()
		Expect(w.raw("web")).To(Equal(after))

		w.kubectl("annotate", "deployment/web", "samplecontroller.k8s.io/adopt-by=cf-08")
		w.made(foo, "web")
		Eventually(w.of("cf-08")).Should(And(beReady(), count(3, 3)))
		Expect(w.deployment("web").UID).To(Equal(before.UID))
	},
		Entry("without its owner", func(deployment *appsv1.Deployment) { deployment.OwnerReferences = nil }),
		Entry("with an owner that does not control it", func(deployment *appsv1.Deployment) {
			deployment.OwnerReferences[0].Controller = new(false)
		}),
	)

	It("keeps what is not ours in it", func() {
		w.kubectl("rollout", "restart", "deployment/web")
		w.kubectl("annotate", "deployment/web", "example.com/note=kept")
		w.kubectl("label", "deployment/web", "example.com/team=a")
		theirs := appsv1apply.Deployment("web", w.namespace).WithSpec(appsv1apply.DeploymentSpec().
			WithTemplate(corev1apply.PodTemplateSpec().
				WithAnnotations(map[string]string{"example.com/mesh": "on"}).
				WithSpec(corev1apply.PodSpec().
					WithContainers(
						corev1apply.Container().WithName("foo").WithEnv(corev1apply.EnvVar().WithName("THEIRS").WithValue("1")),
						corev1apply.Container().WithName("sidecar").WithImage("registry.example/sidecar")))))
		Expect(w.Client.Apply(ctx, theirs, client.FieldOwner("them"))).To(Succeed())
		settled()
		written := w.writes(Default)
		w.change("cf-08", replicas(3))
		Eventually(w.of("cf-08")).Should(And(beReady(), count(3, 3)))

		deployment := w.deployment("web")
		Expect(deployment.Annotations).To(HaveKeyWithValue("example.com/note", "kept"))
		Expect(deployment.Labels).To(HaveKeyWithValue("example.com/team", "a"))
		Expect(deployment.Spec.Template.Annotations).To(And(
			HaveKeyWithValue("example.com/mesh", "on"), HaveKey("kubectl.kubernetes.io/restartedAt")))
		Expect(deployment.Spec.Template.Spec.Containers).To(ConsistOf(
			And(HaveField("Name", "foo"), HaveField("Image", "nginx:latest"), HaveField("Env", ConsistOf(corev1.EnvVar{Name: "THEIRS", Value: "1"}))),
			And(HaveField("Name", "sidecar"), HaveField("Image", "registry.example/sidecar")),
		))
		settled()
		Consistently(w.writesSince(written)).Should(HaveKeyWithValue("APPLY deployments 200", 1))
	})

	It("gets its own container back beside one that was put in its place", func() {
		w.changeDeployment("web", func(deployment *appsv1.Deployment) {
			deployment.Spec.Template.Spec.Containers[0].Name = "theirs"
		})
		Eventually(w.deploymentOf("web")).Should(HaveField("Spec.Template.Spec.Containers", ConsistOf(
			And(HaveField("Name", "foo"), HaveField("Image", "nginx:latest")), HaveField("Name", "theirs"))))
		Eventually(w.of("cf-08")).Should(beReady())
	})

	It("is made anew when it is deleted", func() {
		w.kubectl("delete", "deployment", "web")
		Eventually(w.deploymentOf("web")).Should(And(beOf(foo), HaveField("UID", Not(Equal(before.UID)))))
		Expect(w.deployment("web").Spec).To(Equal(before.Spec))
		Eventually(w.of("cf-08")).Should(And(beReady(), count(2, 2)))
	})
})
