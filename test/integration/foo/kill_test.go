package foo

import (
	"errors"
	"fmt"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/test/env"
)

// mortal is a world whose manager dies at one of its calls. The next one lives.
type mortal struct {
	*world
	proxy proxy
	// at is the number of the call, and arrives says that the API server still gets
	// it. Nothing gets through after it.
	at      int
	arrives bool
	// meanwhile is what others do while a call is under way.
	meanwhile func(c call)
	// bystanders are Deployments of others, as they have to stay.
	bystanders map[string]appsv1.Deployment

	mu             sync.Mutex
	calls          int
	died, replaced bool
}

// errKilled is all that a dead manager hears.
var errKilled = errors.New("connection reset by peer")

// arm begins to count the calls.
func (m *mortal) arm() {
	settled()
	m.proxy.on(func(c call) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.died {
			return errKilled
		}
		m.meanwhile(c)
		m.calls++
		m.died = m.calls == m.at
		if !m.died {
			return c.send()
		}
		if m.arrives {
			_ = c.send() // Nobody hears the answer.
		}
		return errKilled
	})
}

func (m *mortal) dead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.died
}

// bury stops a manager that has died, and starts the next.
func (m *mortal) bury() {
	if m.replaced || !m.dead() {
		return
	}
	m.replaced = true
	m.stop()
	passes := reconciles()
	m.start(env.ManagerOptions{Controllers: true})
	Eventually(reconciles).Should(BeNumerically(">", passes))
	settled()
}

// until waits, as Eventually does, and sees to it that a manager lives.
func until[T any](m *mortal, actual func(Gomega) T, matcher OmegaMatcher) {
	GinkgoHelper()
	Eventually(func(g Gomega) T {
		m.bury()
		return actual(g)
	}).Should(matcher)
}

// keep has a Deployment have to stay as it is.
func (m *mortal) keep(name string) { m.bystanders[name] = *m.deployment(name) }

// stranger makes a Deployment that has to stay as it is.
func (m *mortal) stranger(name string, changes ...func(*appsv1.Deployment)) {
	GinkgoHelper()
	m.create(strange(name, changes...))
	m.report(name)
	m.keep(name)
}

// strange is a Deployment as others make them.
func strange(name string, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	deployment.Spec.Replicas = new(int32(3))
	deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	deployment.Spec.Template.Labels = labels
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "registry.example/web"}}
	for _, change := range changes {
		change(deployment)
	}
	return deployment
}

// owned gives a Deployment to another controller.
func owned(deployment *appsv1.Deployment) {
	deployment.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "example.com/v1", Kind: "Web", Name: "web", UID: types.UID("8a3ff6a0-0000-4000-8000-000000000000"), Controller: new(true),
	}}
}

// atEachCall kills the manager at call 1, 2, … of a flow, until the flow has fewer
// calls. It always has to end with the Deployment new, which the Foo a made, and
// with everything else as it was.
func atEachCall(least int, arrives bool, flow func(m *mortal)) {
	GinkgoHelper()
	w := newWorld(bare)
	w.play()
	for at := 1; ; at++ {
		By(fmt.Sprintf("killing the manager at call %d", at))
		m := &mortal{world: w, at: at, arrives: arrives, meanwhile: func(call) {}, bystanders: map[string]appsv1.Deployment{}}
		m.stranger("beside")
		m.stranger("beside-owned", owned)
		m.start(m.proxy.runs())
		flow(m)

		settled()
		m.bury() // It may have died of the flow's last call.
		foo := m.get("a")
		Expect(foo).To(And(beReady(), speakOf("new"), count(1, 1), haveNo(stalled)))
		Expect(m.deployment("new")).To(beOf(foo))
		Expect(m.names(Default)).To(HaveLen(1 + len(m.bystanders)))
		for name, before := range m.bystanders {
			Expect(*m.deployment(name)).To(Equal(before))
		}
		m.stop()
		m.clear()
		if !m.dead() {
			Expect(m.calls).To(And(BeNumerically("<", at), BeNumerically(">=", least)), "the flow's calls: %v", m.proxy.calls(""))
			return
		}
	}
}

var _ = Describe("A manager that is killed at any call", func() {
	table := func(arrives bool) {
		DescribeTable("loses and leaves nothing", func(least int, flow func(m *mortal)) {
			atEachCall(least, arrives, flow)
		},
			Entry("while it makes a Deployment", 3, func(m *mortal) {
				m.arm()
				m.foo("a", "new")
				until(m, m.of("a"), beReady())
			}),
			Entry("while it takes over a restored Deployment", 3, func(m *mortal) {
				restored := stripped(m.made(m.foo("a", "new"), "new"))
				m.remove("a")
				restored.Annotations = map[string]string{samplev1alpha1.AnnotationAdoptBy: "a"}
				m.create(restored)
				m.arm()
				m.foo("a", "new")
				until(m, m.of("a"), beReady())
				Expect(m.deployment("new").UID).To(Equal(restored.UID))
			}),
			Entry("CF-01: while it follows a change of deploymentName", 4, func(m *mortal) {
				m.foo("a", "old")
				Eventually(m.of("a")).Should(beReady())
				m.arm()
				m.change("a", naming("new"))
				until(m, m.of("a"), And(beReady(), speakOf("new")))
				until(m, m.names, Not(ContainElement("old")))
			}),
			Entry("CF-01: while it leaves a name that has become somebody else's", 3, func(m *mortal) {
				m.foo("a", "old")
				Eventually(m.of("a")).Should(beReady())
				m.changeDeployment("old", owned)
				Eventually(m.of("a")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
				m.keep("old")
				m.arm()
				m.change("a", naming("new"))
				until(m, m.of("a"), And(beReady(), speakOf("new")))
			}),
			Entry("CF-01: while somebody else takes the new name, until it is free again", 6, func(m *mortal) {
				m.foo("a", "old")
				Eventually(m.of("a")).Should(beReady())
				var comes sync.Once
				m.meanwhile = func(c call) {
					if c.text == "apply new" {
						comes.Do(func() { m.stranger("new") })
					}
				}
				m.arm()
				m.change("a", naming("new"))
				until(m, m.of("a"), And(beStalled(samplev1alpha1.FooReasonResourceExists), speakOf("old")))
				settled()
				Expect(*m.deployment("new")).To(Equal(m.bystanders["new"]))
				delete(m.bystanders, "new")
				Expect(m.names(Default)).To(ContainElement("old"))
				m.removeDeployment("new")
				until(m, m.of("a"), And(beReady(), speakOf("new")))
				until(m, m.names, Not(ContainElement("old")))
			}),
		)
	}
	Context("whose last call the API server still gets", func() { table(true) })
	Context("whose last call is lost", func() { table(false) })

	It("does no harm when another one is at work at the same time, as after a lost lease", func() {
		w := newWorld(bare)
		first, second := &proxy{}, &proxy{}
		w.start(first.runs())
		w.start(second.runs())
		w.play()
		w.create(strange("taken"))
		w.report("taken")
		taken := w.deployment("taken")
		foo := w.foo("a", "old")
		w.foo("b", "taken")
		Eventually(w.of("a")).Should(beReady())
		old := w.deployment("old")
		w.change("a", naming("new"), replicas(3))
		Eventually(w.of("a")).Should(And(beReady(), speakOf("new"), count(3, 3)))
		Eventually(w.names).Should(ConsistOf("new", "taken"))
		Eventually(w.of("b")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
		settled()
		Expect(old).To(beOf(foo))
		Expect(w.deployment("new")).To(And(beOf(foo), HaveField("OwnerReferences", HaveLen(1))))
		Expect(w.deployment("taken")).To(Equal(taken))
		stored := w.everything(Default)
		Consistently(w.everything).Should(Equal(stored), "they do not write against each other")
	})
})
