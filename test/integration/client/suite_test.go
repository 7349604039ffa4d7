// Package client uses the generated clients as those who import them do: the typed
// clientset, apply configurations, shared informers with listers, the fake clientset
// and the example program.
package client

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/client/clientset/versioned"
	"github.com/samplecrd/samplecrd/test/env"
)

var (
	// cluster has our webhooks and no controllers: a status is what a spec writes.
	cluster *env.Env
	builtIn *kubernetes.Clientset
	ours    *versioned.Clientset

	ctx = context.Background()
)

func TestClient(t *testing.T) {
	RegisterFailHandler(Fail)
	// Generous, for a loaded machine; an assertion that holds does not wait.
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "Generated clients")
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(GinkgoWriter))))
	var err error
	cluster, err = env.Start(env.Options{Webhooks: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(cluster.Stop()).To(Succeed()) })
	stop, err := cluster.StartManager(env.ManagerOptions{Webhooks: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(stop()).To(Succeed()) })

	builtIn, err = kubernetes.NewForConfig(cluster.Config)
	Expect(err).NotTo(HaveOccurred())
	ours, err = versioned.NewForConfig(cluster.Config)
	Expect(err).NotTo(HaveOccurred())

	By("waiting until the API server calls the webhooks")
	namespace := newNamespace()
	Eventually(func(g Gomega) {
		network, err := ours.SamplecrdV1().Networks(namespace).Create(ctx, draftNetwork("probe", "10.0.0.0/24"),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(network.Spec.Gateway).To(Equal("10.0.0.1"))
	}).Should(Succeed())
})

func newNamespace() string {
	GinkgoHelper()
	namespace, err := builtIn.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-"}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return namespace.Name
}

// must gives the value of a call that has to succeed.
func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

func draftNetwork(name, cidr string) *samplecrdv1.Network {
	network := &samplecrdv1.Network{}
	network.Name, network.Spec.CIDR = name, cidr
	return network
}

func draftClass(name string) *samplecrdv1.NetworkClass {
	return &samplecrdv1.NetworkClass{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: samplecrdv1.NetworkClassSpec{
			Provider: samplecrdv1.ProviderMultus, Multus: &samplecrdv1.MultusSpec{Type: samplecrdv1.MultusBridge},
		},
	}
}

func draftFoo(name, deployment string) *samplev1alpha1.Foo {
	foo := &samplev1alpha1.Foo{}
	foo.Name, foo.Spec.DeploymentName = name, deployment
	return foo
}

// ready are the conditions of an object that is.
func ready() []metav1.Condition {
	return []metav1.Condition{{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Tested", Message: "All is well",
		LastTransitionTime: metav1.Unix(1_700_000_000, 0),
	}}
}
