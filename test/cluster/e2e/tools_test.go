package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// said is what a person sees of a command.
type said struct {
	stdout, stderr string
	code           int
}

// kubectl runs kubectl in the repository's root with an administrator's rights.
func kubectl(ctx context.Context, stdin string, args ...string) said {
	GinkgoHelper()
	return run(exec.CommandContext(ctx, kubectlPath, args...), stdin)
}

// run runs a command in the repository's root.
func run(command *exec.Cmd, stdin string) said {
	GinkgoHelper()
	command.Dir = root
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := command.Run()
	if command.ProcessState == nil {
		Expect(err).NotTo(HaveOccurred(), "%s", command.Args)
	}
	return said{stdout.String(), stderr.String(), command.ProcessState.ExitCode()}
}

// mustKubectl is kubectl that succeeds; it gives standard output.
func mustKubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	answer := kubectl(ctx, "", args...)
	Expect(answer.code).To(BeZero(), "kubectl %s: %s", strings.Join(args, " "), answer.stderr)
	return answer.stdout
}

// overlay is the bundle under test: config/default with its image.
func overlay() string {
	GinkgoHelper()
	return overlayOf(root, image)
}

// overlayOf writes a kustomization over a checkout's config/default that runs an image,
// and Foos that need no registry; it gives its folder.
func overlayOf(checkout, image string) string {
	GinkgoHelper()
	name, tag, _ := strings.Cut(image, ":")
	dir := filepath.Join(checkout, ".run", "e2e")
	Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	text := `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../../config/default]
images: [{name: samplecrd-controller, newName: ` + name + `, newTag: "` + tag + `"}]
patches:
  - target: {kind: Deployment, name: samplecrd-controller}
    patch: |
      - {op: add, path: /spec/template/spec/containers/0/args/-, value: --foo-default-image=` + workload + `}
`
	Expect(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o644)).To(Succeed())
	return dir
}

// deploy brings the bundle to what is under test and returns when it serves.
func deploy(ctx context.Context) {
	GinkgoHelper()
	mustKubectl(ctx, "apply", "-k", overlay())
	awaitServing(ctx)
}

// awaitServing returns when both replicas are ready and the API server trusts them.
func awaitServing(ctx context.Context) {
	GinkgoHelper()
	mustKubectl(ctx, "-n", system, "rollout", "status", "deployment/"+controller, "--timeout="+patience.String())
	probe := newNetwork("default", "probe", "192.0.2.0/24")
	Eventually(func() error { return c.Create(ctx, probe.DeepCopy(), client.DryRunAll) }).WithContext(ctx).Should(Succeed())
}

// managerPods are the manager's Pods that are not on their way out.
func managerPods(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	var pods, alive corev1.PodList
	Expect(c.List(ctx, &pods, client.InNamespace(system), client.MatchingLabels{"app.kubernetes.io/name": controller})).To(Succeed())
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			alive.Items = append(alive.Items, pod)
		}
	}
	return alive.Items
}

// settled waits until exactly two Pods of the manager exist and both are ready.
func settled(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var pods corev1.PodList
		g.Expect(c.List(ctx, &pods, client.InNamespace(system), client.MatchingLabels{"app.kubernetes.io/name": controller})).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(2))
		for _, pod := range pods.Items {
			g.Expect(pod.DeletionTimestamp).To(BeNil())
			g.Expect(isReady(pod)).To(BeTrue())
		}
	}).WithContext(ctx).Should(Succeed())
}

func isReady(pod corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// leader gives the Pod that leads, when one of those does that are not on their way out.
func leader(ctx context.Context) string {
	GinkgoHelper()
	var leads string
	Eventually(func(g Gomega) {
		leads, _ = holder(ctx)
		g.Expect(managerPods(ctx)).To(ContainElement(HaveField("Name", leads)))
	}).WithContext(ctx).Should(Succeed())
	return leads
}

// holder gives the Pod that holds the Lease, "" for none, and the Lease.
func holder(ctx context.Context) (string, coordinationv1.Lease) {
	GinkgoHelper()
	var held coordinationv1.Lease
	Expect(c.Get(ctx, client.ObjectKey{Namespace: system, Name: lease}, &held)).To(Succeed())
	if held.Spec.HolderIdentity == nil {
		return "", held
	}
	pod, _, _ := strings.Cut(*held.Spec.HolderIdentity, "_")
	return pod, held
}

// awaitFoo waits until a Foo is ready as it was last written.
func awaitFoo(ctx context.Context, foo *samplev1alpha1.Foo) {
	GinkgoHelper()
	generation := foo.Generation
	Eventually(func(g Gomega) {
		g.Expect(c.Get(ctx, client.ObjectKeyFromObject(foo), foo)).To(Succeed())
		ready := meta.FindStatusCondition(foo.Status.Conditions, samplev1alpha1.FooConditionReady)
		g.Expect(ready).NotTo(BeNil())
		g.Expect(ready.ObservedGeneration).To(BeNumerically(">=", generation))
		g.Expect(ready.Status).To(Equal(metav1.ConditionTrue), ready.Message)
	}).WithContext(ctx).Should(Succeed())
}

// namespace makes a namespace and removes it, with all that is in it, after the spec.
func namespace(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		mustKubectl(ctx, "delete", "namespace", name, "--timeout="+patience.String(), "--ignore-not-found")
	})
}
