package deploy

import (
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gexec"

	"github.com/samplecrd/samplecrd/test/env"
)

// commands are those that docs/install.md gives under a heading, up to the next one.
func commands(heading string) []string {
	GinkgoHelper()
	text, err := os.ReadFile(env.Path("docs", "install.md"))
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

var _ = Describe("docs/install.md", Ordered, func() {
	var c *cluster
	run := func(command string) {
		GinkgoHelper()
		Eventually(c.shell(command)).Should(gexec.Exit(0), command)
	}
	BeforeAll(func() {
		c = start()
		c.install()
	})

	It("waits until cainjector has written the root into both configurations", func() {
		waits := commands("## Install")[2]
		Expect(waits).To(HavePrefix("kubectl wait "))
		c.run("apply", "-k", env.Path("config", "default"))
		Eventually(c.shell(strings.Replace(waits, "--timeout=5m", "--timeout=1s", 1))).Should(gexec.Exit(1))
		c.inject(root())
		run(waits)
	})

	It("gets finalizers removed while webhooks are asked for that nobody serves [WO-15]", func() {
		c.install() // Without webhooks, so that there can be something.
		c.pipe(class+"\n---\n"+network+"\n---\n"+foo, "apply", "-f", "-")
		c.run("apply", "-k", env.Path("config", "default"))
		c.inject(root())
		c.run("delete", "networks.samplecrd.k8s.io,foos.samplecontroller.k8s.io", "--all", "--all-namespaces", "--wait=false")
		c.run("delete", "networkclasses.samplecrd.k8s.io", "--all", "--wait=false")
		for _, command := range commands("### When the order was wrong") {
			run(command)
		}
		Expect(c.run("get", "networks.samplecrd.k8s.io,networkclasses.samplecrd.k8s.io,foos.samplecontroller.k8s.io", "--all-namespaces", "-o", "name")).To(BeEmpty())
	})

	It("gets rid of everything when the bundle went before the Networks, classes and Foos [WO-15]", func() {
		c.install()
		c.pipe(class+"\n---\n"+network+"\n---\n"+foo, "apply", "-f", "-")
		c.run("apply", "-k", env.Path("config", "default"))
		c.run("delete", "-k", env.Path("config", "default"), "--wait=false")
		c.endNamespace(ctx)
		Consistently(c.left, "2s").Should(ContainElements(HaveSuffix("networks.samplecrd.k8s.io"), HaveSuffix("networkclasses.samplecrd.k8s.io")))
		for _, command := range commands("### When the order was wrong") {
			run(command)
		}
		Eventually(c.left).Should(BeEmpty())
	})
})
