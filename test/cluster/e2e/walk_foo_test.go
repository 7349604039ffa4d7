package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

func foo(ctx context.Context, namespace, name string) samplev1alpha1.Foo {
	GinkgoHelper()
	var found samplev1alpha1.Foo
	Expect(c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &found)).To(Succeed())
	return found
}

// running gives the Pods that a Foo's status selects, when there are so many, all of
// them ready, and the status says the same.
func running(ctx context.Context, namespace, name string, replicas int32) []corev1.Pod {
	GinkgoHelper()
	awaitReady(ctx, namespace, "foo/"+name)
	var pods corev1.PodList
	Eventually(func(g Gomega) {
		status := foo(ctx, namespace, name).Status
		g.Expect(meta.IsStatusConditionTrue(status.Conditions, samplev1alpha1.FooConditionReady)).To(BeTrue())
		g.Expect(status.Replicas).To(HaveValue(Equal(replicas)))
		g.Expect(status.AvailableReplicas).To(HaveValue(Equal(replicas)))
		selector, err := labels.Parse(*status.Selector)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector})).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(int(replicas)))
		for _, pod := range pods.Items {
			g.Expect(pod.Status.Phase).To(Equal(corev1.PodRunning))
			g.Expect(isReady(pod)).To(BeTrue())
		}
	}).WithContext(ctx).Should(Succeed())
	return pods.Items
}

// foosWalk makes a Foo, scales it, hurts it and deletes it.
func foosWalk() {
	It("a Foo is ready when its Pod runs", func(ctx context.Context) {
		mustKubectl(ctx, "-n", walkNamespace, "apply", "-f", "config/samples/example-foo.yaml")
		pods := running(ctx, walkNamespace, "example-foo", 1)
		Expect(pods[0].Spec.Containers).To(ConsistOf(HaveField("Image", workload)))
	}, NodeTimeout(5*time.Minute))

	It("the Foo may own a Deployment, which others may not let it [CF-13]", mayOwn, NodeTimeout(5*time.Minute))

	It("kubectl scale makes three Pods run, and 101 are refused", func(ctx context.Context) {
		mustKubectl(ctx, "-n", walkNamespace, "scale", "foo/example-foo", "--replicas=3")
		running(ctx, walkNamespace, "example-foo", 3)
		answer := kubectl(ctx, "", "-n", walkNamespace, "scale", "foo/example-foo", "--replicas=101")
		Expect(answer.code).To(Equal(1))
		Expect(answer.stderr).To(Equal(
			`The Scale "example-foo" is invalid: spec.replicas: Invalid value: 101: must be at most 100, the manager's limit (--foo-max-replicas)` + "\n"))
		Expect(foo(ctx, walkNamespace, "example-foo").Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
	}, NodeTimeout(5*time.Minute))

	It("a Pod that is deleted by hand is replaced", func(ctx context.Context) {
		victim := running(ctx, walkNamespace, "example-foo", 3)[0]
		mustKubectl(ctx, "-n", walkNamespace, "delete", "pod", victim.Name, "--timeout="+patience.String())
		for _, pod := range running(ctx, walkNamespace, "example-foo", 3) {
			Expect(pod.UID).NotTo(Equal(victim.UID))
		}
	}, NodeTimeout(5*time.Minute))

	It("a Foo with a PodTemplate has Pods of it, and a change of it rolls out", func(ctx context.Context) {
		answer := kubectl(ctx, withTemplate(), "-n", walkNamespace, "apply", "-f", "-")
		Expect(answer.code).To(BeZero(), answer.stderr)
		old := running(ctx, walkNamespace, "foo-with-template", 2)
		Expect(old).To(HaveEach(HaveField("Labels", HaveKeyWithValue("tier", "web"))))
		mustKubectl(ctx, "-n", walkNamespace, "patch", "podtemplate", "web", "--type=merge", "--patch", `{"template": {"metadata": {"labels": {"tier": "rear"}}}}`)
		// The Foo's own generation is the same, so that Ready alone tells nothing.
		Eventually(func(g Gomega) {
			var deployment appsv1.Deployment
			g.Expect(c.Get(ctx, client.ObjectKey{Namespace: walkNamespace, Name: "web"}, &deployment)).To(Succeed())
			g.Expect(deployment.Spec.Template.Labels).To(HaveKeyWithValue("tier", "rear"))
			g.Expect(deployment.Status.ObservedGeneration).To(Equal(deployment.Generation))
			g.Expect(deployment.Status.UpdatedReplicas).To(BeEquivalentTo(2))
		}).WithContext(ctx).Should(Succeed())
		Expect(running(ctx, walkNamespace, "foo-with-template", 2)).To(HaveEach(HaveField("Labels", HaveKeyWithValue("tier", "rear"))))
	}, NodeTimeout(10*time.Minute))

	It("a Foo's Deployment and Pods go with it", func(ctx context.Context) {
		selector := *foo(ctx, walkNamespace, "example-foo").Status.Selector
		mustKubectl(ctx, "-n", walkNamespace, "delete", "foo", "example-foo")
		Eventually(func() string {
			return mustKubectl(ctx, "-n", walkNamespace, "get", "deployments,replicasets,pods", "--selector="+selector, "-o", "name")
		}).WithContext(ctx).Should(BeEmpty())
		Expect(kubectl(ctx, "", "-n", walkNamespace, "get", "deployment", "example-foo").stderr).To(ContainSubstring("NotFound"))
	}, NodeTimeout(5*time.Minute))
}

// withTemplate is the sample with the image that the nodes have, which serves nothing
// that could be probed.
func withTemplate() string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(root, "config", "samples", "foo-with-template.yaml"))
	Expect(err).NotTo(HaveOccurred())
	adapted := string(text)
	for old, instead := range map[string]string{
		"image: nginx:1.29\n": "image: " + workload + "\n",
		"        readinessProbe:\n          httpGet: {path: /, port: http}\n": "",
	} {
		Expect(strings.Count(adapted, old)).To(Equal(1), old)
		adapted = strings.Replace(adapted, old, instead, 1)
	}
	return adapted
}
