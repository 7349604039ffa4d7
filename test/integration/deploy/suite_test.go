// Package deploy applies config/default, and what is beside it, to a real API server.
// No controller of a cluster runs there: no Pod starts, no namespace ends by itself, and
// cainjector is played.
package deploy

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/render"
)

const (
	controller = "samplecrd-controller"
	namespace  = "samplecrd-system"
)

var ctx = context.Background()

func TestDeploy(t *testing.T) {
	RegisterFailHandler(Fail)
	ctrl.SetLogger(GinkgoLogr)
	SetDefaultEventuallyTimeout(90 * time.Second)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "Deploy")
}

// cluster is a control plane with cert-manager's kinds and none of ours.
type cluster struct{ *env.Env }

func start() *cluster {
	GinkgoHelper()
	e, err := env.Start(env.Options{WithoutCRDs: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(e.Stop()).To(Succeed()) })
	c := &cluster{e}
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager")
	list.Dir = env.Path()
	module, err := list.Output()
	Expect(err).NotTo(HaveOccurred())
	c.run("apply", "--server-side", "-f", filepath.Join(strings.TrimSpace(string(module)), "deploy", "crds"))
	c.await("--for=condition=Established", "crd/certificates.cert-manager.io", "crd/issuers.cert-manager.io")
	return c
}

// run runs kubectl, which must succeed, and gives what it says.
func (c *cluster) run(args ...string) string {
	GinkgoHelper()
	return c.pipe("", args...)
}

// await runs kubectl wait until it succeeds: it does not wait for an object that has no
// conditions yet, it fails.
func (c *cluster) await(args ...string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		result, err := c.Kubectl("", append([]string{"wait", "--timeout=60s"}, args...)...)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.ExitCode).To(BeZero(), "%v: %s", args, result.Stderr)
	}).Should(Succeed())
}

// pipe is run with standard input.
func (c *cluster) pipe(stdin string, args ...string) string {
	GinkgoHelper()
	result, err := c.Kubectl(stdin, args...)
	Expect(err).NotTo(HaveOccurred())
	Expect(result.ExitCode).To(BeZero(), "%v: %s%s", args, result.Stdout, result.Stderr)
	return result.Stdout
}

// stored reads every object of config/default as the API server has it.
func (c *cluster) stored() []*unstructured.Unstructured {
	GinkgoHelper()
	var all []*unstructured.Unstructured
	for _, object := range c.objects() {
		as := &unstructured.Unstructured{}
		as.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
		Expect(c.Client.Get(ctx, client.ObjectKeyFromObject(object), as)).To(Succeed())
		all = append(all, as)
	}
	return all
}

// versions are the objects' UIDs, generations and resource versions, by kind and name.
func (c *cluster) versions() map[string]string {
	GinkgoHelper()
	all := map[string]string{}
	for _, object := range c.stored() {
		all[object.GetKind()+" "+object.GetName()] = fmt.Sprint(object.GetUID(), object.GetGeneration(), object.GetResourceVersion())
	}
	return all
}

// contents are the objects themselves, without metadata, by kind and name.
func (c *cluster) contents() map[string]any {
	GinkgoHelper()
	all := map[string]any{}
	for _, object := range c.stored() {
		key := object.GetKind() + " " + object.GetName()
		delete(object.Object, "metadata")
		all[key] = object.Object
	}
	return all
}

var bundle = sync.OnceValues(func() (render.Bundle, error) { return render.Build(env.Path("config", "default")) })

// objects are those of config/default. Change none.
func (c *cluster) objects() render.Bundle {
	GinkgoHelper()
	all, err := bundle()
	Expect(err).NotTo(HaveOccurred())
	return all
}

// settle returns when the API server has written all that it has to say of our CRDs.
func (c *cluster) settle() {
	GinkgoHelper()
	for _, object := range render.All[*apiextensionsv1.CustomResourceDefinition](c.objects()) {
		c.await("--for=condition=Established", "crd/"+object.Name)
		c.await("--for=jsonpath={.status.conditions[?(@.type==\"KubernetesAPIApprovalPolicyConformant\")].status}", "crd/"+object.Name)
	}
}

// inject writes a root into both webhook configurations, as cainjector does.
func (c *cluster) inject(root string) {
	GinkgoHelper()
	mutating, validating := c.configurations()
	for i := range mutating.Webhooks {
		mutating.Webhooks[i].ClientConfig.CABundle = []byte(root)
	}
	for i := range validating.Webhooks {
		validating.Webhooks[i].ClientConfig.CABundle = []byte(root)
	}
	Expect(c.Client.Update(ctx, mutating, client.FieldOwner("cainjector"))).To(Succeed())
	Expect(c.Client.Update(ctx, validating, client.FieldOwner("cainjector"))).To(Succeed())
}

// trusted are the roots in both webhook configurations.
func (c *cluster) trusted() []string {
	GinkgoHelper()
	var all []string
	mutating, validating := c.configurations()
	for _, webhook := range mutating.Webhooks {
		all = append(all, string(webhook.ClientConfig.CABundle))
	}
	for _, webhook := range validating.Webhooks {
		all = append(all, string(webhook.ClientConfig.CABundle))
	}
	return all
}

func (c *cluster) configurations() (*admissionv1.MutatingWebhookConfiguration, *admissionv1.ValidatingWebhookConfiguration) {
	GinkgoHelper()
	mutating, validating := &admissionv1.MutatingWebhookConfiguration{}, &admissionv1.ValidatingWebhookConfiguration{}
	Expect(c.Client.Get(ctx, client.ObjectKey{Name: controller}, mutating)).To(Succeed())
	Expect(c.Client.Get(ctx, client.ObjectKey{Name: controller}, validating)).To(Succeed())
	return mutating, validating
}
