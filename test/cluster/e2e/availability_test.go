package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	certmanagermeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rate is how many objects a second are created while something happens.
const rate = 20

func availability() {
	BeforeAll(func(ctx context.Context) {
		deploy(ctx)
		mustKubectl(ctx, "apply", "-f", "config/samples/networkclass.yaml")
	}, NodeTimeout(5*time.Minute))

	It("while both replicas are replaced, three times", func(ctx context.Context) {
		all := startLoad(ctx, rate)
		for range 3 {
			mustKubectl(ctx, "-n", system, "rollout", "restart", "deployment/"+controller)
			mustKubectl(ctx, "-n", system, "rollout", "status", "deployment/"+controller, "--timeout="+patience.String())
			settled(ctx)
		}
		noneFailed(all.end(ctx, "rolling restart × 3"))
	}, NodeTimeout(15*time.Minute))

	It("while the pair is renewed, twenty times", func(ctx context.Context) {
		all := startLoad(ctx, rate)
		for range 20 {
			renew(ctx, leaf)
			served(ctx)
		}
		noneFailed(all.end(ctx, "leaf renewal × 20"))
	}, NodeTimeout(20*time.Minute))

	It("while the CA is renewed, three times, and what is served is trusted by it [WO-32]", func(ctx context.Context) {
		all := startLoad(ctx, rate)
		for range 3 {
			renew(ctx, ca)
			// cainjector gives it to the API server.
			authority := string(secret(ctx, ca).Data[corev1.TLSCertKey])
			Eventually(func() []string { return bundles(ctx) }).WithContext(ctx).Should(HaveEach(ContainSubstring(authority)))
			served(ctx)
			renew(ctx, leaf)
			served(ctx)
		}
		noneFailed(all.end(ctx, "CA renewal × 3"))
	}, NodeTimeout(15*time.Minute))

	It("while the root gets a new key, by the documented commands", func(ctx context.Context) {
		before := bundles(ctx)[0]
		all := startLoad(ctx, rate)
		followed(ctx, "## Certificates")
		// The old root stays beside the new one, since the old pair is served for a while.
		Eventually(func() []string { return bundles(ctx) }).WithContext(ctx).Should(HaveEach(And(ContainSubstring(strings.TrimSpace(before)), Not(Equal(before)))))
		served(ctx)
		noneFailed(all.end(ctx, "new root"))
	}, NodeTimeout(10*time.Minute))

	It("while the leader's Pod is deleted, three times", func(ctx context.Context) {
		all, waited := startLoad(ctx, rate), longestWait(ctx)
		var longest time.Duration
		for range 3 {
			pod := leader(ctx)
			follow := followLease(ctx)
			mustKubectl(ctx, "-n", system, "delete", "pod", pod, "--wait=false")
			gap := follow(ctx, pod)
			longest = max(longest, gap)
			AddReportEntry(fmt.Sprintf("without a leader for %s, from the release of the Lease to the next holder", gap.Round(time.Millisecond)), ReportEntryVisibilityAlways)
			settled(ctx)
		}
		AddReportEntry(fmt.Sprintf("no Network waited longer than %s to be looked at", waited().Round(time.Millisecond)), ReportEntryVisibilityAlways)
		noneFailed(all.end(ctx, "leader deleted × 3"))
		Expect(longest).To(BeNumerically("<=", 3*time.Second))
	}, NodeTimeout(15*time.Minute))
}

// noneFailed says that every create was answered by a webhook, as it should be.
func noneFailed(n counts) {
	GinkgoHelper()
	Expect(n.failed()).To(BeZero(), n.String())
	Expect(n.good).NotTo(BeZero())
	Expect(n.refused).NotTo(BeZero())
}

// renew makes cert-manager issue a Certificate anew, as cmctl does, and waits for it.
func renew(ctx context.Context, name string) {
	GinkgoHelper()
	before := secret(ctx, name).Data[corev1.TLSCertKey]
	Eventually(func(g Gomega) {
		var certificate certmanagerv1.Certificate
		g.Expect(c.Get(ctx, client.ObjectKey{Namespace: system, Name: name}, &certificate)).To(Succeed())
		certificate.Status.Conditions = append(withoutIssuing(certificate.Status.Conditions), certmanagerv1.CertificateCondition{
			Type: certmanagerv1.CertificateConditionIssuing, Status: certmanagermeta.ConditionTrue,
			Reason: "ManuallyTriggered", Message: "Renewal asked for by a test", LastTransitionTime: new(metav1.Now()),
			ObservedGeneration: certificate.Generation,
		})
		g.Expect(c.Status().Update(ctx, &certificate)).To(Succeed())
	}).WithContext(ctx).Should(Succeed())
	Eventually(func() []byte { return secret(ctx, name).Data[corev1.TLSCertKey] }).WithContext(ctx).ShouldNot(Equal(before))
}

func withoutIssuing(conditions []certmanagerv1.CertificateCondition) []certmanagerv1.CertificateCondition {
	var others []certmanagerv1.CertificateCondition
	for _, condition := range conditions {
		if condition.Type != certmanagerv1.CertificateConditionIssuing {
			others = append(others, condition)
		}
	}
	return others
}

func secret(ctx context.Context, name string) corev1.Secret {
	GinkgoHelper()
	var found corev1.Secret
	Expect(c.Get(ctx, client.ObjectKey{Namespace: system, Name: name}, &found)).To(Succeed())
	return found
}

// followLease watches the Lease; what it returns gives how long nobody held it, from
// when the Pod let go of it to when another one took it, by their own clocks.
func followLease(ctx context.Context) func(context.Context, string) time.Duration {
	GinkgoHelper()
	_, before := holder(ctx)
	return func(ctx context.Context, pod string) time.Duration {
		GinkgoHelper()
		released, acquired := before.Spec.RenewTime.Time, time.Time{}
		Eventually(func() bool {
			holds, held := holder(ctx)
			if holds == pod || holds == "" {
				released = held.Spec.RenewTime.Time
				return false
			}
			acquired = held.Spec.AcquireTime.Time
			return true
		}, patience, 50*time.Millisecond).WithContext(ctx).Should(BeTrue())
		return acquired.Sub(released)
	}
}

// longestWait makes one Network after the other; what it returns ends that, and gives
// the longest that one has waited for the controller's first word.
func longestWait(ctx context.Context) func() time.Duration {
	GinkgoHelper()
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	longest := make(chan time.Duration, 1)
	go func() {
		defer GinkgoRecover()
		var most time.Duration
		defer func() { longest <- most }()
		for n := 0; ctx.Err() == nil; n++ {
			network := newNetwork(loadNamespace, fmt.Sprintf("waits-%d", n), fmt.Sprintf("172.20.%d.%d/28", n/16%256, n%16*16))
			Expect(c.Create(ctx, network)).To(Or(Succeed(), MatchError(context.Canceled)))
			begun, look := time.Now(), time.NewTicker(20*time.Millisecond)
			for ctx.Err() == nil && len(network.Status.Conditions) == 0 {
				<-look.C
				Expect(c.Get(ctx, client.ObjectKeyFromObject(network), network)).To(Or(Succeed(), MatchError(context.Canceled)))
				most = max(most, time.Since(begun))
			}
			look.Stop()
			Expect(c.Delete(context.WithoutCancel(ctx), network)).To(Or(Succeed(), Satisfy(apierrors.IsNotFound)))
		}
	}()
	DeferCleanup(stop)
	return func() time.Duration {
		stop()
		return <-longest
	}
}
