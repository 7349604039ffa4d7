// Package admission_test sends Networks, NetworkClasses and Foos to a real API
// server, with our webhooks, with the CRD's rules alone, and through the real kubectl.
package admission_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/test/env"
)

var (
	ctx     = context.Background()
	control *env.Env
	// user is a client that keeps the warnings it is given.
	user     client.Client
	warnings = &recorder{}
	// stopManager ends the manager that serves the webhooks; nil while none runs.
	stopManager func() error
)

func TestAdmission(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "Admission")
}

var _ = BeforeSuite(func() {
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(GinkgoWriter))))
	var err error
	control, err = env.Start(env.Options{Webhooks: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(control.Stop()).To(Succeed()) })

	config := rest.CopyConfig(control.Config)
	config.WarningHandler = warnings
	user, err = client.New(config, client.Options{Scheme: control.Scheme})
	Expect(err).NotTo(HaveOccurred())

	serveWebhooks()
	DeferCleanup(endWebhooks)
})

// serveWebhooks runs the manager that answers the webhooks, if it does not run.
func serveWebhooks() {
	GinkgoHelper()
	if stopManager != nil {
		return
	}
	serve(env.ManagerOptions{Webhooks: true})
}

func serve(opts env.ManagerOptions) {
	GinkgoHelper()
	stop, err := control.StartManager(opts)
	Expect(err).NotTo(HaveOccurred())
	stopManager = stop
	Eventually(inForce).Should(BeTrue(), "the webhooks answer")
}

// endWebhooks stops that manager, if it runs.
func endWebhooks() {
	GinkgoHelper()
	if stopManager == nil {
		return
	}
	stop := stopManager
	stopManager = nil
	Expect(stop()).To(Succeed())
}
