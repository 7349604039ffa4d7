package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"

	"github.com/samplecrd/samplecrd/test/env"
)

func TestRun(t *testing.T) {
	RegisterFailHandler(Fail)
	// A control plane is built up and taken down; the machine may be loaded.
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "make run")
}

var program = env.Path("bin", "run")

// As make run does before it runs the program.
var _ = BeforeSuite(func() {
	command := exec.Command("make", "build")
	command.Dir = env.Path()
	said, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(said))
})

// begin runs the program as a shell would: from the repository, in a process group
// of its own, which is where a terminal sends Ctrl-C to.
func begin(dir string) *gexec.Session {
	GinkgoHelper()
	command := exec.Command(program, "-dir", dir)
	command.Dir = env.Path()
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	session, err := gexec.Start(command, GinkgoWriter, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		if session.ExitCode() < 0 {
			session.Interrupt().Wait(time.Minute)
		}
	})
	return session
}

func ctrlC(session *gexec.Session) {
	GinkgoHelper()
	Expect(syscall.Kill(-session.Command.Process.Pid, syscall.SIGINT)).To(Succeed())
}

// printed gives the commands that a run tells its user to try.
func printed(session *gexec.Session) []string {
	var commands []string
	for line := range strings.Lines(string(session.Out.Contents())) {
		if command, indented := strings.CutPrefix(line, "  "); indented {
			commands = append(commands, strings.TrimSpace(command))
		}
	}
	return commands
}

// bash runs a script as in another terminal, in the repository and with no
// kubeconfig of the machine's.
func bash(home, script string) (stdout, stderr string, exitCode int) {
	GinkgoHelper()
	command := exec.Command("bash", "-c", script)
	command.Dir = env.Path()
	command.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin"}
	var out, err bytes.Buffer
	command.Stdout, command.Stderr = &out, &err
	_ = command.Run()
	return out.String(), err.String(), command.ProcessState.ExitCode()
}

var _ = Describe("make run", Ordered, func() {
	var (
		dir, home string
		first     *gexec.Session
		commands  []string
		family    []relative
	)

	BeforeAll(func() {
		dir, home = GinkgoT().TempDir(), GinkgoT().TempDir()
		first = begin(dir)
	})

	It("serves, and says what to try", func() {
		Eventually(first).Should(gbytes.Say("Everything serves"))
		Expect(filepath.Join(dir, "env")).To(BeARegularFile())
		Eventually(func() []string { return printed(first) }).Should(HaveLen(7))
		commands = printed(first)
		Expect(commands[0]).To(Equal("source " + dir + "/env"))
		family = descendants(first.Command.Process.Pid)
		Expect(names(family)).To(ConsistOf("etcd", "kube-apiserver", "samplecrd-controller"))
	})

	It("makes the good Network real", func() {
		stdout, stderr, exitCode := bash(home, commands[0]+"\n"+commands[1])
		Expect(exitCode).To(BeZero(), stderr)
		Expect(stdout).To(ContainSubstring("network.samplecrd.k8s.io/example-network created"))
		_, stderr, exitCode = bash(home, commands[0]+"\nkubectl wait --for=condition=Ready --timeout=60s networks.samplecrd.k8s.io/example-network")
		Expect(exitCode).To(BeZero(), stderr)
	})

	It("refuses the bad Network with a sentence that helps", func() {
		stdout, stderr, exitCode := bash(home, commands[0]+"\n"+commands[2])
		Expect(exitCode).NotTo(BeZero())
		Expect(stdout).To(BeEmpty())
		Expect(stderr).To(And(ContainSubstring("spec.gateway: Invalid value:"), ContainSubstring("use an address from")))
	})

	It("shows the Network and what it became", func() {
		stdout, stderr, exitCode := bash(home, commands[0]+"\n"+commands[3])
		Expect(exitCode).To(BeZero(), stderr)
		Expect(stdout).To(MatchRegexp(`network\.samplecrd\.k8s\.io/example-network +192\.168\.0\.0/16 +192\.168\.0\.1 +standard +True`))
		Expect(stdout).To(ContainSubstring("networkattachmentdefinition.k8s.cni.cncf.io/example-network"))
	})

	It("makes the Foo's Deployment, and follows its scale", func() {
		stdout, stderr, exitCode := bash(home, commands[0]+"\n"+commands[4])
		Expect(exitCode).To(BeZero(), stderr)
		Expect(stdout).To(ContainSubstring("foo.samplecontroller.k8s.io/example-foo created"))
		deployed := func(path string) func() string {
			return func() string {
				stdout, _, _ := bash(home, commands[0]+"\nkubectl get deployment example-foo -o jsonpath='"+path+"'")
				return stdout
			}
		}
		Eventually(deployed("{.spec.replicas} {.metadata.ownerReferences[?(@.controller)].kind}/{.metadata.ownerReferences[?(@.controller)].name}")).Should(Equal("1 Foo/example-foo"))
		stdout, stderr, exitCode = bash(home, commands[0]+"\n"+commands[5])
		Expect(exitCode).To(BeZero(), stderr)
		Expect(stdout).To(ContainSubstring("example-foo scaled"))
		Eventually(deployed("{.spec.replicas}")).Should(Equal("3"))
	})

	DescribeTable("refuses a bad scale with a sentence that helps", func(command, sentence string) {
		stdout, stderr, exitCode := bash(home, commands[0]+"\n"+command)
		Expect(exitCode).NotTo(BeZero())
		Expect(stdout).To(BeEmpty())
		Expect(stderr).To(ContainSubstring(sentence))
	},
		Entry("above the limit", "kubectl scale foo/example-foo --replicas=101",
			"spec.replicas: Invalid value: 101: must be at most 100, the manager's limit (--foo-max-replicas)"),
		Entry("below zero, which kubectl scale itself never sends",
			`kubectl patch foo/example-foo --subresource=scale --type=merge -p '{"spec": {"replicas": -1}}'`,
			"spec.replicas: Invalid value: -1: "),
	)

	It("shows the Foo and what it became", func() {
		stdout, stderr, exitCode := bash(home, commands[0]+"\n"+commands[6])
		Expect(exitCode).To(BeZero(), stderr)
		Expect(stdout).To(MatchRegexp(`NAME +DEPLOYMENT +DESIRED +AVAILABLE +READY +AGE`))
		Expect(stdout).To(MatchRegexp(`foo\.samplecontroller\.k8s\.io/example-foo +example-foo +3 +0 +False +\d+`))
		Expect(stdout).To(MatchRegexp(`deployment\.apps/example-foo +0/3 `))
	})

	It("keeps a second one away, and is not disturbed by it", func() {
		second := begin(dir)
		Eventually(second).Should(gexec.Exit())
		Expect(second.ExitCode()).To(BeNumerically(">", 0))
		Expect(string(second.Err.Contents())).To(And(ContainSubstring("running already"), ContainSubstring("Ctrl-C")))
		Expect(first.ExitCode()).To(Equal(-1), "still running")
		Expect(filepath.Join(dir, "env")).To(BeARegularFile())
		_, stderr, exitCode := bash(home, commands[0]+"\nkubectl get networks.samplecrd.k8s.io example-network")
		Expect(exitCode).To(BeZero(), stderr)
		// A third one is kept away as well: the second left the lock alone.
		third := begin(dir)
		Eventually(third).Should(gexec.Exit())
		Expect(third.ExitCode()).To(BeNumerically(">", 0))
	})

	It("ends on Ctrl-C and leaves nothing behind", func() {
		ctrlC(first)
		Eventually(first).Should(gexec.Exit(0))
		Expect(alive(family)).To(BeEmpty())
		left, err := os.ReadDir(dir)
		Expect(err).NotTo(HaveOccurred())
		var names []string
		for _, entry := range left {
			names = append(names, entry.Name())
		}
		Expect(names).NotTo(ContainElement(BeElementOf("env", "kubeconfig", "lock")))
	})

	It("ends on Ctrl-C also while it starts, and can then be run again", func() {
		again := begin(dir)
		Eventually(again.Err).Should(gbytes.Say("Starting etcd"))
		Eventually(func() []string { return names(descendants(again.Command.Process.Pid)) }).Should(ContainElement("etcd"))
		ctrlC(again)
		var family []relative
		Eventually(func() int {
			family = append(family, descendants(again.Command.Process.Pid)...)
			return again.ExitCode()
		}).Should(BeZero())
		Expect(alive(family)).To(BeEmpty())
	})
})
