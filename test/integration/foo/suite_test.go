// Package foo tests the controller of Foos on a real API server. No Deployment
// controller and no garbage collector runs there: the specs play them.
package foo

import (
	"context"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/samplecrd/samplecrd/test/env"
)

var (
	// bare has no webhooks, and CRDs without rules and without the default of
	// replicas: anything can be stored there.
	bare *env.Env
	// whole is what a user has: rules and webhooks.
	whole *env.Env

	ctx = context.Background()
)

func TestFoo(t *testing.T) {
	RegisterFailHandler(Fail)
	// Generous, for a loaded machine; an assertion that holds does not wait.
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	SetDefaultConsistentlyDuration(time.Second)
	SetDefaultConsistentlyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "Foo")
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(GinkgoWriter))))
	starts := map[**env.Env]env.Options{
		&bare:  {EditCRDs: anything},
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
	for _, stop := range shared {
		stop()
	}
	for _, started := range []*env.Env{bare, whole} {
		if started != nil {
			Expect(started.Stop()).To(Succeed())
		}
	}
})

// anything takes the rules out of a CRD and, out of that of Foo, what stands in the
// way of absent and negative replicas.
func anything(crd *apiextensionsv1.CustomResourceDefinition) {
	env.Floorless(crd)
	if crd.Spec.Names.Kind != "Foo" {
		return
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	replicas := spec.Properties["replicas"]
	replicas.Default, replicas.Minimum = nil, nil
	spec.Properties["replicas"] = replicas
	// Where it is served the API server itself refuses a negative number.
	crd.Spec.Versions[0].Subresources.Scale = nil
}
