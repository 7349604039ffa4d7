package admission_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// makeDeployment creates a Deployment that edit may have changed.
func makeDeployment(namespace, name string, edit func(*appsv1.Deployment)) *appsv1.Deployment {
	GinkgoHelper()
	labels := map[string]string{"app": "x"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}},
			},
		},
	}
	if edit != nil {
		edit(deployment)
	}
	Expect(user.Create(ctx, deployment)).To(Succeed())
	return deployment
}

// makePodTemplate creates a PodTemplate.
func makePodTemplate(namespace, name string) {
	GinkgoHelper()
	Expect(user.Create(ctx, &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Template:   corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x"}}}},
	})).To(Succeed())
}

// awaitWarning returns when a new Foo with spec would draw a warning that holds
// text; the webhooks read a cache. An empty text stands for no warning.
func awaitWarning(namespace, spec, text string) {
	GinkgoHelper()
	want := ContainElement(ContainSubstring(text))
	if text == "" {
		want = BeEmpty()
	}
	Eventually(func() []string { return create(foo(namespace, "probe", spec), client.DryRunAll).warnings }).Should(want)
}

var _ = Describe("A Foo is let in with a warning", func() {
	var namespace string
	BeforeEach(func() { namespace = newNamespace() })

	const foreign = "exists and is not managed by this Foo"

	It("while the Deployment that it names is somebody else's, and only then", func() {
		taken := makeDeployment(namespace, "taken", nil)
		awaitWarning(namespace, `{deploymentName: taken}`, foreign)
		subject := foo(namespace, "subject", `{deploymentName: free}`)
		expectAccepted(create(subject))
		expectAccepted(mergePatch(subject, `{"spec":{"deploymentName":"taken"}}`), "spec.deploymentName: Deployment taken "+foreign)
		expectAccepted(mergePatch(subject, `{"spec":{"replicas":2}}`), foreign)
		expectAccepted(scaleTo(subject, 3))
		expectAccepted(mergePatch(subject, `{"metadata":{"labels":{"colour":"blue"}}}`))

		Expect(user.Delete(ctx, taken)).To(Succeed())
		awaitWarning(namespace, `{deploymentName: taken}`, "Foo subject names Deployment taken too")
		expectAccepted(mergePatch(subject, `{"spec":{"replicas":4}}`))
	})

	It("while the Deployment is another Foo's, and not while it is its own or offered to it", func() {
		subject := foo(namespace, "subject", `{deploymentName: own}`)
		expectAccepted(create(subject))
		makeDeployment(namespace, "own", func(deployment *appsv1.Deployment) {
			owner := metav1.NewControllerRef(stored(subject), subject.GroupVersionKind())
			deployment.OwnerReferences = []metav1.OwnerReference{*owner}
		})
		awaitWarning(namespace, `{deploymentName: own}`, "Deployment own exists and belongs to Foo subject")
		expectAccepted(mergePatch(subject, `{"spec":{"replicas":2}}`))

		makeDeployment(namespace, "offered", func(deployment *appsv1.Deployment) {
			deployment.Annotations = map[string]string{"samplecontroller.k8s.io/adopt-by": "restored"}
			labels := map[string]string{
				"app.kubernetes.io/name": "foo", "app.kubernetes.io/instance": "restored", "samplecontroller.k8s.io/deployment": "offered",
			}
			deployment.Spec.Selector.MatchLabels, deployment.Spec.Template.Labels = labels, labels
		})
		awaitWarning(namespace, `{deploymentName: offered}`, "Deployment offered "+foreign)
		expectAccepted(create(foo(namespace, "restored", `{deploymentName: offered}`)))

		makeDeployment(namespace, "unfit", func(deployment *appsv1.Deployment) {
			deployment.Annotations = map[string]string{"samplecontroller.k8s.io/adopt-by": "other"}
		})
		awaitWarning(namespace, `{deploymentName: unfit}`, "Deployment unfit "+foreign)
		expectAccepted(create(foo(namespace, "other", `{deploymentName: unfit}`)), "Deployment unfit "+foreign)
	})

	It("while another Foo of the namespace names the Deployment, of another namespace none is told", func() {
		elsewhere := newNamespace()
		expectAccepted(create(foo(elsewhere, "secret", `{deploymentName: shared}`)))
		makeDeployment(elsewhere, "alone", nil)
		makePodTemplate(elsewhere, "alone")
		awaitWarning(elsewhere, `{deploymentName: shared}`, "Foo secret")
		awaitWarning(elsewhere, `{deploymentName: alone, podTemplateName: alone}`, foreign)
		expectAccepted(create(foo(namespace, "subject", `{deploymentName: shared}`)))
		expectAccepted(create(foo(namespace, "alone", `{deploymentName: alone}`)))
		expectAccepted(create(foo(namespace, "templated", `{deploymentName: templated, podTemplateName: alone}`)), "PodTemplate alone not found")

		awaitWarning(namespace, `{deploymentName: shared}`, "Foo subject names Deployment shared too")
	})

	It("while its PodTemplate is missing", func() {
		subject := foo(namespace, "subject", `{deploymentName: web, podTemplateName: later}`)
		expectAccepted(create(subject), "spec.podTemplateName: PodTemplate later not found")
		makePodTemplate(namespace, "later")
		awaitWarning(namespace, `{deploymentName: other, podTemplateName: later}`, "")
		expectAccepted(mergePatch(subject, `{"spec":{"replicas":2}}`))
	})

	It("of at most 256 characters each, however long the names are", func() {
		long := strings.Repeat("long-name.", 25) + "abc"
		makeDeployment(namespace, long, nil)
		awaitWarning(namespace, `{deploymentName: `+long+`}`, foreign)
		a := create(foo(namespace, long, `{deploymentName: `+long+`, podTemplateName: `+long+`}`))
		Expect(a.err).NotTo(HaveOccurred())
		expectWarnings(a.warnings, "spec.deploymentName: a Deployment whose name has more than 242 characters", foreign, "spec.podTemplateName: ")

		shared := `{deploymentName: ` + long[:252] + `e}`
		expectAccepted(create(foo(namespace, long[:252]+"d", shared)), "242 characters")
		awaitWarning(namespace, shared, "too; the older Foo makes it")
		b := create(foo(namespace, "rival", shared))
		for _, text := range append(a.warnings, b.warnings...) {
			Expect(len(text)).To(BeNumerically("<=", 256), text)
		}
		Expect(b.warnings).To(HaveLen(2))
	})
})
