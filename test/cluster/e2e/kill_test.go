package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// killed specs end a process without a word, which only works where the node's
// processes are this machine's.
func killed() {
	It("when the leader's process is killed, three times, but for what the dead endpoint is asked", func(ctx context.Context) {
		if _, err := process(ctx, leader(ctx)); err != nil {
			Skip("the node's processes are not this machine's: " + err.Error())
		}
		for n := range 3 {
			settled(ctx)
			all := startLoad(ctx, rate)
			id, err := process(ctx, leader(ctx))
			Expect(err).NotTo(HaveOccurred())
			_, before := holder(ctx)
			at := time.Now()
			Expect(syscall.Kill(id, syscall.SIGKILL)).To(Succeed())
			// The Lease is nobody's until it has run out.
			var taken time.Time
			Eventually(func() bool {
				_, held := holder(ctx)
				taken = held.Spec.AcquireTime.Time
				return *held.Spec.HolderIdentity != *before.Spec.HolderIdentity
			}, patience, 100*time.Millisecond).WithContext(ctx).Should(BeTrue())
			AddReportEntry(fmt.Sprintf("taken over %s after SIGKILL", taken.Sub(at).Round(time.Millisecond)), ReportEntryVisibilityAlways)
			Expect(taken.Sub(at)).To(BeNumerically("<=", 20*time.Second))
			settled(ctx)

			counts := all.end(ctx, fmt.Sprintf("leader killed, %d of 3", n+1))
			Expect(counts.unchecked+counts.other).To(BeZero(), counts.String())
			Expect(counts.good).NotTo(BeZero())
			if counts.webhook > 0 {
				AddReportEntry(fmt.Sprintf("no webhook for %s", counts.outage().Round(time.Millisecond)), ReportEntryVisibilityAlways)
				Expect(counts.outage()).To(BeNumerically("<=", 10*time.Second))
			}
		}
	}, NodeTimeout(15*time.Minute))
}

// process gives the process of a manager's Pod.
func process(ctx context.Context, pod string) (int, error) {
	GinkgoHelper()
	var found corev1.Pod
	Expect(c.Get(ctx, client.ObjectKey{Namespace: system, Name: pod}, &found)).To(Succeed())
	entries, err := filepath.Glob("/proc/[0-9]*")
	Expect(err).NotTo(HaveOccurred())
	for _, entry := range entries {
		arguments, _ := os.ReadFile(filepath.Join(entry, "cmdline"))
		groups, _ := os.ReadFile(filepath.Join(entry, "cgroup"))
		// The kubelet's name of a Pod's group has its UID, by systemd with underscores.
		in := strings.Contains(strings.ReplaceAll(string(groups), "_", "-"), string(found.UID))
		if in && bytes.HasPrefix(arguments, []byte("/samplecrd-controller\x00")) {
			return strconv.Atoi(filepath.Base(entry))
		}
	}
	return 0, fmt.Errorf("no process here is of Pod %s", pod)
}
