package controller

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/builders"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/matchers"
)

// nextSecond waits until a Network made now would be younger than older:
// timestamps have whole seconds.
func (w *world) nextSecond(older *samplecrdv1.Network) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		probe := w.Draft("probe", "203.0.113.0/24")
		g.Expect(w.Client.Create(ctx, probe, client.DryRunAll)).To(Succeed())
		g.Expect(older.CreationTimestamp.Before(&probe.CreationTimestamp)).To(BeTrue())
	}).Should(Succeed())
}

func (w *world) held() []types.UID {
	var uids []types.UID
	for uid := range w.backend.Networks() {
		uids = append(uids, uid)
	}
	return uids
}

var _ = Describe("Overlapping Networks of one class and namespace", func() {
	It("wait for the older one, and the next is taken up by itself when that goes", func() {
		w := newWorld(bare)
		older := w.Network("z-older", "10.0.0.0/16")
		w.nextSecond(older)
		w.Network("a-younger", "10.0.7.0/24")
		w.startOnMemory()

		Eventually(w.Of("z-older")).Should(matchers.BeReady())
		Eventually(w.Of("a-younger")).Should(beRefused(samplecrdv1.NetworkReasonOverlap, true))
		Expect(matchers.Message(w.Get("a-younger"), ready)).To(And(ContainSubstring("10.0.0.0/16"), ContainSubstring(`"z-older"`)))
		settled()
		Expect(w.held()).To(ConsistOf(older.UID))

		w.Remove("z-older")
		Eventually(w.Of("a-younger")).Should(matchers.BeReady())
		Expect(w.held()).To(ConsistOf(w.Get("a-younger").UID))
	})

	It("may go at once while they wait, since nothing holds them", func() {
		w := onMemory()
		w.Network("winner", "10.0.0.0/24")
		Eventually(w.Of("winner")).Should(matchers.BeReady())
		w.Network("loser", "10.0.0.0/24")
		Eventually(w.Of("loser")).Should(beRefused(samplecrdv1.NetworkReasonOverlap, true))
		w.stop()
		w.Remove("loser")
		Expect(w.Gone("loser")()).To(BeTrue())
		w.startOnMemory()
	})

	It("never take from a recorded winner, be they older, and after a restart neither", func() {
		w := onMemory()
		older := w.Network("older", "nonsense")
		Eventually(w.Of("older")).Should(beRefused(samplecrdv1.NetworkReasonInvalid, true))
		w.nextSecond(older)
		winner := w.Network("winner", "10.0.0.0/24")
		Eventually(w.Of("winner")).Should(matchers.BeReady())
		settled()
		version := w.Get("winner").ResourceVersion

		w.Change("older", func(network *samplecrdv1.Network) { network.Spec.CIDR = "10.0.0.0/8" })
		Eventually(w.Of("older")).Should(beRefused(samplecrdv1.NetworkReasonOverlap, true))
		w.stop()
		w.startOnMemory()
		w.touch("older")
		settled()
		Expect(w.Of("older")(Default)).To(beRefused(samplecrdv1.NetworkReasonOverlap, true))
		Expect(w.held()).To(ConsistOf(winner.UID))
		Expect(w.Get("winner").ResourceVersion).To(Equal(version))
	})

	It("wait for one that is being deleted until its backend has let go", func() {
		w := onMemory()
		winner := w.Network("winner", "10.0.0.0/24")
		Eventually(w.Of("winner")).Should(matchers.BeReady())
		w.Network("loser", "10.0.0.0/24")
		w.use(winner, "10.0.0.0/24", "Pod shop/web-0")
		w.Remove("winner")
		Eventually(w.Of("winner")).Should(matchers.HaveCondition(programmed, "False", samplecrdv1.NetworkReasonInUse))
		Consistently(w.Of("loser")).Should(Not(matchers.BeHeld()))
		w.use(winner, "10.0.0.0/24")
		Eventually(w.Of("loser")).Should(matchers.BeReady())
	})

	It("wait for a range that another one is leaving, until it has left", func() {
		w := onMemory()
		moving := w.Network("moving", "10.0.0.0/24")
		Eventually(w.Of("moving")).Should(matchers.BeReady())
		unblock := w.backend.Block()
		w.Change("moving", func(network *samplecrdv1.Network) { network.Spec.CIDR = "10.1.0.0/24" })
		Eventually(w.Of("moving")).Should(HaveField("Status.Subnets", HaveLen(2)))
		w.Network("waiting", "10.0.0.0/24")
		Eventually(w.Of("waiting")).Should(beRefused(samplecrdv1.NetworkReasonOverlap, true))
		unblock()
		Eventually(w.Of("moving")).Should(And(matchers.BeReady(), HaveField("Status.Subnets", HaveLen(1))))
		Eventually(w.Of("waiting")).Should(matchers.BeReady())
		Expect(w.held()).To(ConsistOf(moving.UID, w.Get("waiting").UID))
	})

	It("take a range that another one has given up while it keeps the rest", func() {
		w := onMemory()
		w.Network("keeps", "10.0.0.0/24", func(network *samplecrdv1.Network) {
			network.Spec.AdditionalSubnets = []samplecrdv1.SubnetSpec{{CIDR: "10.1.0.0/24"}}
		})
		Eventually(w.Of("keeps")).Should(matchers.BeReady())
		w.Network("waiting", "10.1.0.0/24")
		Eventually(w.Of("waiting")).Should(beRefused(samplecrdv1.NetworkReasonOverlap, true))
		w.Change("keeps", func(network *samplecrdv1.Network) { network.Spec.AdditionalSubnets = nil })
		Eventually(w.Of("keeps")).Should(And(matchers.BeReady(), HaveField("Status.Subnets", HaveLen(1))))
		Eventually(w.Of("waiting")).Should(matchers.BeReady())
	})

	It("take a range that another one was about to claim when its spec changed", func() {
		w := newWorld(bare)
		meddled := make(chan struct{})
		w.start(env.ManagerOptions{Controllers: true, Backends: env.Instead(w.backend), Client: beforeFirstPatch(func() {
			w.Change("fickle", func(network *samplecrdv1.Network) { network.Spec.CIDR = "nonsense" })
			close(meddled)
		})})
		w.Network("fickle", "10.0.0.0/24")
		Eventually(meddled).Should(BeClosed())
		Eventually(w.Of("fickle")).Should(beRefused(samplecrdv1.NetworkReasonInvalid, true))
		w.Network("other", "10.0.0.0/24")
		Eventually(w.Of("other")).Should(matchers.BeReady())
	})

	It("are none of each other's business in another class or namespace", func() {
		w := onMemory()
		other := builders.NewPlace(w.Client, "spec-").Namespace
		w.Network("a", "10.0.0.0/24")
		w.Network("b", "10.0.0.0/24", builders.OfClass(w.newClass().Name))
		elsewhere := w.Draft("a", "10.0.0.0/24")
		elsewhere.Namespace = other
		Expect(w.Client.Create(ctx, elsewhere)).To(Succeed())
		DeferCleanup(func() {
			Expect(w.Client.Delete(ctx, elsewhere)).To(Succeed())
		})
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Eventually(w.Of("b")).Should(matchers.BeReady())
		Eventually(func(g Gomega) {
			g.Expect(w.Client.Get(ctx, client.ObjectKeyFromObject(elsewhere), elsewhere)).To(Succeed())
			g.Expect(elsewhere).To(matchers.BeReady())
		}).Should(Succeed())
	})

	It("are named five at most to one that overlaps more", func() {
		w := onMemory()
		for i := range 7 {
			w.Network(fmt.Sprintf("small-%d", i), fmt.Sprintf("10.0.%d.0/24", i))
		}
		for i := range 7 {
			Eventually(w.Of(fmt.Sprintf("small-%d", i))).Should(matchers.BeReady())
		}
		w.Network("large", "10.0.0.0/16")
		Eventually(w.Of("large")).Should(beRefused(samplecrdv1.NetworkReasonOverlap, true))
		Expect(strings.Count(matchers.Message(w.Get("large"), ready), `Network "small-`)).To(Equal(5))
	})

	It("never win both: twenty that come at once, in one second", func() {
		w := onMemory()
		seen := w.record()
		w.race(func(i int) *samplecrdv1.Network {
			// Later ones come first by name.
			return w.Draft(fmt.Sprintf("n-%02d", 20-i), "10.0.0.0/24")
		})
		w.onlyOneWon(seen)
	})

	It("never win both when the default class comes for all of them at once", func() {
		w := onMemory()
		seen := w.record()
		w.race(func(i int) *samplecrdv1.Network {
			return w.Draft(fmt.Sprintf("n-%02d", i), "10.0.0.0/24", builders.OfClass(""))
		})
		settled()
		w.newClass(isDefault)
		w.onlyOneWon(seen)
	})
})

// beforeFirstPatch gives a client that lets somebody else in just before its first
// patch of a Network.
func beforeFirstPatch(meddle func()) client.NewClientFunc {
	meddle = sync.OnceFunc(meddle)
	return func(config *rest.Config, options client.Options) (client.Client, error) {
		inner, err := client.NewWithWatch(config, options)
		if err != nil {
			return nil, err
		}
		return interceptor.NewClient(inner, interceptor.Funcs{
			Patch: func(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
				if _, isNetwork := object.(*samplecrdv1.Network); isNetwork {
					meddle()
				}
				return inner.Patch(ctx, object, patch, opts...)
			},
		}), nil
	}
}

// race creates twenty Networks as fast as it can.
func (w *world) race(draft func(i int) *samplecrdv1.Network) {
	GinkgoHelper()
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			defer GinkgoRecover()
			Expect(w.Client.Create(ctx, draft(i))).To(Succeed())
		})
	}
	group.Wait()
}

// onlyOneWon waits until all have an answer, and finds that no two of them ever
// had a claim on the same range.
func (w *world) onlyOneWon(seen *history) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		networks, err := w.List()
		g.Expect(err).NotTo(HaveOccurred())
		verdicts := map[string]int{}
		for i := range networks {
			verdicts[matchers.Verdict(&networks[i])]++
		}
		g.Expect(verdicts).To(Equal(map[string]int{matchers.Current: 1, matchers.Failed: len(networks) - 1}))
	}).Should(Succeed())
	winners := map[netip.Prefix]map[string]bool{}
	for _, version := range seen.all() {
		for _, subnet := range version.Status.Subnets {
			prefix := netip.MustParsePrefix(subnet.CIDR)
			if winners[prefix] == nil {
				winners[prefix] = map[string]bool{}
			}
			winners[prefix][version.Name] = true
		}
	}
	Expect(winners).To(HaveEach(HaveLen(1)))
	Expect(w.held()).To(HaveLen(1))
}
