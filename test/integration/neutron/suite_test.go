// Package neutron tests the whole on a real API server and a real OpenStack Neutron:
// what becomes of a Network there, and what its status says when clouds, credentials and
// people do what they do.
package neutron

import (
	"context"
	"io"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/openstack"
)

var (
	// cluster is what a user has: rules and webhooks. Each spec runs a manager of its own.
	cluster *env.Env
	// credentials are the clouds.yaml with which the servers are reached.
	credentials []byte
	// member sees what the Networks' clouds hold, as a member of the same project; other
	// is one of another project, with quotas; admin is the administrator.
	member, other, admin *eye
	// told is all that the managers have said to anybody.
	told = newRecord()

	ctx = context.Background()
)

func TestNeutron(t *testing.T) {
	RegisterFailHandler(Fail)
	// Generous, for a loaded machine; an assertion that holds does not wait.
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	SetDefaultConsistentlyDuration(2 * time.Second)
	SetDefaultConsistentlyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "Neutron")
}

var _ = BeforeSuite(func() {
	var err error
	credentials, err = os.ReadFile(openstack.Need(GinkgoT()))
	Expect(err).NotTo(HaveOccurred())
	ctrl.SetLogger(textlogger.NewLogger(textlogger.NewConfig(textlogger.Verbosity(4), textlogger.Output(io.MultiWriter(GinkgoWriter, told)))))
	member, other, admin = newEye(openstack.Member), newEye(openstack.Other), newEye(openstack.Admin)
	cluster, err = env.Start(env.Options{Webhooks: true})
	Expect(err).NotTo(HaveOccurred())
	unlimit() // What a run that was killed has left.
	told.watch()
})

var _ = AfterSuite(func() {
	if cluster != nil {
		told.end()
		Expect(cluster.Stop()).To(Succeed())
		told.check()
	}
})
