package foo

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/samplecrd/samplecrd/test/metrics"
)

// writes counts the requests that changed something, as the API server itself saw
// them: "PATCH foos/status 200" → how many. Leases and Events are left out.
func (w *world) writes(g Gomega) map[string]int {
	counts, err := metrics.Writes(ctx, w.Config)
	g.Expect(err).NotTo(HaveOccurred())
	return counts
}

// writesSince gives what was written after before was taken, for Eventually and
// Consistently.
func (w *world) writesSince(before map[string]int) func(Gomega) map[string]int {
	return func(g Gomega) map[string]int { return metrics.Requests(w.writes(g)).Since(before) }
}

// reconciles counts the passes of the Foo controller in this process.
func reconciles() int { return metrics.Reconciles("foo") }

// reconcileErrors counts the passes that ended with an error.
func reconcileErrors() int { return metrics.ReconcileErrors("foo") }

// settled waits until the controller has nothing in its hands.
func settled() {
	GinkgoHelper()
	Expect(metrics.Settle(ctx, "foo", 100*time.Millisecond)).To(Succeed())
}
