// Package plan tests the address plan that many tenants share on a real API server:
// who wins a range when many ask for it at once, and what one tenant is told of
// another.
package plan

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/env"
)

var (
	// cluster is what a user has: rules and webhooks. Each container serves the
	// webhooks itself.
	cluster *env.Env

	ctx = context.Background()
)

func TestPlan(t *testing.T) {
	RegisterFailHandler(Fail)
	// Generous, for a loaded machine; an assertion that holds does not wait.
	SetDefaultEventuallyTimeout(2 * time.Minute)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "Address plan")
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(GinkgoWriter))))
	var err error
	cluster, err = env.Start(env.Options{Webhooks: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })
	waitForWebhooks()
})

// waitForWebhooks has the API server wait for an answer as long as it can: a hundred
// at once may take a loaded machine longer than the five seconds of the
// configurations.
func waitForWebhooks() {
	GinkgoHelper()
	const longest = 30
	key := client.ObjectKey{Name: "samplecrd-controller"}
	var mutating admissionv1.MutatingWebhookConfiguration
	Expect(cluster.Client.Get(ctx, key, &mutating)).To(Succeed())
	for i := range mutating.Webhooks {
		mutating.Webhooks[i].TimeoutSeconds = new(int32(longest))
	}
	Expect(cluster.Client.Update(ctx, &mutating)).To(Succeed())
	var validating admissionv1.ValidatingWebhookConfiguration
	Expect(cluster.Client.Get(ctx, key, &validating)).To(Succeed())
	for i := range validating.Webhooks {
		validating.Webhooks[i].TimeoutSeconds = new(int32(longest))
	}
	Expect(cluster.Client.Update(ctx, &validating)).To(Succeed())
}

// namespaceOf is the namespace of a tenant. A tenant is called by a word that is
// part of every name of theirs and of nothing else.
func namespaceOf(tenant string) string { return "tenant-" + tenant }

func inNamespaceOf(tenant string) client.InNamespace { return client.InNamespace(namespaceOf(tenant)) }

// settle makes the tenants' namespaces, unless they are there.
func settle(tenants ...string) {
	GinkgoHelper()
	for _, tenant := range tenants {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(tenant)}}
		Expect(client.IgnoreAlreadyExists(cluster.Client.Create(ctx, namespace))).To(Succeed())
	}
}

// newClass makes a class in which all Networks compete, but for changes.
func newClass(changes ...func(*samplecrdv1.NetworkClass)) *samplecrdv1.NetworkClass {
	GinkgoHelper()
	class := &samplecrdv1.NetworkClass{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "class-"},
		Spec: samplecrdv1.NetworkClassSpec{
			Provider: samplecrdv1.ProviderMultus, Multus: &samplecrdv1.MultusSpec{Type: samplecrdv1.MultusBridge},
			OverlapScope: samplecrdv1.OverlapClass,
		},
	}
	for _, change := range changes {
		change(class)
	}
	Expect(cluster.Client.Create(ctx, class)).To(Succeed())
	return class
}
