package controller

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/test/builders"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/matchers"
)

// withoutProviders is a manager of a build that knows no backend.
var withoutProviders = env.ManagerOptions{
	Controllers: true,
	Backends:    func(ctrl.Manager) map[samplecrdv1.ProviderType]providers.Provider { return nil },
}

func (w *world) classCondition(name string) func(Gomega) *metav1.Condition {
	return func(g Gomega) *metav1.Condition {
		class := &samplecrdv1.NetworkClass{}
		g.Expect(w.Client.Get(ctx, client.ObjectKey{Name: name}, class)).To(Succeed())
		g.Expect(class.Status.ObservedGeneration).To(HaveValue(Equal(class.Generation)))
		return meta.FindStatusCondition(class.Status.Conditions, samplecrdv1.NetworkClassConditionReady)
	}
}

func (w *world) classGone(name string) func() bool {
	return func() bool {
		return apierrors.IsNotFound(w.Client.Get(ctx, client.ObjectKey{Name: name}, &samplecrdv1.NetworkClass{}))
	}
}

var _ = Describe("The class of a Network", func() {
	It("is waited for when it is missing, and taken up by itself when it comes", func() {
		w := onMemory()
		w.Network("a", "10.0.0.0/24", builders.OfClass("late"))
		Eventually(w.Of("a")).Should(beRefused(samplecrdv1.NetworkReasonClassNotFound, false))
		Expect(matchers.Message(w.Get("a"), ready)).To(ContainSubstring(`"late"`))
		settled()
		Expect(w.backend.Calls("Ensure")).To(BeZero())
		w.newClass(func(class *samplecrdv1.NetworkClass) { class.GenerateName, class.Name = "", "late" })
		Eventually(w.Of("a")).Should(matchers.BeReady())
	})

	It("is the default one for a Network stored without, given later, once, with the finalizer", func() {
		w := onMemory()
		seen := w.record()
		w.Network("a", "10.0.0.0/24", builders.OfClass(""))
		Eventually(w.Of("a")).Should(beRefused(samplecrdv1.NetworkReasonClassNotFound, false))
		class := w.newClass(isDefault)
		Eventually(w.Of("a")).Should(matchers.BeReady())
		for _, version := range seen.of("a") {
			if version.Spec.NetworkClassName == "" {
				Expect(&version).NotTo(matchers.BeHeld())
			} else {
				Expect(version.Spec.NetworkClassName).To(Equal(class.Name))
				Expect(&version).To(matchers.BeHeld())
			}
		}

		Expect(w.Client.Delete(ctx, class)).To(Succeed())
		w.newClass(isDefault)
		Eventually(w.classCondition(class.Name)).Should(HaveField("Reason", samplecrdv1.NetworkClassReasonInUse))
		w.touch("a")
		settled()
		Expect(w.Get("a")).To(And(matchers.BeReady(), HaveField("Spec.NetworkClassName", class.Name)), "the one that it was given")
	})

	It("is given to one of two that overlap and name none, and the webhooks let the controller do it", func() {
		w := onMultus()
		for _, name := range []string{"a", "b"} {
			w.Network(name, "10.0.0.0/24", builders.OfClass(""))
		}
		for _, name := range []string{"a", "b"} {
			Eventually(w.Of(name)).Should(beRefused(samplecrdv1.NetworkReasonClassNotFound, false))
		}
		class := w.newClass(isDefault)
		verdicts := func(g Gomega) map[string]int {
			all := map[string]int{}
			for _, name := range []string{"a", "b"} {
				all[matchers.Verdict(w.Of(name)(g))]++
			}
			return all
		}
		Eventually(verdicts).Should(Equal(map[string]int{matchers.Current: 1, matchers.Failed: 1}))
		winner, loser := "a", "b"
		if matchers.Verdict(w.Get("b")) == matchers.Current {
			winner, loser = loser, winner
		}
		Expect(w.Get(winner).Spec.NetworkClassName).To(Equal(class.Name))
		w.Remove(winner)
		Eventually(w.Of(loser)).Should(And(matchers.BeReady(), HaveField("Spec.NetworkClassName", class.Name)))
	})

	It("becomes the default one by an annotation that comes later", func() {
		w := onMemory()
		w.Network("a", "10.0.0.0/24", builders.OfClass(""))
		Eventually(w.Of("a")).Should(beRefused(samplecrdv1.NetworkReasonClassNotFound, false))
		class := &samplecrdv1.NetworkClass{}
		Expect(w.Client.Get(ctx, client.ObjectKey{Name: w.Class}, class)).To(Succeed())
		before := class.DeepCopy()
		isDefault(class)
		Expect(w.Client.Patch(ctx, class, client.MergeFrom(before))).To(Succeed())
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), HaveField("Spec.NetworkClassName", w.Class)))
	})

	It("is the older of two default ones", func() {
		w := newWorld(bare)
		older := w.newClass(isDefault)
		Eventually(func(g Gomega) {
			// A class that would be younger by a second, without making one.
			probe := older.DeepCopy()
			probe.ObjectMeta = metav1.ObjectMeta{GenerateName: "probe-"}
			g.Expect(w.Client.Create(ctx, probe, client.DryRunAll)).To(Succeed())
			g.Expect(older.CreationTimestamp.Before(&probe.CreationTimestamp)).To(BeTrue())
		}).Should(Succeed())
		w.newClass(isDefault, func(class *samplecrdv1.NetworkClass) { class.GenerateName = "a-first-by-name-" })
		w.Network("a", "10.0.0.0/24", builders.OfClass(""))
		w.startOnMemory()
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), HaveField("Spec.NetworkClassName", older.Name)))
	})

	It("that is deleted under a running Network stays for it, and lets it change and go", func() {
		w := onMemory()
		created := w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Expect(w.Client.Delete(ctx, &samplecrdv1.NetworkClass{ObjectMeta: metav1.ObjectMeta{Name: w.Class}})).To(Succeed())
		Eventually(w.classCondition(w.Class)).Should(HaveField("Reason", samplecrdv1.NetworkClassReasonInUse))
		settled()
		Expect(w.Get("a")).To(matchers.BeReady())

		w.Change("a", builders.Gateway("10.0.0.7"))
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Expect(w.backend.Networks()[created.UID].Subnets[0].Gateway.String()).To(Equal("10.0.0.7"))
		w.Remove("a")
		Eventually(w.Gone("a")).Should(BeTrue())
		Expect(w.backend.Networks()).To(BeEmpty())
		Eventually(w.classGone(w.Class)).Should(BeTrue())
	})

	It("that is being deleted takes no new Network, and is waited for when it has gone", func() {
		w := onMemory()
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		Expect(w.Client.Delete(ctx, &samplecrdv1.NetworkClass{ObjectMeta: metav1.ObjectMeta{Name: w.Class}})).To(Succeed())
		Eventually(w.classCondition(w.Class)).Should(HaveField("Reason", samplecrdv1.NetworkClassReasonInUse))
		w.Network("b", "10.1.0.0/24")
		Eventually(w.Of("b")).Should(beRefused(samplecrdv1.NetworkReasonNotAllowed, true))
		Expect(matchers.Message(w.Get("b"), ready)).To(ContainSubstring("is being deleted"))

		w.Remove("a")
		Eventually(w.Gone("a")).Should(BeTrue())
		Consistently(w.classGone(w.Class)).Should(BeFalse(), "the other Network names it")
		w.Change("b", func(network *samplecrdv1.Network) { network.Spec.NetworkClassName = "late" })
		Eventually(w.classGone(w.Class)).Should(BeTrue())
		Eventually(w.Of("b")).Should(beRefused(samplecrdv1.NetworkReasonClassNotFound, false))
		w.newClass(func(class *samplecrdv1.NetworkClass) { class.GenerateName, class.Name = "", "late" })
		Eventually(w.Of("b")).Should(matchers.BeReady())
	})

	It("says itself whether it can be used", func() {
		w := onMemory()
		Eventually(w.classCondition(w.Class)).Should(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", "Ready")))
		w.stop()
		w.start(withoutProviders)
		other := w.newClass()
		Eventually(w.classCondition(other.Name)).Should(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", "Unsupported")))
	})
})
