// Package startup tests the real binary as a process: kinds that come late, go and
// come back, two managers at a time, the command line, and the end.
package startup

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/samplecrd/samplecrd/test/env"
)

var (
	// cluster has the webhook configurations from the beginning, and no CRD.
	cluster *env.Env
	binary  string

	ctx = context.Background()
)

func TestStartup(t *testing.T) {
	RegisterFailHandler(Fail)
	// Generous: a watch on a kind that was away comes back with a back-off of its
	// own, and the machine may be loaded.
	SetDefaultEventuallyTimeout(90 * time.Second)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyDuration(3 * time.Second)
	SetDefaultConsistentlyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "Start-up")
}

var _ = BeforeSuite(func() {
	dir, err := os.MkdirTemp("", "samplecrd-startup-")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	binary = filepath.Join(dir, "samplecrd-controller")
	build := exec.Command("go", "build", "-ldflags", "-X main.version=v1.2.3 -X main.commit=abcdef", "-o", binary, ".")
	build.Dir = env.Path()
	said, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(said))

	cluster, err = env.Start(env.Options{Webhooks: true, WithoutCRDs: true, WithoutNAD: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })
})
