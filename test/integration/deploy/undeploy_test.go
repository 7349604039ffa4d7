package deploy

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/test/env"
)

// objects of ours, as the manager leaves them.
const (
	network = `{apiVersion: samplecrd.k8s.io/v1, kind: Network, metadata: {name: net, namespace: default, finalizers: [network.samplecrd.k8s.io/provider]}, spec: {cidr: 10.0.0.0/24, networkClassName: c}}`
	class   = `{apiVersion: samplecrd.k8s.io/v1, kind: NetworkClass, metadata: {name: c, finalizers: [networkclass.samplecrd.k8s.io/in-use]}, spec: {provider: Multus, multus: {type: Bridge}}}`
	foo     = `{apiVersion: samplecontroller.k8s.io/v1alpha1, kind: Foo, metadata: {name: f, namespace: default}, spec: {deploymentName: d}}`
)

// install applies the bundle and takes the webhooks away, which nobody serves here.
func (c *cluster) install() {
	GinkgoHelper()
	c.run("apply", "-k", env.Path("config", "default"))
	c.settle()
	c.run("delete", "mutatingwebhookconfiguration,validatingwebhookconfiguration", controller)
}

// shell starts a shell command in the repository, with the kubectl that matches.
func (c *cluster) shell(script string, variables ...string) *gexec.Session {
	GinkgoHelper()
	command := exec.Command("sh", "-c", script)
	command.Dir = env.Path()
	command.Env = slices.Concat(variables, []string{"KUBECONFIG=" + c.Kubeconfig, "HOME=" + GinkgoT().TempDir(), "PATH=" + c.Assets + ":" + os.Getenv("PATH")})
	session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { session.Kill().Wait() })
	return session
}

// endNamespace does what a cluster's own controller does to the manager's namespace
// once it is deleted.
func (c *cluster) endNamespace(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		object := &corev1.Namespace{}
		err := c.Client.Get(ctx, client.ObjectKey{Name: namespace}, object)
		if apierrors.IsNotFound(err) {
			return
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(object.DeletionTimestamp).NotTo(BeNil())
		object.Spec.Finalizers = nil
		g.Expect(c.Client.SubResource("finalize").Update(ctx, object)).To(Succeed())
	}).Should(Succeed())
}

func (c *cluster) left() []string {
	GinkgoHelper()
	return strings.Fields(c.run("get", "customresourcedefinitions,clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations",
		"-l", "app.kubernetes.io/part-of=samplecrd", "-o", "name"))
}

var _ = Describe("hack/undeploy.sh", Ordered, func() {
	var (
		c         *cluster
		installed []string
	)
	undeploy := func() *gexec.Session {
		GinkgoHelper()
		return c.shell("hack/undeploy.sh")
	}
	refused := func(because string) {
		GinkgoHelper()
		session := undeploy()
		Eventually(session).Should(gexec.Exit(1))
		Expect(session.Err).To(gbytes.Say(regexp.QuoteMeta(because)))
		Expect(c.left()).To(ConsistOf(installed))
		Expect(c.run("get", "namespace", namespace, "-o", "jsonpath={.status.phase}")).To(Equal("Active"))
	}
	BeforeAll(func() {
		c = start()
		c.install()
		installed = c.left()
	})

	It("refuses while there is a Foo, and removes nothing", func() {
		c.pipe(foo, "apply", "-f", "-")
		refused("undeploy: 1 Foos exist: default/f. Delete them first: kubectl delete foos.samplecontroller.k8s.io --all --all-namespaces")
		c.run("delete", "foos.samplecontroller.k8s.io", "--all", "--all-namespaces")
	})

	It("refuses while there is a Network, and removes nothing", func() {
		c.pipe(network, "apply", "-f", "-")
		refused("undeploy: 1 Networks exist: default/net. Delete them first, while the manager runs: ")
		c.release("networks.samplecrd.k8s.io", "net")
	})

	It("refuses while a class is held, and removes nothing", func() {
		c.pipe(class, "apply", "-f", "-")
		refused("undeploy: 1 NetworkClasses are held by the manager: c. Delete them first, while it runs: ")
		c.release("networkclasses.samplecrd.k8s.io", "c")
	})

	It("names ten of many", func() {
		var many strings.Builder
		for i := range 12 {
			many.WriteString("\n---\n" + strings.Replace(foo, "name: f", fmt.Sprintf("name: f%02d", i), 1))
		}
		c.pipe(many.String(), "apply", "-f", "-")
		refused("undeploy: 12 Foos exist: default/f00, default/f01, ")
		refused("default/f09, …. Delete them first")
		c.run("delete", "foos.samplecontroller.k8s.io", "--all", "--all-namespaces")
	})

	It("removes all when nothing is in the way, and finds nothing the next time", func() {
		session := undeploy()
		c.endNamespace(ctx)
		Eventually(session).Should(gexec.Exit(0))
		Expect(c.left()).To(BeEmpty())
		Eventually(undeploy()).Should(gexec.Exit(0))
	})

	It("says so when the API server cannot be asked, and fails", func() {
		session := c.shell("hack/undeploy.sh", "KUBECTL=kubectl --kubeconfig=/does/not/exist")
		Eventually(session).Should(gexec.Exit(1))
		Expect(session.Err).To(gbytes.Say("undeploy: the API server cannot be asked"))
	})
})

// release deletes an object and plays the manager that lets it go.
func (c *cluster) release(resource, name string) {
	GinkgoHelper()
	c.run("delete", resource, name, "--wait=false")
	c.run("patch", resource, name, "--type=merge", "--patch", `{"metadata":{"finalizers":null}}`)
}
