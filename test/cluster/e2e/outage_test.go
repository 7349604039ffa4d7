package e2e

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

const outageNamespace = "outage"

// others are objects of everybody's; they fit a namespace that enforces restricted Pod
// Security.
const others = `
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: v1
kind: Pod
metadata: {name: other}
spec:
  containers:
    - name: other
      image: IMAGE
      securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
  securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: other}
spec:
  selector: {matchLabels: {app: other}}
  template:
    metadata: {labels: {app: other}}
    spec:
      containers:
        - name: other
          image: IMAGE
          securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
      securityContext: {runAsNonRoot: true, runAsUser: 65532, seccompProfile: {type: RuntimeDefault}}
`

// outage specs run while no replica is there.
func outage() {
	BeforeAll(func(ctx context.Context) {
		prepared(ctx)
		namespace(ctx, outageNamespace)
		// Back before the namespace goes, since its Networks have to be let go.
		DeferCleanup(func(ctx context.Context) { deploy(ctx) }, NodeTimeout(10*time.Minute))
		Expect(c.Create(ctx, newNetwork(outageNamespace, "held", "10.0.0.0/24"))).To(Succeed())
		Expect(c.Create(ctx, newNetwork(outageNamespace, "abandoned", "10.0.1.0/24"))).To(Succeed())
		Expect(c.Create(ctx, newFoo(outageNamespace, "foo", 1))).To(Succeed())
		allReady(ctx, outageNamespace, 2, 1)
		stop(ctx)
	}, NodeTimeout(10*time.Minute))

	It("everybody else's objects are made and deleted, in the manager's own namespace, too [WO-10]", func(ctx context.Context) {
		for _, where := range []string{outageNamespace, system} {
			answer := kubectl(ctx, strings.ReplaceAll(others, "IMAGE", workload), "-n", where, "apply", "-f", "-")
			Expect(answer.code).To(BeZero(), answer.stderr)
			Expect(answer.stderr).To(BeEmpty())
			mustKubectl(ctx, "-n", where, "wait", "--for=condition=Available", "--timeout="+patience.String(), "deployment/other")
			mustKubectl(ctx, "-n", where, "wait", "--for=condition=Ready", "--timeout="+patience.String(), "pod/other")
			mustKubectl(ctx, "-n", where, "delete", "configmap/other", "pod/other", "deployment/other", "--timeout="+patience.String())
		}
	}, NodeTimeout(10*time.Minute))

	It("only writes that a webhook would judge fail, and nothing of them is stored [WO-10, WO-28]", func(ctx context.Context) {
		class := &samplecrdv1.NetworkClass{Spec: samplecrdv1.NetworkClassSpec{Provider: samplecrdv1.ProviderMultus, Multus: &samplecrdv1.MultusSpec{Type: samplecrdv1.MultusBridge}}}
		class.Name = "unjudged"
		for what, object := range map[string]client.Object{
			"a bad Network": newNetwork(outageNamespace, "bad", "300.1.1.1/8"),
			"a good one":    newNetwork(outageNamespace, "good", "10.0.2.0/24"),
			"a Foo":         newFoo(outageNamespace, "new", 1),
			"a class":       class,
		} {
			unanswered(what, c.Create(ctx, object))
			Expect(apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(object), object))).To(BeTrue(), "%s was stored", what)
		}
		var network samplecrdv1.Network
		Expect(c.Get(ctx, client.ObjectKey{Namespace: outageNamespace, Name: "held"}, &network)).To(Succeed())
		base := network.DeepCopy()
		network.Spec.CIDR = "10.0.3.0/24"
		unanswered("a change of a Network", c.Patch(ctx, &network, client.MergeFrom(base)))
		answer := kubectl(ctx, "", "-n", outageNamespace, "scale", "foo/foo", "--replicas=2")
		Expect(answer.code).To(Equal(1))
		Expect(answer.stderr).To(And(ContainSubstring("Internal error occurred"), ContainSubstring(unreachable)))
		Expect(c.Get(ctx, client.ObjectKey{Namespace: outageNamespace, Name: "held"}, &network)).To(Succeed())
		Expect(network.Spec).To(Equal(base.Spec))
		Expect(foo(ctx, outageNamespace, "foo").Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
	}, NodeTimeout(5*time.Minute))

	It("labels can be written and finalizers removed, and what is deleted goes", func(ctx context.Context) {
		mustKubectl(ctx, "-n", outageNamespace, "label", "networks.samplecrd.k8s.io/held", "foo/foo", "while=away")
		mustKubectl(ctx, "label", "networkclass/standard", "while=away")
		mustKubectl(ctx, "label", "networkclass/standard", "while-")
		mustKubectl(ctx, "-n", outageNamespace, "patch", "networks.samplecrd.k8s.io", "abandoned", "--type=merge", "--patch", `{"metadata": {"finalizers": null}}`)
		mustKubectl(ctx, "-n", outageNamespace, "delete", "networks.samplecrd.k8s.io/abandoned", "foo/foo", "--timeout="+patience.String())
		Eventually(func() string {
			return mustKubectl(ctx, "-n", outageNamespace, "get", "pods,deployments,network-attachment-definitions", "-o", "name")
		}).WithContext(ctx).Should(Equal("networkattachmentdefinition.k8s.cni.cncf.io/held\n"))
	}, NodeTimeout(5*time.Minute))

	It("the manager can be brought back, and goes on [WO-10]", func(ctx context.Context) {
		mustKubectl(ctx, "-n", system, "scale", "deployment/"+controller, "--replicas=1")
		awaitServing(ctx)
		Expect(c.Create(ctx, newNetwork(outageNamespace, "after", "10.0.4.0/24"))).To(Succeed())
		allReady(ctx, outageNamespace, 2, 0)
		mustKubectl(ctx, "-n", outageNamespace, "delete", "networks.samplecrd.k8s.io", "--all", "--timeout="+patience.String())
	}, NodeTimeout(10*time.Minute))
}

// stop scales the manager to nothing and returns when the API server has nobody to ask.
func stop(ctx context.Context) {
	GinkgoHelper()
	mustKubectl(ctx, "-n", system, "scale", "deployment/"+controller, "--replicas=0")
	Eventually(func(g Gomega) {
		var pods corev1.PodList
		g.Expect(c.List(ctx, &pods, client.InNamespace(system), client.MatchingLabels{"app.kubernetes.io/name": controller})).To(Succeed())
		g.Expect(pods.Items).To(BeEmpty())
		var slices discoveryv1.EndpointSliceList
		g.Expect(c.List(ctx, &slices, client.InNamespace(system), client.MatchingLabels{discoveryv1.LabelServiceName: webhook})).To(Succeed())
		for _, slice := range slices.Items {
			g.Expect(slice.Endpoints).To(BeEmpty())
		}
	}).WithContext(ctx).Should(Succeed())
}

// unanswered says that a write failed for want of a webhook.
func unanswered(what string, err error) {
	GinkgoHelper()
	Expect(apierrors.IsInternalError(err)).To(BeTrue(), "%s: %v", what, err)
	Expect(err).To(MatchError(ContainSubstring(unreachable)), what)
}
