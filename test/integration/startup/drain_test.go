package startup

import (
	"slices"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// holders follows who holds the managers' Lease in a namespace, one after the other.
func holders(namespace string) func() []string {
	GinkgoHelper()
	watching, err := client.NewWithWatch(cluster.Config, client.Options{Scheme: cluster.Scheme})
	Expect(err).NotTo(HaveOccurred())
	events, err := watching.Watch(ctx, &coordinationv1.LeaseList{}, client.InNamespace(namespace))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(events.Stop)
	var all []string
	return func() []string {
		for {
			select {
			case event := <-events.ResultChan():
				if lease, is := event.Object.(*coordinationv1.Lease); is {
					all = slices.Compact(append(all, ptr.Deref(lease.Spec.HolderIdentity, "")))
				}
			default:
				return all
			}
		}
	}
}

var _ = Describe("The drain", func() {
	var election string

	BeforeEach(func() {
		serve(networks, classes, foos)
		election = newNamespace()
	})

	It("goes on serving and reconciling as the leader, is not ready and closes connections, and ends at once on a second signal", func() {
		DeferCleanup(pointWebhooksBack, election)
		manager := startReplica(election, "--shutdown-delay=1h")
		DeferCleanup(manager.kill)
		Eventually(manager.ready).Should(BeTrue())
		Eventually(manager.leads).Should(BeTrue())
		pointWebhooks(manager.port)
		createFoo(election, "before")
		Expect(manager.judge(Default).Close).To(BeFalse())
		was := holder(election)(Default)

		Expect(manager.Signal(syscall.SIGTERM)).To(Succeed())
		Eventually(manager.ready).Should(BeFalse())
		Expect(manager.live()).To(BeTrue())
		Expect(manager.judge(Default).Close).To(BeTrue())
		expectDeployment(createFoo(election, "meanwhile"))
		Expect(cluster.Client.Create(ctx, newFoo(election, "bad", 101))).To(beOver(100))
		Expect(manager.ready()).To(BeFalse())
		Expect(holder(election)(Default)).To(Equal(was))
		Expect(manager.lines("Draining")).To(HaveLen(1))
		Expect(manager.Ended()).NotTo(Receive())

		Expect(manager.Signal(syscall.SIGTERM)).To(Succeed())
		Eventually(manager.Ended()).WithTimeout(10 * time.Second).Should(Receive(MatchError("exit status 1")))
	})

	It("comes before everything stops, the Lease goes last, and the other replica takes over", func() {
		leader := startReplica(election, "--shutdown-delay=1s")
		DeferCleanup(leader.kill)
		Eventually(leader.leads).Should(BeTrue())
		standby := startReplica(election, "--shutdown-delay=1s")
		DeferCleanup(standby.kill)
		Eventually(leader.ready).Should(BeTrue())
		Eventually(standby.ready).Should(BeTrue())
		held := holders(election)
		was := holder(election)(Default)

		Expect(leader.Signal(syscall.SIGTERM)).To(Succeed())
		Eventually(leader.Ended()).Should(Receive(BeNil()), "exit code 0")
		Eventually(standby.leads).Should(BeTrue())
		now := holder(election)(Default)
		Eventually(held).Should(Equal([]string{was, "", now}), "it is let go, and only then taken")

		log := string(leader.log.Contents())
		for _, line := range []string{
			"Draining", "Stopping and waiting for leader election runnables", "Stopping and waiting for webhooks",
			"Shutting down webhook server", "Wait completed",
		} {
			Expect(log).To(ContainSubstring(line), "in this order")
			_, log, _ = strings.Cut(log, line)
		}
		Expect(standby.Stop()).To(Succeed(), "exit code 0")
		Eventually(held).Should(Equal([]string{was, "", now, ""}))
	})
})
