// Package e2e tests the bundle as people install it: on a cluster with Pods, Services
// and cert-manager. `make e2e` runs it.
package e2e

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/apis"
)

// The names of config/default.
const (
	system     = "samplecrd-system"
	controller = "samplecrd-controller"
	webhook    = "webhook-service"
	leaf       = "samplecrd-webhook-server"
	ca         = "samplecrd-webhook-ca"
	lease      = "samplecrd-controller.samplecrd.k8s.io"
)

// What the suite is told by its environment; `make e2e` sets it.
var (
	// image is the manager's image, which the nodes have.
	image = cmp.Or(os.Getenv("E2E_IMAGE"), "samplecrd-controller:dev")
	// workload is an image, which the nodes have, of a program that runs until it is
	// told to end: what Foos without a template run here.
	workload = cmp.Or(os.Getenv("E2E_WORKLOAD"), "samplecrd.test/pause:1")
	// auditLog is the API server's audit log; "" where it is out of reach.
	auditLog = os.Getenv("E2E_AUDIT_LOG")
	// kubectlPath is the kubectl to use.
	kubectlPath = cmp.Or(os.Getenv("KUBECTL"), "kubectl")
)

// How long something may take; generous, for a loaded machine.
const patience = 3 * time.Minute

var (
	config *rest.Config
	c      client.Client
	root   string // of the repository
	begun  time.Time
)

func TestEndToEnd(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(patience)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	EnforceDefaultTimeoutsWhenUsingContexts()
	RunSpecs(t, "The bundle on a cluster")
}

var _ = BeforeSuite(func() {
	begun = time.Now()
	path := os.Getenv("KUBECONFIG")
	Expect(path).NotTo(BeEmpty(), "KUBECONFIG names no cluster; run `make e2e`")
	var err error
	config, err = clientcmd.BuildConfigFromFlags("", path)
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, certmanagerv1.AddToScheme, apis.AddToScheme,
	} {
		Expect(add(scheme)).To(Succeed())
	}
	c, err = client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	root, err = filepath.Abs("../../..")
	Expect(err).NotTo(HaveOccurred())
	GinkgoWriter.Printf("image %s at %s\n", image, config.Host)
})

// The specs stand in one order: each leaves the bundle deployed, the last ones take it
// away. One that fails does not keep the others from running.
var _ = Describe("The bundle", Ordered, ContinueOnFailure, func() {
	Describe("is installed", install)
	Describe("walks the seeds' way", walk)
	Describe("lets a namespace go", terminating)
	Describe("stays available", availability)
	Describe("stays available", killed)
	Describe("is upgraded", upgraded)
	Describe("has its rights", rights)
	Describe("is away", outage)
	Describe("moves to another namespace", moved)
	Describe("is uninstalled", uninstall)
})
