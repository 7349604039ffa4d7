package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The headings of docs/install.md under which the commands stand.
const (
	inOrder   = "## Uninstall"
	emergency = "### When the order was wrong"
)

// commands are those that docs/install.md gives under a heading, up to the next one.
func commands(heading string) []string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "install.md"))
	Expect(err).NotTo(HaveOccurred())
	_, section, found := strings.Cut(string(text), "\n"+heading+"\n")
	Expect(found).To(BeTrue(), "there is no heading %q", heading)
	section, _, _ = strings.Cut(section, "\n#")
	var all []string
	for i, block := range strings.Split(section, "```") {
		if lines, isShell := strings.CutPrefix(block, "sh\n"); isShell && i%2 == 1 {
			all = append(all, strings.Split(strings.TrimSpace(lines), "\n")...)
		}
	}
	Expect(all).NotTo(BeEmpty())
	return all
}

// typed runs a command as a person would in the repository, with the suite's kubectl.
func typed(ctx context.Context, command string) said {
	GinkgoHelper()
	path, err := exec.LookPath(kubectlPath)
	Expect(err).NotTo(HaveOccurred())
	path, err = filepath.Abs(path)
	Expect(err).NotTo(HaveOccurred())
	bin := GinkgoT().TempDir()
	Expect(os.Symlink(path, filepath.Join(bin, "kubectl"))).To(Succeed())
	shell := exec.CommandContext(ctx, "sh", "-c", command)
	shell.Env = append(os.Environ(), "KUBECTL=kubectl", "PATH="+bin+":"+os.Getenv("PATH"))
	return run(shell, "")
}

// followed types all commands under a heading, each of which succeeds.
func followed(ctx context.Context, heading string) {
	GinkgoHelper()
	for _, command := range commands(heading) {
		answer := typed(ctx, command)
		Expect(answer.code).To(BeZero(), "$ %s\n%s%s", command, answer.stdout, answer.stderr)
	}
}

// left is what there still is of the bundle.
func left(ctx context.Context) []string {
	GinkgoHelper()
	all := mustKubectl(ctx, "get", "customresourcedefinitions,clusterroles,clusterrolebindings,mutatingwebhookconfigurations,validatingwebhookconfigurations",
		"--selector=app.kubernetes.io/part-of=samplecrd", "-o", "name")
	all += mustKubectl(ctx, "get", "namespace", system, "--ignore-not-found", "-o", "name")
	return strings.Fields(all)
}

// filled makes a namespace with a Network and a Foo that are ready.
func filled(ctx context.Context, name string) {
	GinkgoHelper()
	namespace(ctx, name)
	Expect(c.Create(ctx, newNetwork(name, "net", "10.0.0.0/24"))).To(Succeed())
	Expect(c.Create(ctx, newFoo(name, "foo", 1))).To(Succeed())
	allReady(ctx, name, 1, 1)
}

// made is what was made for the Network and the Foo in a namespace.
func made(ctx context.Context, name string) string {
	GinkgoHelper()
	return mustKubectl(ctx, "-n", name, "get", "network-attachment-definitions,deployments,replicasets,pods", "-o", "name")
}

// uninstall takes the bundle away, in the right order and in wrong ones.
func uninstall() {
	BeforeAll(func(ctx context.Context) { prepared(ctx) }, NodeTimeout(10*time.Minute))
	// Before the namespaces of a spec go: what is left in them is let go.
	AfterEach(func(ctx context.Context) { prepared(ctx) }, NodeTimeout(10*time.Minute))

	It("in the documented order, and make undeploy refuses before", func(ctx context.Context) {
		const where = "uninstall"
		filled(ctx, where)
		refused := func(foos int, because string) {
			GinkgoHelper()
			before := left(ctx)
			answer := typed(ctx, "make undeploy")
			Expect(answer.code).NotTo(BeZero())
			Expect(answer.stderr).To(MatchRegexp(because))
			Expect(left(ctx)).To(Equal(before))
			Expect(managerPods(ctx)).To(HaveLen(2))
			allReady(ctx, where, 1, foos)
		}
		refused(1, `undeploy: \d+ Foos exist: .*uninstall/foo.*Delete them first: kubectl delete foos\.samplecontroller\.k8s\.io --all --all-namespaces\n`)
		mustKubectl(ctx, "delete", "foos.samplecontroller.k8s.io", "--all", "--all-namespaces")
		refused(0, `undeploy: \d+ Networks exist: .*uninstall/net.*Delete them first, while the manager runs: kubectl delete networks\.samplecrd\.k8s\.io --all --all-namespaces\n`)
		Expect(c.Create(ctx, newFoo(where, "foo", 1))).To(Succeed())
		allReady(ctx, where, 1, 1)

		followed(ctx, inOrder)
		Expect(left(ctx)).To(BeEmpty())
		Eventually(func() string { return made(ctx, where) }).WithContext(ctx).Should(BeEmpty())
	}, NodeTimeout(15*time.Minute))

	It("with the manager first, and then by exactly the emergency steps [WO-15]", func(ctx context.Context) {
		const where = "wrong-order"
		filled(ctx, where)
		stop(ctx)
		mustKubectl(ctx, "delete", "-k", "config/default", "--wait=false")
		Eventually(func() string { return mustKubectl(ctx, "get", "namespace", system, "--ignore-not-found", "-o", "name") }).WithContext(ctx).Should(BeEmpty())
		// The Network is what they wait for.
		Expect(mustKubectl(ctx, "-n", where, "get", "networks.samplecrd.k8s.io", "net", "-o", "jsonpath={.metadata.finalizers}")).NotTo(BeEmpty())
		Expect(left(ctx)).To(ContainElements(HaveSuffix("/networks.samplecrd.k8s.io"), HaveSuffix("/networkclasses.samplecrd.k8s.io")))

		followed(ctx, emergency)
		Eventually(func() []string { return left(ctx) }).WithContext(ctx).Should(BeEmpty())
		Eventually(func() string { return made(ctx, where) }).WithContext(ctx).Should(BeEmpty())
	}, NodeTimeout(15*time.Minute))

	It("without the manager's namespace, others with Foos end, and with Networks after the emergency steps [WO-14, WO-15]", func(ctx context.Context) {
		const foos, networks, kept = "only-foos", "networks-too", "kept"
		namespace(ctx, foos)
		Expect(c.Create(ctx, newFoo(foos, "foo", 1))).To(Succeed())
		allReady(ctx, foos, 0, 1)
		filled(ctx, networks)
		filled(ctx, kept)
		mustKubectl(ctx, "delete", "namespace", system, "--timeout="+patience.String())

		Expect(bundles(ctx)).NotTo(BeEmpty(), "the webhooks are still asked")
		mustKubectl(ctx, "delete", "namespace", foos, "--timeout="+patience.String())
		mustKubectl(ctx, "delete", "namespace", networks, "--wait=false")
		// It waits for the Network, and says so.
		Eventually(func(g Gomega) {
			var waiting corev1.Namespace
			g.Expect(c.Get(ctx, client.ObjectKey{Name: networks}, &waiting)).To(Succeed())
			g.Expect(waiting.Status.Conditions).To(ContainElement(And(
				HaveField("Type", corev1.NamespaceFinalizersRemaining), HaveField("Status", corev1.ConditionTrue), HaveField("Message", ContainSubstring("network.samplecrd.k8s.io/provider")))))
		}).WithContext(ctx).Should(Succeed())

		followed(ctx, emergency)
		mustKubectl(ctx, "wait", "--for=delete", "--timeout="+patience.String(), "namespace/"+networks)
		// What nobody had deleted is still there; on with the first step.
		Expect(mustKubectl(ctx, "-n", kept, "get", "networks.samplecrd.k8s.io,foos", "-o", "name")).NotTo(BeEmpty())
		followed(ctx, inOrder)
		Expect(left(ctx)).To(BeEmpty())
		Eventually(func() string { return made(ctx, kept) }).WithContext(ctx).Should(BeEmpty())
	}, NodeTimeout(15*time.Minute))
}
