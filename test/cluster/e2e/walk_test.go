package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	. "github.com/onsi/gomega/gstruct"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// walkNamespace is where the seeds' manifests are applied.
const walkNamespace = "walk"

// prepared deploys the bundle, the kind that Multus brings and a default class.
func prepared(ctx context.Context) {
	GinkgoHelper()
	mustKubectl(ctx, "apply", "-f", "test/env/nad-crd.yaml")
	deploy(ctx)
	mustKubectl(ctx, "apply", "-f", "config/samples/networkclass.yaml")
}

// awaitReady waits as the documentation says, for the generation that is stored now.
func awaitReady(ctx context.Context, namespace, object string) {
	GinkgoHelper()
	mustKubectl(ctx, "-n", namespace, "wait", "--for=condition=Ready", "--timeout="+patience.String(), object)
}

// attachment gives a NetworkAttachmentDefinition and the CNI configuration in it.
func attachment(ctx context.Context, namespace, name string) (*unstructured.Unstructured, string) {
	GinkgoHelper()
	nad := &unstructured.Unstructured{}
	nad.SetGroupVersionKind(schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"})
	Expect(c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, nad)).To(Succeed())
	text, _, err := unstructured.NestedString(nad.Object, "spec", "config")
	Expect(err).NotTo(HaveOccurred())
	return nad, text
}

// bridged is the CNI configuration of a Network with one subnet and a gateway.
func bridged(uid types.UID, subnet, gateway string) string {
	return fmt.Sprintf(`{"cniVersion": "1.0.0", "name": %q, "type": "bridge", "bridge": "br-%.12s", "isGateway": true, "forceAddress": true,
		"ipam": {"type": "host-local", "ranges": [[{"subnet": %q, "gateway": %q}]]}}`, uid, strings.ReplaceAll(string(uid), "-", ""), subnet, gateway)
}

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

// walk is the way through the seeds' manifests, with Pods that run.
func walk() {
	var configs []string // what the Network's attachment definition has said, in turn
	BeforeAll(func(ctx context.Context) {
		prepared(ctx)
		namespace(ctx, walkNamespace)
	}, NodeTimeout(10*time.Minute))

	It("a Network becomes an attachment definition that is its own, and says so", func(ctx context.Context) {
		mustKubectl(ctx, "-n", walkNamespace, "apply", "-f", "config/samples/example-network.yaml")
		awaitReady(ctx, walkNamespace, "network.samplecrd.k8s.io/example-network")
		Expect(mustKubectl(ctx, "-n", walkNamespace, "get", "networks.samplecrd.k8s.io")).To(
			MatchRegexp(`NAME +CIDR +GATEWAY +CLASS +READY +AGE\nexample-network +192\.168\.0\.0/16 +192\.168\.0\.1 +standard +True +`))
		network := networkAs(ctx, "192.168.0.0/16", "192.168.0.1")
		nad, text := attachment(ctx, walkNamespace, "example-network")
		Expect(text).To(MatchJSON(bridged(network.UID, "192.168.0.0/16", "192.168.0.1")))
		Expect(nad.GetOwnerReferences()).To(ConsistOf(metav1.OwnerReference{
			APIVersion: "samplecrd.k8s.io/v1", Kind: "Network", Name: network.Name, UID: network.UID,
			Controller: new(true), BlockOwnerDeletion: new(true),
		}))
		configs = append(configs, text)
	}, NodeTimeout(5*time.Minute))

	It("its update, with host bits, draws a warning and changes the same attachment definition", func(ctx context.Context) {
		before, _ := attachment(ctx, walkNamespace, "example-network")
		answer := kubectl(ctx, "", "-n", walkNamespace, "apply", "-f", "config/samples/example-network-updated.yaml")
		Expect(answer.code).To(BeZero(), answer.stderr)
		Expect(answer.stderr).To(And(ContainSubstring("Warning: "), ContainSubstring("192.168.0.0/16")))
		awaitReady(ctx, walkNamespace, "network.samplecrd.k8s.io/example-network")
		network := networkAs(ctx, "192.168.0.0/16", "192.168.1.1")
		Expect(network.Spec.CIDR).To(Equal("192.168.1.0/16"))
		after, text := attachment(ctx, walkNamespace, "example-network")
		Expect(text).To(MatchJSON(bridged(network.UID, "192.168.0.0/16", "192.168.1.1")))
		Expect(after.GetUID()).To(Equal(before.GetUID()))
		configs = append(configs, text)
	}, NodeTimeout(5*time.Minute))

	It("what the attachment definition says is a network to the CNI plugins, before and after the update", func(ctx context.Context) {
		Expect(configs).To(HaveLen(2))
		attach(ctx, configs)
	}, NodeTimeout(5*time.Minute))

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

	It("a Network's attachment definition goes with it", func(ctx context.Context) {
		nad, _ := attachment(ctx, walkNamespace, "example-network")
		mustKubectl(ctx, "-n", walkNamespace, "delete", "networks.samplecrd.k8s.io", "example-network", "--timeout="+patience.String())
		Eventually(func() bool {
			return apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(nad), nad.NewEmptyInstance().(client.Object)))
		}).WithContext(ctx).Should(BeTrue())
	}, NodeTimeout(5*time.Minute))
}

// networkAs gives the seeds' Network once its status has exactly this.
func networkAs(ctx context.Context, cidr, gateway string) samplecrdv1.Network {
	GinkgoHelper()
	var network samplecrdv1.Network
	Expect(c.Get(ctx, client.ObjectKey{Namespace: walkNamespace, Name: "example-network"}, &network)).To(Succeed())
	Expect(network.Status.Subnets).To(ConsistOf(MatchFields(IgnoreExtras, Fields{
		"CIDR": Equal(cidr), "Gateway": HaveValue(Equal(gateway)), "State": Equal(samplecrdv1.SubnetActive),
	})))
	for _, kind := range []string{samplecrdv1.NetworkConditionReady, samplecrdv1.NetworkConditionAccepted, samplecrdv1.NetworkConditionProgrammed} {
		Expect(network.Status.Conditions).To(ContainElement(MatchFields(IgnoreExtras, Fields{
			"Type": Equal(kind), "Status": Equal(metav1.ConditionTrue), "ObservedGeneration": Equal(network.Generation),
		})))
	}
	return network
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
