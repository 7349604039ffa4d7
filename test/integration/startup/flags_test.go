package startup

import (
	"bytes"
	"errors"
	"os/exec"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// result is what a person sees of a call that ends by itself.
type result struct {
	stdout, stderr string
	exitCode       int
}

func call(args ...string) result {
	GinkgoHelper()
	command := exec.Command(binary, args...)
	// Neither this machine's cluster nor one that the test runs in.
	command.Env = []string{"HOME=" + GinkgoT().TempDir()}
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		exit, ended := errors.AsType[*exec.ExitError](err)
		Expect(ended).To(BeTrue(), "%v", err)
		Expect(exit.Exited()).To(BeTrue())
	}
	return result{stdout.String(), stderr.String(), command.ProcessState.ExitCode()}
}

var _ = Describe("The command line", func() {
	It("gives version and commit and ends", func() {
		Expect(call("--version")).To(Equal(result{stdout: "samplecrd-controller v1.2.3 (abcdef)\n"}))
	})

	It("lists the flags on request, which is no error", func() {
		got := call("--help")
		Expect(got.exitCode).To(BeZero(), got.stderr)
		Expect(got.stdout + got.stderr).To(And(
			ContainSubstring("-kubeconfig"), ContainSubstring("-master"), ContainSubstring("-alsologtostderr"),
			ContainSubstring("-leader-elect"), ContainSubstring("-v"),
			ContainSubstring("-shutdown-delay"), ContainSubstring("-webhook-certificate"),
			ContainSubstring("-foo-max-replicas"), ContainSubstring("-foo-default-image")))
		Expect(got.stderr).NotTo(ContainSubstring("help requested"))
	})

	DescribeTable("refuses what it does not understand", func(named string, args ...string) {
		got := call(args...)
		Expect(got.exitCode).To(BeNumerically(">", 0))
		Expect(got.stderr).To(And(ContainSubstring("samplecrd-controller: "), ContainSubstring(named)))
		Expect(got.stderr).NotTo(ContainSubstring("goroutine"))
		Expect(got.stdout).To(BeEmpty())
	},
		Entry("an unknown flag", "-lieder-elect", "--lieder-elect"),
		Entry("a stray argument", `"true"`, "--leader-elect", "true"),
		Entry("a flag of another type", "webhook-port", "--webhook-port=https"),
		Entry("a delay before now", "--shutdown-delay is -1s; it must not be negative", "--shutdown-delay=-1s"),
		Entry("no time for what is under way", "--neutron-settle is 0s; it must be above 0", "--neutron-settle=0"),
		Entry("a delay without a unit", `invalid value "5" for flag -shutdown-delay`, "--shutdown-delay=5"),
		Entry("a negative limit of replicas", "--foo-max-replicas is -1; it must be from 0 to 2147483647", "--foo-max-replicas=-1"),
		Entry("a limit that no Foo can reach", "--foo-max-replicas is 2147483648; it must be from 0 to 2147483647", "--foo-max-replicas=2147483648"),
		Entry("a limit that is no number", `invalid value "abc" for flag -foo-max-replicas`, "--foo-max-replicas=abc"),
		Entry("no limit where one is named", `invalid value "" for flag -foo-max-replicas`, "--foo-max-replicas="),
		Entry("no image", "--foo-default-image is empty; it must name a container image", "--foo-default-image="),
		Entry("a kubeconfig that is not there", "/nowhere/kubeconfig", "--kubeconfig=/nowhere/kubeconfig"),
		Entry("an address that is none", "somewhere", "--master=http://127.0.0.1:1", "--health-probe-bind-address=somewhere"),
	)

	It("holds every Foo to the limit, and makes its Pods from the image", func() {
		serve(networks, classes, foos)
		manager := start("--foo-max-replicas=3", "--foo-default-image=registry.example/shop:1.2")
		DeferCleanup(manager.kill)
		Eventually(manager.ready).Should(BeTrue())
		foo := newFoo(newNamespace(), "a", 3)
		Eventually(cluster.Client.Create).WithArguments(ctx, foo).Should(Succeed())
		Expect(cluster.Client.Create(ctx, newFoo(foo.Namespace, "b", 4))).To(beOver(3))
		Expect(scale(foo, 4)).To(beOver(3))
		Eventually(deployment(foo)).Should(And(
			HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(3))),
			HaveField("Spec.Template.Spec.Containers", ConsistOf(HaveField("Image", "registry.example/shop:1.2")))))
		Expect(manager.Stop()).To(Succeed())
	})

	It("says that the API server cannot be reached, and waits for it, alive", func() {
		manager := start("--master=https://127.0.0.1:1")
		DeferCleanup(manager.kill)
		Eventually(manager.live).Should(BeTrue())
		Eventually(manager.waits).Should(HaveLen(1))
		Expect(manager.waits()[0]).To(And(ContainSubstring("127.0.0.1:1"), ContainSubstring("connection refused")))
		Consistently(manager.ready).Should(BeFalse())
		Expect(manager.waits()).To(HaveLen(1))
		Expect(manager.Signal(syscall.SIGTERM)).To(Succeed())
		Eventually(manager.Ended()).Should(Receive(BeNil()), "exit code 0")
	})
})
