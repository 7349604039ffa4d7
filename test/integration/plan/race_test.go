package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/metrics"
)

const (
	// resting is how many Networks are there, apart from each other, while others
	// are fought for.
	resting = 1000
	rounds  = 20
	// racing is how many are created at once in each round.
	racing = 100
	// restartEvery is how often, in rounds, the manager that reconciles is exchanged for
	// another one in the middle of it, and how often when all is decided.
	restartEvery = 3
)

var _ = Describe("A thousand Networks and a hundred that want the same range, through three webhook servers whose caches are late", Ordered, func() {
	var (
		c     *crowd
		total struct{ admitted, refused, contested int }
		// held are those that lost and yet have our finalizer.
		held []string
	)

	BeforeAll(func() {
		c = newCrowd("agate", "beryl", "citrine", "diorite", "epidote")
		c.start()
		DeferCleanup(func() {
			for _, tenant := range c.tenants {
				Expect(cluster.Client.DeleteAllOf(ctx, &samplecrdv1.Network{}, inNamespaceOf(tenant))).To(Succeed())
			}
			Eventually(c.cloud.Networks).WithPolling(time.Second).Should(BeEmpty())
			c.stop()
		})
	})

	It("makes the thousand", func() {
		var group sync.WaitGroup
		const creators = 16
		for creator := range creators {
			group.Go(func() {
				defer GinkgoRecover()
				for i := creator; i < resting; i += creators {
					Expect(cluster.Client.Create(ctx, c.draft("rest", i, fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)))).To(Succeed())
				}
			})
		}
		group.Wait()
		Eventually(func(g Gomega) {
			ready := 0
			for _, network := range c.list(g, "rest") {
				if isReady(&network) {
					ready++
				}
			}
			g.Expect(ready).To(Equal(resting))
		}).WithPolling(500 * time.Millisecond).Should(Succeed())
	})

	It("writes nothing while they rest", func() {
		Expect(metrics.Settle(ctx, "network", 250*time.Millisecond)).To(Succeed())
		before, err := metrics.Writes(ctx, cluster.Config)
		Expect(err).NotTo(HaveOccurred())
		Consistently(func(g Gomega) metrics.Requests {
			now, err := metrics.Writes(ctx, cluster.Config)
			g.Expect(err).NotTo(HaveOccurred())
			return now.Since(before)
		}).WithTimeout(20 * time.Second).WithPolling(2 * time.Second).Should(BeEmpty())
		Expect(c.cloud.changes()).To(Equal(resting), "one backend write each")
	})

	for number := range rounds {
		It(fmt.Sprintf("has one winner and one heir: round %d of %d", number+1, rounds), func() {
			restart := number%restartEvery == restartEvery-1
			r := c.race(number, c.whenToRestart(number))
			total.admitted += len(r.admitted)
			total.refused += racing - len(r.admitted)
			if len(r.admitted) > 1 {
				total.contested++
			}
			AddReportEntry("admitted", len(r.admitted))

			winner := r.winner()
			r.losers(winner)
			if number%restartEvery == 0 {
				// An older one may have come too late to win. It still has not won.
				c.restart()
				Expect(r.winner().UID).To(Equal(winner.UID), "another manager decides as the one before it")
			}
			if left := r.without(winner); len(left) > 0 {
				heir := slices.MinFunc(left, byAge)
				remove([]samplecrdv1.Network{*winner})
				r.admitted = left
				winner = r.winner()
				Expect(winner.Name).To(Equal(heir.Name), "the oldest of those that waited")
				if restart {
					r.losers(winner)
				}
			}
			Eventually(c.seen.behind).Should(BeEmpty(), func() string { return fmt.Sprint(c.seen.overlaps()) })
			Expect(c.seen.overlaps()).To(BeEmpty(), "no two had a claim on one range at any time")
			Expect(c.cloud.overlaps()).To(BeEmpty(), "nor did the backend hold two")
			for _, network := range r.list(Default, r.round) {
				if network.UID != winner.UID && len(network.Finalizers) > 0 {
					held = append(held, network.Name)
				}
			}
			remove(r.without(winner))
			remove([]samplecrdv1.Network{*winner})
		})
	}

	It("had to decide all the while", func() {
		AddReportEntry("in all", fmt.Sprintf("%+v", total))
		Expect(total.contested).To(BeNumerically(">", 0), "rounds in which several were admitted, since the caches are late")
		Expect(total.refused).To(BeNumerically(">", 0), "refused at admission, since the caches are not late for ever")
		for _, port := range c.ports {
			for _, path := range []string{"/mutate-samplecrd-k8s-io-v1-network", "/validate-samplecrd-k8s-io-v1-network"} {
				Expect(c.front.answers(port, path)).To(BeNumerically(">", resting/len(hookLags)/2), "answers at %s on port %d", path, port)
			}
		}
		Expect(c.seen.versionsWithClaims()).To(BeNumerically(">=", resting+rounds))
		Expect(c.cloud.changes()).To(BeNumerically(">=", resting+rounds))
	})

	It("held no loser with a finalizer", func() {
		Expect(held).To(BeEmpty())
	})
})

// race is one round: what was asked for at once, and what came of it.
type race struct {
	*crowd
	round string
	// admitted are those that are stored.
	admitted []samplecrdv1.Network
}

// whenToRestart says when in a round, if at all, another manager takes over the
// reconciling: when it is in the middle of the answers, or when a winner is recorded
// of which it has made nothing yet, maybe.
func (c *crowd) whenToRestart(number int) func(answers int64) bool {
	switch number % (2 * restartEvery) {
	case restartEvery - 1:
		return func(answers int64) bool { return answers > racing/3 }
	case 2*restartEvery - 1:
		claims := c.seen.versionsWithClaims()
		return func(answers int64) bool { return answers == racing || c.seen.versionsWithClaims() > claims }
	}
	return nil
}

// race creates Networks at once of which any two overlap, and looks at the refusals.
func (c *crowd) race(number int, restart func(answers int64) bool) *race {
	GinkgoHelper()
	r := &race{crowd: c, round: fmt.Sprintf("r%02d", number)}
	// A chain of ranges around one address: the same, around and inside.
	center := netip.AddrFrom4([4]byte{10, byte(100 + number), byte(7 * number), byte(13 * number)})
	drafts, errs := make([]*samplecrdv1.Network, racing), make([]error, racing)
	for i := range drafts {
		drafts[i] = c.draft(r.round, i, netip.PrefixFrom(center, 16+i%13).Masked().String())
	}
	var answers atomic.Int64
	var group sync.WaitGroup
	if restart != nil {
		group.Go(func() {
			defer GinkgoRecover()
			Eventually(func() bool { return restart(answers.Load()) }).WithPolling(time.Millisecond).Should(BeTrue())
			c.stop()
			c.start()
		})
	}
	atOnce(racing, func(i int) {
		errs[i] = cluster.Client.Create(ctx, drafts[i])
		answers.Add(1)
	})
	group.Wait()
	for i, draft := range drafts {
		if errs[i] == nil {
			r.admitted = append(r.admitted, *draft)
		} else {
			c.refusal(draft, errs[i])
		}
	}
	Expect(r.admitted).NotTo(BeEmpty())
	return r
}

// refusal expects a refusal that names the field and nobody else's Network.
func (c *crowd) refusal(draft *samplecrdv1.Network, err error) {
	GinkgoHelper()
	Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
	status := err.(apierrors.APIStatus).Status()
	Expect(status.Code).To(BeEquivalentTo(422))
	Expect(status.Details.Causes).NotTo(BeEmpty())
	Expect(status.Details.Causes).To(HaveEach(And(
		HaveField("Field", "spec.cidr"),
		HaveField("Message", And(ContainSubstring("overlaps"), ContainSubstring("use a range apart from it"))),
	)))
	c.discreet(draft, status.Message)
}

// discreet expects that a Network's tenant is told of no other one.
func (c *crowd) discreet(network *samplecrdv1.Network, text string) {
	GinkgoHelper()
	for _, tenant := range c.tenants {
		if network.Namespace != namespaceOf(tenant) {
			Expect(text).NotTo(ContainSubstring(tenant), "told to %s", network.Namespace)
		}
	}
}

// winner waits until one of those admitted is ready and all others have been told
// that they are not.
func (r *race) winner() *samplecrdv1.Network {
	GinkgoHelper()
	var winner *samplecrdv1.Network
	Eventually(func(g Gomega) {
		stored := r.list(g, r.round)
		g.Expect(stored).To(HaveLen(len(r.admitted)))
		winner = nil
		for i := range stored {
			if isReady(&stored[i]) {
				if winner != nil {
					StopTrying("two are ready: " + winner.Name + " and " + stored[i].Name).Now()
				}
				winner = &stored[i]
			} else {
				g.Expect(condition(&stored[i], samplecrdv1.NetworkConditionAccepted)).To(HaveField("Reason", samplecrdv1.NetworkReasonOverlap))
			}
		}
		g.Expect(winner).NotTo(BeNil())
	}).Should(Succeed())
	return winner
}

// losers waits until all that did not win say so and say to whom they lost, as far as
// that is their business, and finds that they hold nothing.
func (r *race) losers(winner *samplecrdv1.Network) {
	GinkgoHelper()
	held := addressing.Recorded(&winner.Status)[0]
	Eventually(func(g Gomega) {
		for _, network := range r.list(g, r.round) {
			if network.UID == winner.UID {
				continue
			}
			whose := fmt.Sprintf("overlaps %s, which a Network of another namespace has;", held)
			if network.Namespace == winner.Namespace {
				whose = fmt.Sprintf("overlaps %s of Network %q;", held, winner.Name)
			}
			for _, kind := range []string{samplecrdv1.NetworkConditionAccepted, samplecrdv1.NetworkConditionReady} {
				g.Expect(condition(&network, kind)).To(And(
					HaveField("Status", BeEquivalentTo("False")),
					HaveField("Reason", samplecrdv1.NetworkReasonOverlap),
					HaveField("Message", And(HavePrefix("spec.cidr: "), ContainSubstring(whose))),
				), network.Name)
			}
			g.Expect(condition(&network, samplecrdv1.NetworkConditionStalled)).To(HaveField("Status", BeEquivalentTo("True")))
			g.Expect(network.Status.Subnets).To(BeEmpty())
			r.discreet(&network, fmt.Sprint(network.Status))
		}
	}).Should(Succeed())
}

// without gives those admitted but one.
func (r *race) without(one *samplecrdv1.Network) []samplecrdv1.Network {
	return slices.DeleteFunc(slices.Clone(r.admitted), func(network samplecrdv1.Network) bool { return network.UID == one.UID })
}

func byAge(a, b samplecrdv1.Network) int {
	return addressing.OwnerOf(&a).Compare(addressing.OwnerOf(&b))
}
