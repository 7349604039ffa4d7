package controller

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/providers/multus"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/matchers"
)

// counting is Multus, and counts what it writes.
type counting struct {
	*multus.Provider
	written *atomic.Int64
}

func (c counting) Ensure(ctx context.Context, id providers.Identity, class *samplecrdv1.NetworkClassSpec, plan addressing.Plan) (providers.Observed, error) {
	observed, err := c.Provider.Ensure(ctx, id, class, plan)
	if observed.Changed {
		c.written.Add(1)
	}
	return observed, err
}

// countingMultus runs Multus and counts its writes in written.
func countingMultus(written *atomic.Int64) env.ManagerOptions {
	return env.ManagerOptions{Controllers: true, Webhooks: true, Backends: func(mgr ctrl.Manager) map[samplecrdv1.ProviderType]providers.Provider {
		inner := env.Multus(mgr)[samplecrdv1.ProviderMultus].(*multus.Provider)
		return map[samplecrdv1.ProviderType]providers.Provider{samplecrdv1.ProviderMultus: counting{inner, written}}
	}}
}

// many creates Networks with a range each and waits until all are ready.
func (w *world) many(count int) {
	GinkgoHelper()
	var group sync.WaitGroup
	const creators = 4
	for creator := range creators {
		group.Go(func() {
			defer GinkgoRecover()
			for i := creator; i < count; i += creators {
				w.Network(fmt.Sprintf("n-%03d", i), fmt.Sprintf("10.%d.%d.0/24", i/256, i%256))
			}
		})
	}
	group.Wait()
	Eventually(func(g Gomega) {
		networks, err := w.List()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(networks).To(HaveLen(count))
		verdicts := map[string]int{}
		for i := range networks {
			verdicts[matchers.Verdict(&networks[i])]++
		}
		g.Expect(verdicts).To(Equal(map[string]int{matchers.Current: count}))
	}).WithTimeout(2 * time.Minute).WithPolling(250 * time.Millisecond).Should(Succeed())
	settled()
}

var _ = Describe("At rest", func() {
	It("CN-02: 300 Networks cause no write in a quiet minute", func() {
		w := newWorld(whole)
		var written atomic.Int64
		w.start(countingMultus(&written))
		w.many(300)
		Expect(written.Load()).To(BeEquivalentTo(300), "one backend write each")

		before, stored, backend := writes(Default, w.Env), w.everything(Default), written.Load()
		Expect(stored).To(HaveLen(600), "Networks and NetworkAttachmentDefinitions")
		Consistently(writesSince(w.Env, before)).WithTimeout(time.Minute).WithPolling(2 * time.Second).Should(BeEmpty())
		Expect(w.everything(Default)).To(Equal(stored))
		Expect(written.Load()).To(Equal(backend))
	})

	It("writes nothing when a manager starts anew, nor when it looks again", func() {
		w := newWorld(whole)
		var written atomic.Int64
		w.start(countingMultus(&written))
		w.many(20)
		w.stop()
		before, stored, passes := writes(Default, w.Env), w.everything(Default), reconciles()

		w.start(countingMultus(&written))
		Eventually(reconciles).Should(BeNumerically(">=", passes+20))
		settled()
		Consistently(writesSince(w.Env, before)).Should(BeEmpty())
		Expect(w.everything(Default)).To(Equal(stored))
		Expect(written.Load()).To(BeEquivalentTo(20))
	})
})
