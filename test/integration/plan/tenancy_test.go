package plan

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/providers/memory"
	"github.com/samplecrd/samplecrd/test/env"
)

// market is where two tenants share classes.
type market struct {
	quartz, basalt *tenant
	backend        *memory.Provider
	scope          samplecrdv1.OverlapScope
}

// newMarket starts a manager with all that the binary has. Everything goes with the
// spec.
func newMarket(scope samplecrdv1.OverlapScope, backends func(ctrl.Manager) map[samplecrdv1.ProviderType]providers.Provider) *market {
	GinkgoHelper()
	m := &market{scope: scope, backend: memory.New()}
	if backends == nil {
		// As host-local has it.
		m.backend.SetLimits(addressing.Limits{Backend: "the backend", LongestIPv4: 30})
		backends = env.Instead(m.backend)
	}
	stop, err := cluster.StartManager(env.ManagerOptions{Webhooks: true, Controllers: true, Backends: backends})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(stop()).To(Succeed()) })
	m.quartz, m.basalt = newTenant("quartz"), newTenant("basalt")
	DeferCleanup(func() {
		for _, tenant := range []*tenant{m.quartz, m.basalt} {
			Expect(cluster.Client.DeleteAllOf(ctx, &samplecrdv1.Network{}, inNamespaceOf(tenant.word))).To(Succeed())
		}
		Expect(cluster.Client.DeleteAllOf(ctx, &samplecrdv1.NetworkClass{})).To(Succeed())
		Eventually(func(g Gomega) []samplecrdv1.NetworkClass {
			var classes samplecrdv1.NetworkClassList
			g.Expect(cluster.Client.List(ctx, &classes)).To(Succeed())
			return classes.Items
		}).Should(BeEmpty())
	})
	return m
}

func (m *market) class(changes ...func(*samplecrdv1.NetworkClass)) string {
	GinkgoHelper()
	return newClass(append([]func(*samplecrdv1.NetworkClass){func(class *samplecrdv1.NetworkClass) { class.Spec.OverlapScope = m.scope }}, changes...)...).Name
}

func (m *market) competes() bool { return m.scope == samplecrdv1.OverlapClass }

// quiet expects that nobody was told of the other one, and that this says something:
// these sorts of things were told.
func (m *market) quiet(sorts ...string) {
	GinkgoHelper()
	for _, pair := range [][2]*tenant{{m.quartz, m.basalt}, {m.basalt, m.quartz}} {
		one, other := pair[0], pair[1]
		// What was told last may be under way.
		Eventually(one.heard).Should(ContainElements(sorts))
		AddReportEntry("told to "+one.word, strings.Join(one.heard(), "\n"))
		Expect(one.of(one.word)).NotTo(BeEmpty())
		Expect(one.of(other.word)).To(BeEmpty(), "what %s was told of %s", one.word, other.word)
	}
}

func called(name string) func(*samplecrdv1.NetworkClass) {
	return func(class *samplecrdv1.NetworkClass) { class.GenerateName, class.Name = "", name }
}

func allowing(ranges ...string) func(*samplecrdv1.NetworkClass) {
	return func(class *samplecrdv1.NetworkClass) { class.Spec.AllowedCIDRs = ranges }
}

// only lets one tenant use a class; the selector names their namespace.
func only(whom *tenant) func(*samplecrdv1.NetworkClass) {
	return func(class *samplecrdv1.NetworkClass) {
		class.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespaceOf(whom.word)}}
	}
}

func changeClass(name string, changes ...func(*samplecrdv1.NetworkClass)) {
	GinkgoHelper()
	class := &samplecrdv1.NetworkClass{}
	Expect(cluster.Client.Get(ctx, client.ObjectKey{Name: name}, class)).To(Succeed())
	before := class.DeepCopy()
	for _, change := range changes {
		change(class)
	}
	Expect(cluster.Client.Patch(ctx, class, client.MergeFrom(before))).To(Succeed())
}

var _ = Describe("A tenant is told of no other one", func() {
	DescribeTable("whatever becomes of their Networks", func(scope samplecrdv1.OverlapScope) {
		m := newMarket(scope, nil)
		for i, pair := range [][2]*tenant{{m.quartz, m.basalt}, {m.basalt, m.quartz}} {
			s := tell(m, pair[0], pair[1], 20+i)
			s.sharedClass()
			s.limits()
			s.lateClasses()
			s.strictClasses()
			s.leavingClass()
			s.tightenedClass()
			s.users()
			s.backendFaults()
		}
		m.quiet(everySort...)
		if m.competes() {
			m.quiet("refusal: of another namespace", "refusal: there may be more", "refusal: on update", "Accepted=False/Overlap", "event Overlap")
		}
	},
		func(scope samplecrdv1.OverlapScope) string { return fmt.Sprintf("where overlapScope is %s", scope) },
		Entry(nil, samplecrdv1.OverlapClass),
		Entry(nil, samplecrdv1.OverlapNamespace),
	)

	It("by Multus neither, whose objects stand in their namespaces", func() {
		m := newMarket(samplecrdv1.OverlapClass, env.Multus)
		for i, pair := range [][2]*tenant{{m.quartz, m.basalt}, {m.basalt, m.quartz}} {
			tell(m, pair[0], pair[1], 30+i).multus()
		}
		m.quiet("refusal: of another namespace", "Ready=True/Ready", "Programmed=False/Conflict", "event Conflict", "definition")
	})
})

// everySort is what a tenant is told in any scope.
var everySort = []string{
	"refusal: of Network \"ledger-", "refusal: is not for namespace", "refusal: not inside one range", "refusal: reserved by NetworkClass",
	"refusal: must have a prefix length", "refusal: is being deleted", "refusal: a Service range of the cluster",
	"warning of host bits", "warning of cannot serve", "warning of not found", "warning of a Service range of the cluster",
	"Accepted=False/ClassNotFound", "Accepted=False/NotAllowed", "Accepted=False/Unsupported", "Accepted=False/Overlap",
	"Accepted=True/Accepted, refused today",
	"Programmed=False/Draining", "Programmed=False/InUse", "Programmed=False/Conflict", "Programmed=False/BackendUnavailable",
	"Ready=True/Ready", "Stalled=True/NotAllowed",
	"event ClassNotFound", "event NotAllowed", "event Unsupported", "event Overlap", "event Draining", "event InUse", "event Conflict",
	"event BackendUnavailable", "event Ready",
	"class Ready=True/Ready", "class Ready=False/InUse",
}
