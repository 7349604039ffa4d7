package foo

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/test/env"
)

// stripped is what a backup tool brings back of a Deployment: without owner, and
// without what the API server gives out.
func stripped(deployment *appsv1.Deployment) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: deployment.Name, Labels: deployment.Labels, Annotations: deployment.Annotations},
		Spec:       deployment.Spec,
	}
}

// stranger controls a Deployment in the place of a Foo.
var stranger = []metav1.OwnerReference{{
	APIVersion: "example.com/v1", Kind: "Web", Name: "cf-05", UID: "8a3ff6a0-0000-4000-8000-000000000000",
	Controller: new(true),
}}

var _ = Describe("A Deployment that is not the Foo's", func() {
	It("CF-02: is not touched, and the Foo says so", func() {
		w := onWhole()
		w.foreign("web")
		before := w.raw("web")
		foo := w.foo("cf-02", "web", replicas(1))
		Eventually(w.of("cf-02")).Should(And(
			beStalled(samplev1alpha1.FooReasonResourceExists), count(0, 0),
			say(`Resource "web" already exists and is not managed by Foo`),
			HaveField("Status.DeploymentName", BeNil()), HaveField("Status.Selector", BeNil())))
		Eventually(w.events("cf-02")).Should(Equal([]string{"Warning ErrResourceExists"}))
		Expect(w.eventsOf("cf-02")(Default)[0].Note).To(ContainSubstring(`"web"`))

		w.change("cf-02", replicas(2))
		Eventually(w.of("cf-02")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
		w.kubectl("scale", "foo/cf-02", "--replicas=5")
		Eventually(w.of("cf-02")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
		w.touch("cf-02")
		Expect(w.raw("web")).To(Equal(before))
		Expect(w.deployment("web")).NotTo(beOf(foo))
		Expect(w.events("cf-02")(Default)).To(Equal([]string{"Warning ErrResourceExists"}), "one for the transition")
	})

	It("CF-02: is not touched when it comes while the Foo's own has just gone", func() {
		w := onWhole()
		foo := w.foo("cf-02", "web")
		w.made(foo, "web")
		w.stop()
		w.removeDeployment("web")
		w.foreign("web")
		before := w.raw("web")
		w.start(env.ManagerOptions{Controllers: true, Webhooks: true})
		Eventually(w.of("cf-02")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
		Expect(w.raw("web")).To(Equal(before))
	})

	It("CF-17: stops to matter when it goes", func() {
		w := onWhole()
		w.play()
		w.foreign("web")
		foo := w.foo("cf-17", "web")
		Eventually(w.of("cf-17")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
		w.kubectl("delete", "deployment", "web")
		w.made(foo, "web")
		Eventually(w.of("cf-17")).Should(And(beReady(), haveNo(stalled), say(Not(ContainSubstring("already exists"))), speakOf("web")))
		Expect(w.events("cf-17")(Default)).To(And(HaveEach(Or(Equal("Warning ErrResourceExists"), Equal("Normal Synced"))),
			ContainElement("Normal Synced")))
	})

	Describe("CF-05: restored without its owner", func() {
		var (
			w      *world
			backup *appsv1.Deployment
		)

		BeforeEach(func() {
			w = onWhole()
			w.play()
			w.made(w.foo("cf-05", "web", replicas(2)), "web")
			Eventually(w.of("cf-05")).Should(beReady())
			backup = stripped(w.deployment("web"))
			w.remove("cf-05")
			Expect(w.names(Default)).To(BeEmpty())
		})

		restored := func() *appsv1.Deployment {
			GinkgoHelper()
			deployment := backup.DeepCopy()
			w.create(deployment)
			return deployment
		}

		It("is left alone, and the Foo tells how to adopt it", func() {
			restored()
			Eventually(w.deploymentOf("web")).Should(HaveField("Status.ObservedGeneration", BeEquivalentTo(1)))
			before := w.raw("web")
			w.foo("cf-05", "web", replicas(1))
			Eventually(w.of("cf-05")).Should(And(beStalled(samplev1alpha1.FooReasonResourceExists),
				say("annotate it with samplecontroller.k8s.io/adopt-by=cf-05")))
			settled()
			Expect(w.raw("web")).To(Equal(before))
		})

		It("is adopted once it is annotated, as it is", func() {
			deployment := restored()
			foo := w.foo("cf-05", "web", replicas(2))
			Eventually(w.of("cf-05")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
			w.kubectl("annotate", "deployment/web", "samplecontroller.k8s.io/adopt-by=cf-05")
			adopted := w.made(foo, "web")
			Expect(adopted.UID).To(Equal(deployment.UID))
			Expect(adopted.Spec).To(Equal(deployment.Spec))
			Expect(adopted.OwnerReferences).To(HaveLen(1))
			Eventually(w.of("cf-05")).Should(And(beReady(), haveNo(stalled), count(2, 2)))
			Expect(w.names(Default)).To(ConsistOf("web"))
		})

		It("is adopted at once when it brings the annotation, and brought to what is asked", func() {
			backup.Annotations = map[string]string{samplev1alpha1.AnnotationAdoptBy: "cf-05"}
			backup.Spec.Replicas = new(int32(7))
			backup.Spec.Template.Spec.Containers[0].Image = "nginx:old"
			deployment := restored()
			foo := w.foo("cf-05", "web", replicas(2))
			adopted := w.made(foo, "web")
			Expect(adopted.UID).To(Equal(deployment.UID))
			Expect(adopted.Spec.Replicas).To(HaveValue(BeEquivalentTo(2)))
			Expect(adopted.Spec.Template.Spec.Containers).To(ConsistOf(HaveField("Image", "nginx:latest")))
			Eventually(w.of("cf-05")).Should(beReady())
		})

		It("is adopted once the controller that has it lets go", func() {
			backup.Annotations = map[string]string{samplev1alpha1.AnnotationAdoptBy: "cf-05"}
			backup.OwnerReferences = stranger
			deployment := restored()
			foo := w.foo("cf-05", "web", replicas(2))
			Eventually(w.of("cf-05")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
			w.changeDeployment("web", func(deployment *appsv1.Deployment) { deployment.OwnerReferences = nil })
			Expect(w.made(foo, "web").UID).To(Equal(deployment.UID))
			Eventually(w.of("cf-05")).Should(And(beReady(), haveNo(stalled)))
		})

		DescribeTable("is not adopted", func(change func(*appsv1.Deployment)) {
			backup.Annotations = map[string]string{samplev1alpha1.AnnotationAdoptBy: "cf-05"}
			change(backup)
			restored()
			Eventually(w.deploymentOf("web")).Should(HaveField("Status.ObservedGeneration", BeEquivalentTo(1)))
			before := w.raw("web")
			w.foo("cf-05", "web")
			Eventually(w.of("cf-05")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
			w.touch("cf-05")
			Expect(w.raw("web")).To(Equal(before))
		},
			Entry("by a Foo that the annotation does not name", func(deployment *appsv1.Deployment) {
				deployment.Annotations[samplev1alpha1.AnnotationAdoptBy] = "cf-05-b"
			}),
			Entry("with another selector", func(deployment *appsv1.Deployment) {
				delete(deployment.Spec.Selector.MatchLabels, "app.kubernetes.io/instance")
			}),
			Entry("with a selector that says more", func(deployment *appsv1.Deployment) {
				deployment.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{
					{Key: "app.kubernetes.io/name", Operator: metav1.LabelSelectorOpExists},
				}
			}),
			Entry("from another controller", func(deployment *appsv1.Deployment) {
				deployment.OwnerReferences = stranger
			}),
		)
	})
})
