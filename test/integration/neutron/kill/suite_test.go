// Package kill kills the real binary in the middle of its work on a real Neutron,
// starts it again, and looks for what it has forgotten or made twice.
package kill

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/openstack"
)

var (
	binary string
	cloud  *stack

	ctx = context.Background()
)

// Environment variables. All kills take long: see `make neutron-kill`.
const (
	// envPoints is how often the binary is killed.
	envPoints, defaultPoints = "KILL_POINTS", 12
	// envSeed is what the random choices come from; itself random by default.
	envSeed = "KILL_SEED"
	// envFrom and envTo pick some of the lives that these two stand for, to live them
	// again: from one, before another. Default: all.
	envFrom, envTo = "KILL_FROM", "KILL_TO"
)

func TestKill(t *testing.T) {
	RegisterFailHandler(Fail)
	// Generous: a new process waits for what the one before it may have left under
	// way, and the machine may be loaded.
	SetDefaultEventuallyTimeout(5 * time.Minute)
	SetDefaultEventuallyPollingInterval(250 * time.Millisecond)
	suite, reporter := GinkgoConfiguration()
	suite.Timeout = 0 // That of go test is enough.
	RunSpecs(t, "Kill points on Neutron", suite, reporter)
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(GinkgoWriter))))
	cloud = dial(openstack.Need(GinkgoT()))

	dir, err := os.MkdirTemp("", "samplecrd-kill-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	binary = filepath.Join(dir, "samplecrd-controller")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir = env.Path()
	said, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(said))
})

// number reads an environment variable.
func number(name string, absent int) int {
	GinkgoHelper()
	text := os.Getenv(name)
	if text == "" {
		return absent
	}
	n, err := strconv.Atoi(text)
	Expect(err).NotTo(HaveOccurred(), name)
	return n
}
