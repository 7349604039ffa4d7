package foo

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// seed is the Foo that the original comes with.
const seed = `
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata:
  name: example-foo
spec:
  deploymentName: example-foo
  replicas: 1
`

var _ = Describe("The seed's Foo", func() {
	It("becomes a Deployment of its own, and then Ready", func() {
		w := onWhole()
		Expect(w.apply(seed).Stderr).To(BeEmpty(), "nothing to warn of")
		foo := w.get("example-foo")
		deployment := w.made(foo, "example-foo")

		Expect(deployment.OwnerReferences).To(ConsistOf(metav1.OwnerReference{
			APIVersion: "samplecontroller.k8s.io/v1alpha1", Kind: "Foo", Name: "example-foo", UID: foo.UID,
			Controller: new(true), BlockOwnerDeletion: new(true),
		}))
		Expect(deployment.Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
		ours := map[string]string{
			"app.kubernetes.io/name": "foo", "app.kubernetes.io/instance": "example-foo",
			"samplecontroller.k8s.io/deployment": "example-foo",
		}
		Expect(deployment.Spec.Selector).To(Equal(&metav1.LabelSelector{MatchLabels: ours}))
		ours["app.kubernetes.io/managed-by"] = "samplecrd-controller"
		Expect(deployment.Labels).To(Equal(ours))
		Expect(deployment.Spec.Template.Labels).To(Equal(ours))
		Expect(deployment.Spec.Template.Spec.Containers).To(ConsistOf(HaveField("Image", "nginx:latest")))

		Eventually(w.of("example-foo")).Should(And(beWaiting(samplev1alpha1.FooReasonProgressing), speakOf("example-foo"), count(0, 0)))
		w.report("example-foo")
		Eventually(w.of("example-foo")).Should(And(beReady(), haveNo(stalled), speakOf("example-foo"), count(1, 1)))
		selector, err := labels.Parse(*w.get("example-foo").Status.Selector)
		Expect(err).NotTo(HaveOccurred())
		Expect(selector.Matches(labels.Set(deployment.Spec.Template.Labels))).To(BeTrue())
		Expect(selector.Matches(labels.Set{"app.kubernetes.io/name": "foo"})).To(BeFalse())
		Expect(w.events("example-foo")(Default)).To(Equal([]string{"Normal Synced", "Normal Synced"}))
	})
})
