// Package controller tests the controllers on a real API server.
package controller

import (
	"context"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/samplecrd/samplecrd/test/env"
)

var (
	// bare has no webhooks, and CRDs without CEL rules: anything can be stored
	// there. Its backend is the fake.
	bare *env.Env
	// whole is what a user has: rules, webhooks and Multus.
	whole *env.Env

	ctx = context.Background()
)

func TestController(t *testing.T) {
	RegisterFailHandler(Fail)
	// Generous, for a loaded machine; an assertion that holds does not wait.
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(time.Second)
	SetDefaultConsistentlyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "Controllers")
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(GinkgoWriter))))
	starts := map[**env.Env]env.Options{
		&bare:  {EditCRDs: env.Floorless},
		&whole: {Webhooks: true},
	}
	var group sync.WaitGroup
	for place, options := range starts {
		group.Go(func() {
			defer GinkgoRecover()
			started, err := env.Start(options)
			Expect(err).NotTo(HaveOccurred())
			*place = started
		})
	}
	group.Wait()
})

var _ = AfterSuite(func() {
	for _, started := range []*env.Env{bare, whole} {
		if started != nil {
			Expect(started.Stop()).To(Succeed())
		}
	}
})
