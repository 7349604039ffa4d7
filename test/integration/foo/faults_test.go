package foo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/test/matchers"
)

var (
	deploymentKind = schema.GroupResource{Group: "apps", Resource: "deployments"}

	// port is another one in each answer of a connection that breaks.
	port atomic.Int32

	// answers are those after which a call may succeed, each under the name of the
	// Foo and the Deployment that get it.
	answers = map[string]func() error{
		"internal":    func() error { return apierrors.NewInternalError(errors.New("etcdserver: leader changed")) },
		"busy":        func() error { return apierrors.NewTooManyRequests("try again later", 1) },
		"timeout":     func() error { return apierrors.NewTimeoutError("the request took too long", 1) },
		"unavailable": func() error { return apierrors.NewServiceUnavailable("apiserver is shutting down") },
		"deadline":    func() error { return fmt.Errorf("patching: %w", context.DeadlineExceeded) },
		"refused":     func() error { return fmt.Errorf("dial tcp 127.0.0.1:6443: %w", syscall.ECONNREFUSED) },
		"different": func() error {
			return fmt.Errorf("read tcp 127.0.0.1:%d->127.0.0.1:6443: %w", port.Add(1), syscall.ECONNRESET)
		},
		conflict: func() error {
			return apierrors.NewConflict(deploymentKind, conflict, errors.New("the object has been modified"))
		},
	}
)

// conflict is the one among the answers that is no fault of the API server, and
// that the status does not speak of.
const conflict = "conflict"

// faults are the names of the other answers.
func faults() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(answers)), func(name string) bool { return name == conflict })
}

// fails has every such call fail, as its object's name says, and gives what ends
// that.
func (p *proxy) fails(verb string, with map[string]func() error) (heal func()) {
	p.on(func(c call) error {
		if name, is := strings.CutPrefix(c.text, verb+" "); is && with[name] != nil {
			return with[name]()
		}
		return c.send()
	})
	return func() { p.on(nil) }
}

var _ = Describe("An API server that fails", func() {
	var (
		w *world
		p *proxy
	)

	BeforeEach(func() {
		w, p = newWorld(bare), &proxy{}
		w.start(p.runs())
		w.play()
	})

	// retried is that each of the calls fails and comes again, later and later. A
	// fixed or absent pause would make dozens of them.
	retried := func(verb string) {
		GinkgoHelper()
		failures := reconcileErrors()
		for name := range answers {
			Eventually(p.count(verb+" "+name)).Should(BeNumerically(">=", 4), name)
		}
		Consistently(func() int {
			most := 0
			for name := range answers {
				most = max(most, p.count(verb+" "+name)())
			}
			return most
		}).WithTimeout(3 * time.Second).Should(BeNumerically("<=", 10))
		Expect(reconcileErrors()).To(BeNumerically(">", failures), "the metric tells")
	}

	It("is asked again with a growing pause for a Deployment, and the status tells", func() {
		heal := p.fails("apply", answers)
		for name := range answers {
			w.foo(name, name)
		}
		retried("apply")
		for _, name := range faults() {
			Expect(w.get(name)).To(And(beWaiting(samplev1alpha1.FooReasonBackendUnavailable), count(0, 0),
				say("Deployment "+name+" cannot be written: "), HaveField("Status.DeploymentName", BeNil())))
		}
		Expect(w.get("internal")).To(say("etcdserver: leader changed"))
		Expect(w.get(conflict)).To(WithTransform(matchers.Verdict, Equal(matchers.InProgress)))
		Expect(w.deployments(Default)).To(BeEmpty())

		heal()
		for name := range answers {
			Eventually(w.of(name)).Should(And(beReady(), count(1, 1), say(Not(ContainSubstring("cannot")))))
		}
		for _, name := range faults() {
			Eventually(w.events(name)).Should(ContainElement("Warning BackendUnavailable"))
			if name != "different" {
				Expect(p.calls("status "+name)).To(HaveLen(3), "unavailable, progressing, ready")
			}
		}
		Expect(w.events(conflict)(Default)).NotTo(ContainElement(HavePrefix("Warning")), "a conflict is no fault")
	})

	It("is asked again with a growing pause for a status, and the Deployment is made all the same", func() {
		heal := p.fails("status", answers)
		for name := range answers {
			w.foo(name, name)
		}
		retried("status")
		for name := range answers {
			Expect(p.calls("apply "+name)).To(HaveLen(1), "what is there is not made again")
			Expect(w.get(name).Status.Conditions).To(BeEmpty())
		}
		heal()
		for name := range answers {
			Eventually(w.of(name)).Should(And(beReady(), count(1, 1)))
			Eventually(w.events(name)).Should(ContainElement("Normal Synced"))
		}
	})

	It("is asked again with a growing pause to delete, and the status tells", func() {
		for name := range answers {
			w.foo("of-"+name, name)
			Eventually(w.of("of-" + name)).Should(beReady())
		}
		heal := p.fails("delete", answers)
		for name := range answers {
			w.change("of-"+name, naming("new-"+name))
		}
		retried("delete")
		for name := range answers {
			Expect(w.deployment(name)).To(beOf(w.get("of-" + name)))
			Expect(w.get("of-" + name)).To(And(speakOf("new-"+name), WithTransform(matchers.Verdict, Equal(matchers.InProgress))))
		}
		for _, name := range faults() {
			Expect(w.get("of-" + name)).To(And(beWaiting(samplev1alpha1.FooReasonBackendUnavailable),
				say("Deployment "+name+", which new-"+name+" has replaced, cannot be deleted")))
		}
		heal()
		for name := range answers {
			Eventually(w.of("of-" + name)).Should(And(beReady(), count(1, 1), say(Not(ContainSubstring("cannot")))))
			Eventually(w.gone(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}})).Should(BeTrue())
		}
	})

	It("does not make a Foo look done that is not: whatever fails, no generation is Ready before its time", func() {
		for name := range answers {
			w.foo(name, name, replicas(1))
			Eventually(w.of(name)).Should(beReady())
		}
		heal := p.fails("apply", answers)
		for name := range answers {
			w.change(name, replicas(2))
		}
		retried("apply")
		for name := range answers {
			Expect(w.get(name)).To(And(WithTransform(matchers.Verdict, Equal(matchers.InProgress)), count(1, 1)), name)
		}
		heal()
		for name := range answers {
			Eventually(w.of(name)).Should(And(beReady(), count(2, 2)))
		}
	})

	It("is not asked for more when it refuses: a quota stops the Foo, and only slowly it tries again", func() {
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}}
		quota.Spec.Hard = corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}
		w.create(quota)
		quota.Status.Hard = quota.Spec.Hard
		quota.Status.Used = corev1.ResourceList{"count/deployments.apps": resource.MustParse("0")}
		Expect(w.Client.Status().Update(ctx, quota)).To(Succeed())
		Eventually(func() bool {
			trial := strange("trial")
			trial.Namespace = w.namespace
			return apierrors.IsForbidden(w.Client.Create(ctx, trial, client.DryRunAll))
		}).Should(BeTrue(), "the API server knows of the quota")

		failures := reconcileErrors()
		w.foo("a", "web", replicas(1))
		Eventually(w.of("a")).Should(And(beStalled(samplev1alpha1.FooReasonRejected), say("exceeded quota: none"), count(0, 0)))
		Eventually(w.events("a")).Should(Equal([]string{"Warning Rejected"}))
		settled()
		tries := p.count("apply web")()
		Expect(tries).To(BeNumerically("<=", 2), "the event of the first try's status may come before its answer")
		Consistently(p.count("apply web")).WithTimeout(3 * time.Second).Should(Equal(tries))
		Expect(p.calls("status a")).To(HaveLen(1))
		Expect(reconcileErrors()).To(Equal(failures), "nothing to retry with back-off")

		Expect(w.Client.Delete(ctx, quota)).To(Succeed())
		Eventually(func() *samplev1alpha1.Foo {
			w.touch("a") // The slow retry is not awaited here.
			return w.get("a")
		}).Should(And(beReady(), haveNo(stalled)))
	})

	It("is not asked for more when it refuses to delete", func() {
		w.foo("a", "web")
		Eventually(w.of("a")).Should(beReady())
		heal := p.fails("delete", map[string]func() error{
			"web": func() error { return apierrors.NewForbidden(deploymentKind, "web", errors.New("held by a policy")) },
		})
		failures := reconcileErrors()
		w.change("a", naming("new"))
		Eventually(w.of("a")).Should(And(beStalled(samplev1alpha1.FooReasonRejected), speakOf("new"), say("held by a policy")))
		settled()
		tries := p.count("delete web")()
		Consistently(p.count("delete web")).WithTimeout(3 * time.Second).Should(Equal(tries))
		Expect(tries).To(BeNumerically("<=", 2))
		Expect(reconcileErrors()).To(Equal(failures))
		heal()
		w.touch("a")
		Eventually(w.of("a")).Should(And(beReady(), haveNo(stalled)))
		Expect(w.names(Default)).To(ConsistOf("new"))
	})

	It("makes no noise where the namespace is going away", func() {
		const foos = 10
		for i := range foos {
			w.foo(fmt.Sprintf("foo-%d", i), fmt.Sprintf("web-%d", i))
		}
		Eventually(w.verdicts).Should(Equal(map[string]int{matchers.Current: foos}))
		settled()
		Expect(w.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}})).To(Succeed())
		failures, applied, said := reconcileErrors(), p.count("apply")(), p.count("status")()
		Expect(w.Client.DeleteAllOf(ctx, &appsv1.Deployment{}, client.InNamespace(w.namespace))).To(Succeed())
		Eventually(p.count("apply")).Should(BeNumerically(">=", applied+foos), "one try each")
		settled()
		Consistently(p.count("apply")).Should(BeNumerically("<=", applied+2*foos))
		Expect(p.count("status")()).To(Equal(said))
		Expect(reconcileErrors()).To(Equal(failures))
		Expect(w.deployments(Default)).To(BeEmpty())
		for i := range foos {
			Expect(w.events(fmt.Sprintf("foo-%d", i))(Default)).NotTo(ContainElement(HavePrefix("Warning")))
		}
	})
})
