package foo

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// twin is the Deployment that a call is about to make, as somebody else makes it:
// without owner.
func twin(c call, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	GinkgoHelper()
	text, err := json.Marshal(c.object)
	Expect(err).NotTo(HaveOccurred())
	deployment := &appsv1.Deployment{}
	Expect(json.Unmarshal(text, deployment)).To(Succeed())
	deployment = stripped(deployment)
	for _, change := range changes {
		change(deployment)
	}
	return deployment
}

func bigger(deployment *appsv1.Deployment) { deployment.Spec.Replicas = new(int32(3)) }

func offered(deployment *appsv1.Deployment) {
	metav1.SetMetaDataAnnotation(&deployment.ObjectMeta, samplev1alpha1.AnnotationAdoptBy, "a")
}

var _ = Describe("Between the look of a pass and its write", func() {
	var (
		w *world
		p *proxy
		// web is the Deployment that is somebody else's by now.
		web *appsv1.Deployment
	)

	BeforeEach(func() {
		w, p, web = newWorld(bare), &proxy{}, nil
		w.start(p.runs())
	})

	// untouched is that web stays as it is, and that the Foo says why.
	untouched := func() {
		GinkgoHelper()
		Eventually(w.of("a")).Should(And(beStalled(samplev1alpha1.FooReasonResourceExists), count(0, 0)))
		Eventually(w.events("a")).Should(ContainElement("Warning ErrResourceExists"))
		settled()
		Expect(w.deployment("web")).To(Equal(web))
		Expect(w.events("a")(Default)).NotTo(ContainElement("Warning Rejected"), "nobody refused what we ask for")
	}

	DescribeTable("a Deployment that somebody makes first is left alone", func(made func(c call) *appsv1.Deployment) {
		p.before("apply web", func(c call) {
			w.create(made(c))
			web = w.deployment("web")
		})
		w.foo("a", "web")
		untouched()
		Expect(w.events("a")(Default)).To(Equal([]string{"Warning ErrResourceExists"}))
	},
		Entry("with a selector of its own", func(call) *appsv1.Deployment { return strange("web") }),
		Entry("with a selector of its own and another controller", func(call) *appsv1.Deployment { return strange("web", owned) }),
		Entry("with our selector and other values", func(c call) *appsv1.Deployment { return twin(c, bigger) }),
		Entry("with our selector and the very values", func(c call) *appsv1.Deployment { return twin(c) }),
		Entry("with our selector, the very values and another controller", func(c call) *appsv1.Deployment { return twin(c, owned) }),
	)

	DescribeTable("a Deployment that is restored and offered is taken over", func(changes ...func(*appsv1.Deployment)) {
		var uid types.UID
		p.before("apply web", func(c call) {
			w.create(twin(c, append(changes, offered)...))
			uid = w.deployment("web").UID
		})
		w.play()
		foo := w.foo("a", "web", replicas(1))
		Eventually(w.of("a")).Should(And(beReady(), count(1, 1)))
		Expect(w.deployment("web")).To(And(beOf(foo), HaveField("UID", uid), HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(1)))))
	},
		Entry("with the very values"),
		Entry("with other values", bigger),
	)

	Context("once the Foo has its Deployment", func() {
		var foo *samplev1alpha1.Foo

		BeforeEach(func() {
			foo = w.foo("a", "web", replicas(1))
			w.made(foo, "web")
			w.report("web")
			Eventually(w.of("a")).Should(beReady())
			settled()
		})

		DescribeTable("one that takes its place is left alone", func(other func(c call) *appsv1.Deployment) {
			p.before("apply web", func(c call) {
				w.removeDeployment("web")
				w.create(other(c))
				web = w.deployment("web")
			})
			w.change("a", replicas(2))
			untouched()
		},
			Entry("with a selector of its own", func(call) *appsv1.Deployment { return strange("web") }),
			Entry("with a selector of its own and another controller", func(call) *appsv1.Deployment { return strange("web", owned) }),
			Entry("with our selector and other values", func(c call) *appsv1.Deployment { return twin(c, bigger) }),
			Entry("with our selector and the very values", func(c call) *appsv1.Deployment { return twin(c) }),
		)

		It("one that has just gone is made anew, as a first one", func() {
			before := w.deployment("web")
			p.before("apply web", func(call) { w.removeDeployment("web") })
			w.change("a", replicas(2))
			Eventually(w.deploymentOf("web")).Should(And(
				beOf(foo), Not(HaveField("UID", before.UID)), HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(2)))))
		})

		It("one that gets another controller is left to it", func() {
			p.before("apply web", func(call) { web = w.changeDeployment("web", owned) })
			w.change("a", replicas(2))
			untouched()
		})

		It("what others have written of it meanwhile is brought back, by force", func() {
			p.before("apply web", func(call) {
				w.changeDeployment("web", func(deployment *appsv1.Deployment) { deployment.Spec.Replicas = new(int32(7)) })
			})
			w.change("a", replicas(2))
			Eventually(w.deploymentOf("web")).Should(HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(2))))
			w.report("web")
			Eventually(w.of("a")).Should(And(beReady(), count(2, 2)))
		})

		DescribeTable("the old one is not deleted when it", func(becomes func()) {
			p.before("delete web", func(call) {
				becomes()
				web = w.deployment("web")
			})
			w.change("a", naming("new"))
			w.made(foo, "new")
			w.report("new")
			Eventually(w.of("a")).Should(And(beReady(), speakOf("new"), say(Not(ContainSubstring("web")))))
			settled()
			Expect(w.deployment("web")).To(Equal(web))
			Expect(p.calls("delete")).To(HaveLen(1), "the first was refused, and the next look told why")
			Expect(w.names(Default)).To(ConsistOf("web", "new"))
		},
			Entry("becomes somebody else's", func() { w.changeDeployment("web", owned) }),
			Entry("becomes nobody's", func() {
				w.changeDeployment("web", func(deployment *appsv1.Deployment) { deployment.OwnerReferences = nil })
			}),
			Entry("has been replaced by another", func() {
				w.removeDeployment("web")
				w.create(strange("web"))
			}),
		)

		It("the old one is deleted at the next look when it only has another status", func() {
			p.before("delete web", func(call) {
				w.report("web", func(status *appsv1.DeploymentStatus) { status.AvailableReplicas = 0 })
			})
			w.change("a", naming("new"))
			w.made(foo, "new")
			w.report("new")
			Eventually(w.names).Should(ConsistOf("new"))
			Eventually(w.of("a")).Should(And(beReady(), speakOf("new")))
		})
	})
})
