package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/providers/memory"
	"github.com/samplecrd/samplecrd/test/builders"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/matchers"
)

const (
	ready      = samplecrdv1.NetworkConditionReady
	accepted   = samplecrdv1.NetworkConditionAccepted
	programmed = samplecrdv1.NetworkConditionProgrammed
	stalled    = samplecrdv1.NetworkConditionStalled
)

// beRefused is the whole truth about a Network that is not accepted.
func beRefused(reason string, forGood bool) OmegaMatcher {
	want := matchers.InProgress
	if forGood {
		want = matchers.Failed
	}
	return And(
		matchers.HaveCondition(accepted, metav1.ConditionFalse, reason),
		matchers.HaveCondition(ready, metav1.ConditionFalse, reason),
		matchers.HaveCondition(programmed, metav1.ConditionUnknown, samplecrdv1.NetworkReasonPending),
		WithTransform(matchers.Verdict, Equal(want)),
		Not(matchers.BeHeld()),
		HaveField("Status.Subnets", BeEmpty()),
		HaveField("Status.ProviderID", BeNil()),
	)
}

// beWithout is the whole truth about an accepted Network that its backend does
// not hold.
func beWithout(reason string, forGood bool) OmegaMatcher {
	want := matchers.InProgress
	if forGood {
		want = matchers.Failed
	}
	return And(
		matchers.HaveCondition(accepted, metav1.ConditionTrue, samplecrdv1.NetworkReasonAccepted),
		matchers.HaveCondition(programmed, metav1.ConditionFalse, reason),
		matchers.HaveCondition(ready, metav1.ConditionFalse, reason),
		WithTransform(matchers.Verdict, Equal(want)),
		matchers.BeHeld(),
	)
}

// moody is a backend that fails each time with another text.
type moody struct {
	*memory.Provider
	asked atomic.Int64
}

func (m *moody) Ensure(context.Context, providers.Identity, *samplecrdv1.NetworkClassSpec, addressing.Plan) (providers.Observed, error) {
	return providers.Observed{}, fmt.Errorf("request %d failed", m.asked.Add(1))
}

var _ = Describe("The status of a Network", func() {
	It("says -1 until a controller has seen it, which no tool takes for done", func() {
		w := newWorld(bare)
		w.Network("a", "10.0.0.0/24")
		Expect(w.Get("a").Status.ObservedGeneration).To(HaveValue(BeEquivalentTo(-1)))
		Expect(matchers.Verdict(w.Get("a"))).To(Equal(matchers.InProgress))
		w.startOnMemory()
		Eventually(w.Of("a")).Should(matchers.BeReady())
	})

	It("shows in canonical form what the backend holds", func() {
		w := onMemory()
		created := w.Network("a", "10.1.2.3/16", builders.Gateway("10.1.0.9"))
		Eventually(w.Of("a")).Should(matchers.BeReady())
		network := w.Get("a")
		Expect(network).To(And(
			matchers.HaveCondition(accepted, metav1.ConditionTrue, samplecrdv1.NetworkReasonAccepted),
			matchers.HaveCondition(programmed, metav1.ConditionTrue, samplecrdv1.NetworkReasonProgrammed),
			matchers.HaveCondition(ready, metav1.ConditionTrue, samplecrdv1.NetworkReasonReady),
		))
		Expect(meta.FindStatusCondition(network.Status.Conditions, stalled)).To(BeNil())
		Expect(network.Status.Provider).To(HaveValue(Equal(samplecrdv1.ProviderMultus)))
		held := w.backend.Networks()[created.UID]
		Expect(network.Status.ProviderID).To(HaveValue(Equal(held.ID)))
		Expect(network.Status.Subnets).To(Equal([]samplecrdv1.SubnetStatus{
			{CIDR: "10.1.0.0/16", Gateway: new("10.1.0.9"), ProviderID: &held.Subnets[0].ID, State: samplecrdv1.SubnetActive},
		}))
		Expect(network.Spec.CIDR).To(Equal("10.1.2.3/16"), "what the user wrote is never rewritten")
	})

	It("shows every subnet, without a gateway where there is none", func() {
		w := onMemory()
		created := w.Network("a", "10.0.0.0/24", builders.Gateway(samplecrdv1.GatewayNone), func(network *samplecrdv1.Network) {
			network.Spec.AdditionalSubnets = []samplecrdv1.SubnetSpec{{CIDR: "2001:DB8:0:0::/64"}}
		})
		Eventually(w.Of("a")).Should(matchers.BeReady())
		held := w.backend.Networks()[created.UID].Subnets
		Expect(w.Get("a").Status.Subnets).To(ConsistOf(
			samplecrdv1.SubnetStatus{CIDR: "10.0.0.0/24", ProviderID: &held[0].ID, State: samplecrdv1.SubnetActive},
			samplecrdv1.SubnetStatus{CIDR: "2001:db8::/64", Gateway: new("2001:db8::1"), ProviderID: &held[1].ID, State: samplecrdv1.SubnetActive},
		))
	})

	It("AN-34: is Unsupported when the backend cannot serve what is asked, until the spec changes", func() {
		w := onMemory()
		w.backend.SetLimits(addressing.Limits{Backend: "the fake", LongestIPv4: 28})
		w.Network("a", "10.0.0.0/30")
		Eventually(w.Of("a")).Should(beRefused(samplecrdv1.NetworkReasonUnsupported, true))
		Expect(matchers.Message(w.Get("a"), ready)).To(ContainSubstring("the fake cannot serve 10.0.0.0/30"))
		settled()
		Expect(w.backend.Calls("Ensure")).To(BeZero())
		w.Change("a", func(network *samplecrdv1.Network) { network.Spec.CIDR = "10.0.0.0/28" })
		Eventually(w.Of("a")).Should(matchers.BeReady())
	})

	It("keeps what the backend holds when a new generation cannot be accepted", func() {
		w := onMemory()
		created := w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		held := w.backend.Networks()[created.UID]
		w.Change("a", func(network *samplecrdv1.Network) { network.Spec.CIDR = "nonsense" })
		Eventually(w.Of("a")).Should(And(
			matchers.HaveCondition(accepted, metav1.ConditionFalse, samplecrdv1.NetworkReasonInvalid),
			matchers.HaveCondition(ready, metav1.ConditionFalse, samplecrdv1.NetworkReasonInvalid),
			matchers.HaveCondition(programmed, metav1.ConditionUnknown, samplecrdv1.NetworkReasonPending),
			HaveField("Status.ProviderID", HaveValue(Equal(held.ID))),
			HaveField("Status.Subnets", HaveLen(1)),
		))
		Expect(w.backend.Networks()[created.UID]).To(Equal(held))
	})

	DescribeTable("says why the backend does not hold it, and recovers", func(fault error, reason string, forGood bool) {
		w := onMemory()
		w.backend.Fail(fault, fault, fault)
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(beWithout(reason, forGood))
		Expect(matchers.Message(w.Get("a"), ready)).To(ContainSubstring(fault.Error()[:10]))
		// What is retried slowly is looked at again when the Network changes.
		Eventually(func(g Gomega) {
			w.touch("a")
			g.Expect(w.Of("a")(g)).To(matchers.BeReady())
		}).Should(Succeed())
		Expect(meta.FindStatusCondition(w.Get("a").Status.Conditions, stalled)).To(BeNil())
	},
		Entry("an error of any kind", errors.New("connection refused"), samplecrdv1.NetworkReasonBackendUnavailable, false),
		Entry("quota", providers.QuotaExceeded(errors.New("10 of 10 networks")), samplecrdv1.NetworkReasonQuotaExceeded, false),
		Entry("refusal", providers.Rejected(errors.New("no such thing")), samplecrdv1.NetworkReasonRejected, true),
		Entry("conflict", providers.Conflict("Network %q is not ours", "a"), samplecrdv1.NetworkReasonConflict, true),
	)

	It("recovers from a backend that was away, by itself", func() {
		w := onMemory()
		away := errors.New("away")
		w.backend.Fail(away, away, away, away)
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Expect(w.backend.Calls("Ensure")).To(BeNumerically(">=", 5))
	})

	It("is not asked for in a hot loop when every answer of the backend reads differently", func() {
		w := newWorld(bare)
		backend := &moody{Provider: w.backend}
		w.start(env.ManagerOptions{Controllers: true, Backends: env.Instead(backend)})
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(beWithout(samplecrdv1.NetworkReasonBackendUnavailable, false))
		// The delays double from 100 ms: some five tries in these three seconds.
		Consistently(backend.asked.Load).WithTimeout(3 * time.Second).Should(BeNumerically("<=", 8))
	})

	It("keeps to one short line, however much the backend says", func() {
		w := onMemory()
		fault := providers.Rejected(errors.New(strings.Repeat("<html>\n\tfault ", 20_000)))
		w.backend.Fail(fault)
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(beWithout(samplecrdv1.NetworkReasonRejected, true))
		w.Network("b", strings.Repeat("9", 49), func(network *samplecrdv1.Network) {
			for range 32 {
				network.Spec.Routes = append(network.Spec.Routes, samplecrdv1.Route{Destination: "x", NextHop: "y"})
			}
		})
		Eventually(w.Of("b")).Should(beRefused(samplecrdv1.NetworkReasonInvalid, true))
		for name, most := range map[string]int{"a": 320, "b": 1100} {
			for _, condition := range w.Get(name).Status.Conditions {
				Expect(len(condition.Message)).To(BeNumerically("<=", most), condition.Message)
				Expect(condition.Message).NotTo(ContainSubstring("\n"))
			}
		}
	})

	It("is refused as Unsupported by a build without the class's provider", func() {
		w := newWorld(bare)
		w.start(withoutProviders)
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(beRefused(samplecrdv1.NetworkReasonUnsupported, true))
	})
})
