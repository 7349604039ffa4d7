package foo

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/test/env"
)

var _ = Describe("Two Foos with one deploymentName", func() {
	var (
		w              *world
		older, younger *samplev1alpha1.Foo
	)

	// The older one has the name that sorts last: age has to count first.
	both := func() {
		GinkgoHelper()
		older = w.foo("older", "web", replicas(2))
		// The API server keeps times in whole seconds.
		Eventually(func() bool { return time.Now().After(older.CreationTimestamp.Add(time.Second)) }).Should(BeTrue())
		younger = w.foo("a-younger", "web", replicas(3))
	}

	It("leave it to the older one, whoever is looked at first", func() {
		w = newWorld(bare)
		both()
		w.start(env.ManagerOptions{Controllers: true})
		w.play()
		w.made(older, "web")
		Eventually(w.of("older")).Should(And(beReady(), count(2, 2)))
		Eventually(w.of("a-younger")).Should(And(beStalled(samplev1alpha1.FooReasonResourceExists), count(0, 0), say(`Resource "web"`)))
		w.touch("a-younger")
		Expect(w.deployment("web")).To(And(beOf(older), HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(2)))))
		Expect(w.names(Default)).To(ConsistOf("web"))
	})

	Context("where the older one has made it", func() {
		BeforeEach(func() {
			w = onBare()
			w.play()
			both()
			Eventually(w.of("older")).Should(beReady())
			Eventually(w.of("a-younger")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
		})

		It("hand it on when that one is deleted", func() {
			before := w.deployment("web")
			w.remove("older")
			Eventually(w.deploymentOf("web")).Should(And(beOf(younger), HaveField("UID", Not(Equal(before.UID)))))
			Eventually(w.of("a-younger")).Should(And(beReady(), haveNo(stalled), count(3, 3)))
		})

		It("hand it on when that one takes another name", func() {
			w.change("older", naming("other"))
			Eventually(w.deploymentOf("web")).Should(beOf(younger))
			Eventually(w.of("a-younger")).Should(And(beReady(), haveNo(stalled), speakOf("web"), count(3, 3)))
			Eventually(w.of("older")).Should(And(beReady(), speakOf("other"), count(2, 2)))
			Expect(w.names(Default)).To(ConsistOf("other", "web"))
		})

		It("leave it where it is, also when it is deleted", func() {
			w.removeDeployment("web")
			Eventually(w.deploymentOf("web")).Should(beOf(older))
			settled()
			Expect(w.get("a-younger")).To(beStalled(samplev1alpha1.FooReasonResourceExists))
		})
	})

	It("leave it to the one that has it, even if that is the younger", func() {
		w = onBare()
		w.play()
		older = w.foo("older", "other")
		Eventually(w.of("older")).Should(beReady())
		younger = w.foo("a-younger", "web")
		Eventually(w.of("a-younger")).Should(beReady())
		w.change("older", naming("web"))
		Eventually(w.of("older")).Should(And(beStalled(samplev1alpha1.FooReasonResourceExists), speakOf("other"), say("Deployment other stays meanwhile")))
		settled()
		Expect(w.deployment("web")).To(beOf(younger))
		Expect(w.get("a-younger")).To(beReady())
		Expect(w.deployment("other")).To(beOf(older))
	})

	It("do not wait for one that is itself refused, or being deleted", func() {
		w = onBare()
		w.play()
		w.foo("a-refused", "web", replicas(-1))
		Eventually(w.of("a-refused")).Should(beStalled(samplev1alpha1.FooReasonInvalid))
		leaving := w.foo("b-leaving", "web", func(foo *samplev1alpha1.Foo) { foo.Finalizers = []string{hold} })
		Eventually(w.of("b-leaving")).Should(beReady())
		w.remove("b-leaving")
		Expect(w.get("b-leaving").DeletionTimestamp).NotTo(BeNil())
		younger = w.foo("younger", "web")
		w.made(younger, "web")
		Eventually(w.of("younger")).Should(beReady())
		Expect(w.deployment("web")).NotTo(beOf(leaving))
	})

	DescribeTable("tell whom they wait for, while there is no Deployment, until", func(leave func()) {
		w = onBare()
		w.play()
		older = w.foo("a-older", "web", madeFrom("missing"))
		Eventually(w.of("a-older")).Should(beWaiting(samplev1alpha1.FooReasonTemplateNotFound))
		younger = w.foo("younger", "web")
		Eventually(w.of("younger")).Should(And(beStalled(samplev1alpha1.FooReasonResourceExists), say("is left to Foo a-older, which is older")))
		Expect(w.names(Default)).To(BeEmpty())
		leave()
		w.made(younger, "web")
		Eventually(w.of("younger")).Should(beReady())
	},
		Entry("that one is deleted", func() { w.remove("a-older") }),
		Entry("that one takes another name", func() { w.change("a-older", naming("other")) }),
		Entry("that one is refused", func() { w.change("a-older", replicas(-1)) }),
	)

	It("are not rivals in two namespaces", func() {
		w = onBare()
		w.play()
		elsewhere := inNamespace(bare)
		elsewhere.play()
		w.foo("one", "web")
		elsewhere.foo("one", "web")
		Eventually(w.of("one")).Should(beReady())
		Eventually(elsewhere.of("one")).Should(beReady())
	})
})
