package foo

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

var _ = Describe("CF-15: long names", func() {
	// able waits until a Foo has its Deployment, and says which Pods that selects.
	able := func(w *world, foo, deployment string) labels.Selector {
		GinkgoHelper()
		Eventually(w.of(foo)).Should(And(beReady(), speakOf(deployment), count(1, 1)))
		Eventually(w.events(foo)).Should(ContainElement("Normal Synced"))
		made := w.deployment(deployment)
		selector, err := labels.Parse(*w.get(foo).Status.Selector)
		Expect(err).NotTo(HaveOccurred())
		written, err := metav1.LabelSelectorAsSelector(made.Spec.Selector)
		Expect(err).NotTo(HaveOccurred())
		Expect(selector.String()).To(Equal(written.String()))
		Expect(selector.Matches(labelsOf(made))).To(BeTrue())
		return selector
	}

	It("of 70 characters are shortened, and kept apart where they begin alike", func() {
		w := onWhole()
		w.play()
		name := strings.Repeat("long-name-", 6) + "long-name"
		one, other := name+"1", name+"2"
		Expect(one).To(HaveLen(70))
		w.foo(one, "short")
		w.foo(other, "also-short")
		first, second := able(w, one, "short"), able(w, other, "also-short")
		Expect(first.Matches(labelsOf(w.deployment("also-short")))).To(BeFalse())
		Expect(second.Matches(labelsOf(w.deployment("short")))).To(BeFalse())
	})

	It("of one Foo's Deployments are kept apart as well", func() {
		w := onWhole()
		old, renamed := strings.Repeat("d", 64)+"-old", strings.Repeat("d", 64)+"-new"
		foo := w.foo("a", old)
		w.made(foo, old)
		w.change("a", naming(renamed))
		w.made(foo, renamed)
		selector, err := metav1.LabelSelectorAsSelector(w.deployment(old).Spec.Selector)
		Expect(err).NotTo(HaveOccurred())
		Expect(selector.Matches(labelsOf(w.deployment(renamed)))).To(BeFalse())
	})

	It("may be as long as names can be", func() {
		w := onWhole()
		w.play()
		name := strings.Repeat("f", 253)
		deployment := strings.Repeat(strings.Repeat("d", 60)+".", 3) + strings.Repeat("d", 59)
		Expect(deployment).To(HaveLen(242), "with the suffix of a ReplicaSet: 253")
		w.foo(name, deployment)
		able(w, name, deployment)
		longest := deployment + "." + strings.Repeat("d", 10)
		Expect(longest).To(HaveLen(253), "too long for a ReplicaSet, and yet a legal name")
		w.change(name, naming(longest))
		able(w, name, longest)
		w.change(name, naming("short"))
		able(w, name, "short")
		Eventually(w.names).Should(ConsistOf("short"))
		w.foreign("web")
		w.change(name, naming("web"))
		Eventually(w.events(name)).Should(ContainElement("Warning ErrResourceExists"))
	})
})
