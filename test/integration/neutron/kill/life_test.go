package kill

import (
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// crowd is how many Networks a life has, and kinds how many kinds of them there are.
const crowd, kinds = 20, 5

// phases are the parts of a life. In each one a manager dies.
var phases = []struct {
	name string
	// begin is what the user does to one Network.
	begin func(w *world, i int) error
	// settled gives what it is to be at the end; nil for gone.
	settled func(i int) samplecrdv1.NetworkSpec
}{
	{"create", (*world).create, before},
	{"change", (*world).change, after},
	{"delete", (*world).delete, nil},
}

// before is what the Networks ask for when they are created.
func before(i int) samplecrdv1.NetworkSpec {
	spec := samplecrdv1.NetworkSpec{
		NetworkClassName: className,
		CIDR:             fmt.Sprintf("10.%d.0.0/24", i), Gateway: fmt.Sprintf("10.%d.0.1", i),
	}
	if i%kinds == 4 {
		spec.AdditionalSubnets = sixth(i)
	}
	return spec
}

// after is what they ask for later.
func after(i int) samplecrdv1.NetworkSpec {
	spec := before(i)
	switch i % kinds {
	case 0:
		spec.Gateway = fmt.Sprintf("10.%d.0.254", i)
	case 1: // The old subnet goes last.
		spec.CIDR, spec.Gateway = fmt.Sprintf("10.%d.0.0/24", 100+i), fmt.Sprintf("10.%d.0.1", 100+i)
	case 2: // The old subnet goes first.
		spec.CIDR = fmt.Sprintf("10.%d.0.0/25", i)
	case 3:
		spec.AdditionalSubnets = sixth(i)
	case 4:
		spec.AdditionalSubnets = nil
	}
	return spec
}

func sixth(i int) []samplecrdv1.SubnetSpec {
	return []samplecrdv1.SubnetSpec{{CIDR: fmt.Sprintf("fd00:0:0:%x::/64", 16+i), Gateway: fmt.Sprintf("fd00:0:0:%x::1", 16+i)}}
}

func (w *world) network(i int) *samplecrdv1.Network {
	return &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("network-%d", i)}}
}

func (w *world) create(i int) error {
	n := w.network(i)
	n.Spec = before(i)
	return w.Client.Create(ctx, n)
}

func (w *world) change(i int) error {
	n := w.network(i)
	if err := w.Client.Get(ctx, client.ObjectKeyFromObject(n), n); err != nil {
		return err
	}
	was := n.DeepCopy()
	n.Spec = after(i)
	return w.Client.Patch(ctx, n, client.MergeFrom(was))
}

func (w *world) delete(i int) error { return w.Client.Delete(ctx, w.network(i)) }

// death is how a manager died in a phase.
type death struct {
	phase string
	// call is the number of the call, and at what it was. A phase that had fewer calls
	// was over by then: at is "", and the manager had nothing to do.
	call int
	at   string
	how  manner
	// took is how long the whole phase did.
	took time.Duration
}

func (d death) String() string {
	at := fmt.Sprintf("call %d, %s, %s", d.call, d.at, d.how)
	if d.at == "" {
		at = "at rest"
	}
	return fmt.Sprintf("%s (%.0fs) %s", d.phase, d.took.Seconds(), at)
}

// live has Networks created, changed and deleted, and the manager die in each phase.
func (w *world) live(life int, p *plan) []death {
	GinkgoHelper()
	var deaths []death
	for at, phase := range phases {
		began := time.Now()
		d := death{phase: phase.name, call: p.call(life, at), how: p.manner(life, at)}
		w.proxy.arm(d.call, d.how, p.late(life))
		w.pass(at)
		if _, d.at = w.proxy.disarm(); d.at == "" {
			w.manager.kill()
			w.converge(at)
		}
		w.proxy.under.Wait()
		w.look(at)
		d.took = time.Since(began)
		deaths = append(deaths, d)
	}
	return deaths
}

// rehearse lives without a death, with one Network of each kind, and gives how many calls
// each phase has with all.
func (w *world) rehearse() []int {
	GinkgoHelper()
	w.crowd = kinds
	defer func() { w.crowd = crowd }()
	Eventually(w.proxy.count).Should(BeNumerically(">=", 2), "a manager begins with a sweep, of two calls")
	var calls []int
	for at := range phases {
		w.proxy.arm(0, 0, 0)
		w.pass(at)
		n, _ := w.proxy.disarm()
		w.look(at)
		calls = append(calls, n*crowd/kinds)
	}
	return calls
}

// pass goes through a phase, all Networks at once.
func (w *world) pass(at int) {
	GinkgoHelper()
	var users sync.WaitGroup
	for i := range w.crowd {
		users.Go(func() {
			defer GinkgoRecover()
			Expect(phases[at].begin(w, i)).To(Succeed())
		})
	}
	users.Wait()
	w.converge(at)
}

// converge waits until all Networks are as the phase wants them, whoever dies.
func (w *world) converge(at int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		w.revive()
		g.Expect(w.waiting(g, at)).To(BeEmpty())
	}).Should(Succeed(), "%s in world %s", phases[at].name, w.name)
}

// waiting tells of the Networks that are not as the phase wants them.
func (w *world) waiting(g Gomega, at int) []string {
	var all samplecrdv1.NetworkList
	g.Expect(w.Client.List(ctx, &all, client.InNamespace(w.namespace))).To(Succeed())
	var waiting []string
	for _, n := range all.Items {
		ready := meta.FindStatusCondition(n.Status.Conditions, samplecrdv1.NetworkConditionReady)
		switch {
		case ready == nil:
			waiting = append(waiting, n.Name+": not seen yet")
		case phases[at].settled == nil, ready.Status != metav1.ConditionTrue, ready.ObservedGeneration != n.Generation:
			waiting = append(waiting, fmt.Sprintf("%s: %s %s", n.Name, ready.Reason, ready.Message))
		}
	}
	return waiting
}

// look demands of Neutron exactly what the Networks ask for, each once.
func (w *world) look(at int) {
	GinkgoHelper()
	var all samplecrdv1.NetworkList
	Expect(w.Client.List(ctx, &all, client.InNamespace(w.namespace))).To(Succeed())
	var found map[types.UID][]made
	Eventually(func() (err error) {
		found, err = cloud.of(ctx, w)
		return err
	}).WithTimeout(time.Minute).Should(Succeed())
	left := w.crowd
	if phases[at].settled == nil {
		left = 0
	}
	Expect(all.Items).To(HaveLen(left))
	for i := range left {
		n := w.network(i)
		Expect(w.Client.Get(ctx, client.ObjectKeyFromObject(n), n)).To(Succeed())
		Expect(found[n.UID]).To(HaveLen(1), "the networks of %s", n.Name)
		spec := phases[at].settled(i)
		Expect(found[n.UID][0].subnets).To(ConsistOf(asked(spec)), "the subnets of %s", n.Name)
		Expect(ptr.Deref(n.Status.ProviderID, "")).To(Equal(found[n.UID][0].id), "the id of %s", n.Name)
		delete(found, n.UID)
	}
	Expect(found).To(BeEmpty(), "networks that no Network has")
}

// asked gives the subnets of a spec.
func asked(spec samplecrdv1.NetworkSpec) []string {
	all := []string{describe(spec.CIDR, spec.Gateway)}
	for _, s := range spec.AdditionalSubnets {
		all = append(all, describe(s.CIDR, s.Gateway))
	}
	return all
}
