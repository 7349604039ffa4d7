package controller

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/builders"
	"github.com/samplecrd/samplecrd/test/matchers"
	"github.com/samplecrd/samplecrd/test/metrics"
)

const leaving = "Being deleted; Networks still use it and new ones are refused"

// storedClass reads a class, for Eventually and Consistently.
func (w *world) storedClass(name string) func(Gomega) *samplecrdv1.NetworkClass {
	return func(g Gomega) *samplecrdv1.NetworkClass {
		class := &samplecrdv1.NetworkClass{}
		g.Expect(w.Client.Get(ctx, client.ObjectKey{Name: name}, class)).To(Succeed())
		return class
	}
}

func (w *world) deleteClass(name string) {
	GinkgoHelper()
	Expect(w.Client.Delete(ctx, &samplecrdv1.NetworkClass{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
}

// heldClass makes a class and returns when the controller holds it.
func (w *world) heldClass(changes ...func(*samplecrdv1.NetworkClass)) string {
	GinkgoHelper()
	name := w.newClass(changes...).Name
	Eventually(w.storedClass(name)).Should(HaveField("Finalizers", ContainElement(samplecrdv1.NetworkClassFinalizer)))
	return name
}

// elsewhere makes a Network in a namespace of its own, which goes with the spec.
func (w *world) elsewhere(class string) *samplecrdv1.Network {
	GinkgoHelper()
	network := w.Draft("secret-tenant", "10.0.0.0/24", builders.OfClass(class))
	network.Namespace = builders.NewPlace(w.Client, "spec-").Namespace
	Expect(w.Client.Create(ctx, network)).To(Succeed())
	DeferCleanup(func() { Expect(client.IgnoreNotFound(w.Client.Delete(ctx, network))).To(Succeed()) })
	return network
}

var _ = Describe("A NetworkClass", func() {
	It("is held from the first look, and goes at once when no Network names it", func() {
		w := onMemory()
		name := w.heldClass()
		w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		w.deleteClass(name)
		Eventually(w.classGone(name)).Should(BeTrue())
	})

	It("stays while Networks name it, in any namespace, and goes with the last one", func() {
		w := onMemory()
		name := w.heldClass()
		w.Network("a", "10.0.0.0/24", builders.OfClass(name))
		Eventually(w.Of("a")).Should(matchers.BeReady())
		other := w.elsewhere(name)
		w.deleteClass(name)

		Eventually(w.classCondition(name)).Should(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", "InUse"),
			HaveField("Message", HavePrefix(leaving))))
		version := w.storedClass(name)(Default).ResourceVersion
		w.Remove("a")
		Eventually(w.Gone("a")).Should(BeTrue())
		Consistently(w.storedClass(name)).Should(HaveField("ResourceVersion", version), "fewer Networks are no news")
		Expect(w.Client.Delete(ctx, other)).To(Succeed())
		Eventually(w.classGone(name)).Should(BeTrue())
	})

	It("stays for a Network that was refused, and for one that is being deleted", func() {
		w := onMemory()
		name := w.heldClass()
		w.Network("bad", "nonsense", builders.OfClass(name))
		Eventually(w.Of("bad")).Should(beRefused(samplecrdv1.NetworkReasonInvalid, true))
		w.Network("going", "10.0.0.0/24", builders.OfClass(name), func(network *samplecrdv1.Network) { network.Finalizers = []string{foreignFinalizer} })
		w.Remove("going")
		w.deleteClass(name)
		Eventually(w.classCondition(name)).Should(HaveField("Reason", "InUse"))
		w.Remove("bad")
		Eventually(w.Gone("bad")).Should(BeTrue())
		Consistently(w.classGone(name)).Should(BeFalse())
		w.Change("going", func(network *samplecrdv1.Network) { network.Finalizers = nil })
		Eventually(w.classGone(name)).Should(BeTrue())
	})

	It("whose Networks went while no controller ran goes when one runs again", func() {
		w := onMemory()
		name := w.heldClass()
		w.Network("bad", "nonsense", builders.OfClass(name))
		Eventually(w.Of("bad")).Should(beRefused(samplecrdv1.NetworkReasonInvalid, true))
		w.stop()
		w.deleteClass(name)
		w.Remove("bad")
		Eventually(w.Gone("bad")).Should(BeTrue())
		Expect(w.classGone(name)()).To(BeFalse(), "nobody lets it go")
		w.startOnMemory()
		Eventually(w.classGone(name)).Should(BeTrue())
	})

	It("that was deleted before a controller saw it is none of our business", func() {
		w := newWorld(bare)
		w.Network("a", "10.0.0.0/24")
		w.deleteClass(w.Class)
		Expect(w.classGone(w.Class)()).To(BeTrue())
		w.startOnMemory()
		Eventually(w.Of("a")).Should(beRefused(samplecrdv1.NetworkReasonClassNotFound, false))
	})

	It("keeps the finalizers of others, and gets ours again when somebody takes it off", func() {
		w := onMemory()
		name := w.heldClass(func(class *samplecrdv1.NetworkClass) { class.Finalizers = []string{foreignFinalizer} })
		both := ConsistOf(foreignFinalizer, samplecrdv1.NetworkClassFinalizer)
		Expect(w.storedClass(name)(Default).Finalizers).To(both)
		w.changeClass(name, func(class *samplecrdv1.NetworkClass) { class.Finalizers = []string{foreignFinalizer} })
		Eventually(w.storedClass(name)).Should(HaveField("Finalizers", both))
		w.deleteClass(name)
		Eventually(w.storedClass(name)).Should(HaveField("Finalizers", ConsistOf(foreignFinalizer)))
		w.changeClass(name, func(class *samplecrdv1.NetworkClass) { class.Finalizers = nil })
		Eventually(w.classGone(name)).Should(BeTrue())
	})

	It("of a policy with faults says so, allows nothing by it, and is taken up when it is mended", func() {
		w := onMemory()
		name := w.heldClass(func(class *samplecrdv1.NetworkClass) {
			class.Spec.AllowedCIDRs = []string{"ten/8"}
			class.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "?"}}
		})
		Eventually(w.classCondition(name)).Should(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", "Invalid"),
			HaveField("Message", And(ContainSubstring(`spec.allowedCIDRs[0]: Invalid value: "ten/8"`), ContainSubstring("spec.namespaceSelector.matchLabels")))))
		w.Network("a", "10.0.0.0/24", builders.OfClass(name))
		Eventually(w.Of("a")).Should(beRefused(samplecrdv1.NetworkReasonNotAllowed, true))
		w.changeClass(name, func(class *samplecrdv1.NetworkClass) {
			class.Spec.AllowedCIDRs, class.Spec.NamespaceSelector = []string{"10.0.0.0/8"}, nil
		})
		Eventually(w.classCondition(name)).Should(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", "Ready")))
		Eventually(w.Of("a")).Should(matchers.BeReady())
	})

	It("costs two writes when it comes, and none at rest", func() {
		w := onMemory()
		w.heldClass()
		Expect(metrics.Settle(ctx, "networkclass", 250*time.Millisecond)).To(Succeed())
		before := writes(Default, w.Env)
		for i := range 5 {
			name := fmt.Sprintf("counted-%d", i)
			w.newClass(func(class *samplecrdv1.NetworkClass) { class.GenerateName, class.Name = "", name })
			Eventually(w.classCondition(name)).ShouldNot(BeNil())
		}
		Expect(metrics.Settle(ctx, "networkclass", 250*time.Millisecond)).To(Succeed())
		want := metrics.Requests{"POST networkclasses 201": 5, "PATCH networkclasses 200": 5, "PATCH networkclasses/status 200": 5}
		Consistently(writesSince(w.Env, before)).Should(Equal(want))
	})

	It("that is being deleted takes no new Networks at admission, and lets those that there are change", func() {
		w := onMultus()
		name := w.heldClass()
		w.Network("a", "10.0.0.0/24", builders.OfClass(name))
		Eventually(w.Of("a")).Should(matchers.BeReady())
		w.deleteClass(name)
		Eventually(w.classCondition(name)).Should(HaveField("Reason", "InUse"))
		late := w.Draft("late", "10.1.0.0/24", builders.OfClass(name))
		Eventually(func() error { return w.Client.Create(ctx, late.DeepCopy(), client.DryRunAll) }).Should(
			And(MatchError(apierrors.IsInvalid, "IsInvalid"), MatchError(ContainSubstring("is being deleted; create the Network in another class"))))
		w.Change("a", builders.Gateway("10.0.0.9"))
		Eventually(w.Of("a")).Should(matchers.BeReady())
		w.Remove("a")
		Eventually(w.Gone("a")).Should(BeTrue())
		Eventually(w.classGone(name)).Should(BeTrue())
	})
})

// changeClass patches a class.
func (w *world) changeClass(name string, change func(*samplecrdv1.NetworkClass)) {
	GinkgoHelper()
	class := w.storedClass(name)(Default)
	before := class.DeepCopy()
	change(class)
	Expect(w.Client.Patch(ctx, class, client.MergeFrom(before))).To(Succeed())
}
