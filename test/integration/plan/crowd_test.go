package plan

import (
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/metrics"
)

// hookLags is how late the cache of each server of the webhooks may be: one refuses
// soon, while others still admit, be the machine fast or slow.
var hookLags = []time.Duration{20 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond}

const (
	// controllerLag is how late the cache of the one that reconciles may be.
	controllerLag = 100 * time.Millisecond
	// labelRound is a label with the round in which a Network was created.
	labelRound = "round"
)

// crowd is tenants who share one class, in which all Networks compete. Its webhooks
// are served by several managers, its Networks made by one, and the caches of all
// are late.
type crowd struct {
	tenants []string
	class   string
	ports   []int
	front   *front
	cloud   *cloud
	seen    *history

	// controller ends the manager that reconciles; nil while none runs.
	controller func() error
}

// newCrowd starts all but the controller. Everything goes with the container.
func newCrowd(tenants ...string) *crowd {
	GinkgoHelper()
	settle(tenants...)
	c := &crowd{tenants: tenants, ports: freePorts(len(hookLags)), cloud: newCloud()}
	var group sync.WaitGroup
	for i, port := range c.ports {
		group.Go(func() {
			defer GinkgoRecover()
			stop, err := cluster.StartManager(env.ManagerOptions{
				Webhooks: true, WebhookPort: port, Backends: env.Instead(c.cloud), Transport: lagging(hookLags[i]),
			})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(func() { Expect(stop()).To(Succeed()) })
		})
	}
	group.Wait()
	c.front = newFront(c.ports)
	DeferCleanup(c.front.close)
	c.class = newClass().Name
	c.seen = record(c.class)
	return c
}

// start runs the manager that reconciles.
func (c *crowd) start() {
	GinkgoHelper()
	var err error
	c.controller, err = cluster.StartManager(env.ManagerOptions{
		Controllers: true, Backends: env.Instead(c.cloud), Transport: lagging(controllerLag),
	})
	Expect(err).NotTo(HaveOccurred())
}

// stop ends it, once.
func (c *crowd) stop() {
	GinkgoHelper()
	if stop := c.controller; stop != nil {
		c.controller = nil
		Expect(stop()).To(Succeed())
	}
}

// restart has another manager take over at rest, and waits until it has looked at
// every Network.
func (c *crowd) restart() {
	GinkgoHelper()
	c.stop()
	before := metrics.Reconciles("network")
	var networks samplecrdv1.NetworkList
	Expect(cluster.Client.List(ctx, &networks, client.MatchingFields{samplecrdv1.FieldNetworkClassName: c.class})).To(Succeed())
	c.start()
	Eventually(func() int { return metrics.Reconciles("network") - before }).Should(BeNumerically(">=", len(networks.Items)))
	Expect(metrics.Settle(ctx, "network", 50*time.Millisecond)).To(Succeed())
}

// draft is the i-th Network of a round; each is of the next tenant.
func (c *crowd) draft(round string, i int, cidr string) *samplecrdv1.Network {
	tenant := c.tenants[i%len(c.tenants)]
	network := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespaceOf(tenant), Name: fmt.Sprintf("%s-%03d-%s", round, i, tenant), Labels: map[string]string{labelRound: round},
	}}
	network.Spec.CIDR, network.Spec.NetworkClassName = cidr, c.class
	return network
}

// list gives the Networks of a round.
func (c *crowd) list(g Gomega, round string) []samplecrdv1.Network {
	var networks samplecrdv1.NetworkList
	g.Expect(cluster.Client.List(ctx, &networks, client.MatchingLabels{labelRound: round})).To(Succeed())
	return networks.Items
}

// remove deletes Networks, all at once.
func remove(networks []samplecrdv1.Network) {
	GinkgoHelper()
	atOnce(len(networks), func(i int) {
		Expect(client.IgnoreNotFound(cluster.Client.Delete(ctx, &networks[i]))).To(Succeed())
	})
}

// atOnce does something count times, all at the same time.
func atOnce(count int, do func(i int)) {
	begin := make(chan struct{})
	var group sync.WaitGroup
	for i := range count {
		group.Go(func() {
			defer GinkgoRecover()
			<-begin
			do(i)
		})
	}
	close(begin)
	group.Wait()
}

// condition gives a condition of a Network's current generation; the zero one
// without it.
func condition(network *samplecrdv1.Network, kind string) metav1.Condition {
	found := meta.FindStatusCondition(network.Status.Conditions, kind)
	if found == nil || found.ObservedGeneration != network.Generation {
		return metav1.Condition{}
	}
	return *found
}

func isReady(network *samplecrdv1.Network) bool {
	return condition(network, samplecrdv1.NetworkConditionReady).Status == metav1.ConditionTrue
}
