package plan

import (
	"errors"
	"fmt"
	"net/netip"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers/multus"
)

// story is what a is told, mostly for what b has. Its ranges are of 10.at.0.0/16.
type story struct {
	*market
	a, b *tenant
	at   int
}

// tell makes the story of a and b, with names of its own.
func tell(m *market, a, b *tenant, at int) *story {
	a.chapter, b.chapter = fmt.Sprint(at), fmt.Sprint(at)
	return &story{market: m, a: a, b: b, at: at}
}

func (s *story) cidr(third, bits int) string { return fmt.Sprintf("10.%d.%d.0/%d", s.at, third, bits) }

const atCIDR, atClass = "spec.cidr", "spec.networkClassName"

// sharedClass is one that both use.
func (s *story) sharedClass() {
	class := s.class()
	var theirs []*samplecrdv1.Network
	for i := range 7 {
		theirs = append(theirs, s.b.create(fmt.Sprint("shared-", i), s.cidr(i, 24), class))
	}
	s.b.ready(theirs...)
	mine := s.a.create("shared", s.cidr(100, 24), class)
	s.a.ready(mine)

	s.a.refused(s.a.draft("same", s.cidr(100, 25), class), []string{atCIDR}, `of Network "ledger-`)
	wide := s.a.draft("wide", s.cidr(0, 20), class)
	if s.competes() {
		s.a.refused(wide, []string{atCIDR, atCIDR, atCIDR, atCIDR, atCIDR}, "of another namespace", "there may be more")
		s.a.refusal(s.a.move(mine, s.cidr(3, 24)), []string{atCIDR}, "of another namespace")
		s.a.mark("refusal: on update")
		return
	}
	Expect(s.a.client.Create(ctx, wide)).To(Succeed())
	Expect(s.a.move(mine, s.cidr(16, 20))).To(Succeed())
	s.a.ready(wide, mine)
}

// limits are those of the backend and of the cluster.
func (s *story) limits() {
	class, forbids := s.class(), s.class(func(class *samplecrdv1.NetworkClass) { class.Spec.ClusterRanges = samplecrdv1.ClusterRangesForbid })
	s.a.ready(s.a.create("host-bits", fmt.Sprintf("10.%d.101.7/24", s.at), class))
	s.a.warned("host bits")
	narrow := s.a.create("narrow", s.cidr(102, 31), class)
	s.a.warned("cannot serve")
	s.a.says(narrow, samplecrdv1.NetworkConditionAccepted, samplecrdv1.NetworkReasonUnsupported)
	const ofServices = "198.18.0.0/26"
	Eventually(func(g Gomega) {
		g.Expect(s.a.client.Create(ctx, s.a.draft("services", ofServices, class), client.DryRunAll)).To(Succeed())
		s.a.warned("a Service range of the cluster")
	}).Should(Succeed())
	s.a.refused(s.a.draft("services", ofServices, forbids), []string{atCIDR}, "a Service range of the cluster")
}

// lateClasses are not there when their Networks come, so that admission cannot judge.
func (s *story) lateClasses() {
	late, later := fmt.Sprint("late-", s.at), fmt.Sprint("later-", s.at)
	theirs := s.b.create("late", s.cidr(110, 24), late)
	first, second := s.a.create("late-1", s.cidr(110, 25), late), s.a.create("late-2", s.cidr(110, 26), late)
	s.a.warned("not found")
	outside := s.a.create("later", s.cidr(111, 24), later)
	for _, network := range []*samplecrdv1.Network{first, second, outside} {
		s.a.says(network, samplecrdv1.NetworkConditionAccepted, samplecrdv1.NetworkReasonClassNotFound)
	}

	s.class(called(late), only(s.b))
	s.b.ready(theirs)
	s.a.says(first, samplecrdv1.NetworkConditionAccepted, samplecrdv1.NetworkReasonNotAllowed, "is not for namespace")
	changeClass(late, func(class *samplecrdv1.NetworkClass) { class.Spec.NamespaceSelector = nil })
	if s.competes() {
		s.a.says(first, samplecrdv1.NetworkConditionAccepted, samplecrdv1.NetworkReasonOverlap, "of another namespace")
		s.a.says(second, samplecrdv1.NetworkConditionAccepted, samplecrdv1.NetworkReasonOverlap, "of another namespace")
	} else {
		s.a.ready(first)
		s.a.says(second, samplecrdv1.NetworkConditionAccepted, samplecrdv1.NetworkReasonOverlap, first.Name)
	}
	s.class(called(later), allowing("172.16.0.0/12"))
	s.a.says(outside, samplecrdv1.NetworkConditionAccepted, samplecrdv1.NetworkReasonNotAllowed, "not inside one range")
}

// strictClasses have every policy; the second is for b alone.
func (s *story) strictClasses() {
	strict := func(class *samplecrdv1.NetworkClass) {
		class.Spec.AllowedCIDRs, class.Spec.ReservedCIDRs = []string{s.cidr(128, 17)}, []string{s.cidr(200, 24)}
		class.Spec.PrefixLengths = &samplecrdv1.PrefixLengths{IPv4: &samplecrdv1.PrefixLengthRange{Min: new(int32(20)), Max: new(int32(26))}}
	}
	class, theirs := s.class(strict), s.class(strict, only(s.b))
	s.b.ready(s.b.create("strict", s.cidr(201, 24), class), s.b.create("theirs", s.cidr(201, 24), theirs))
	s.a.refused(s.a.draft("strict", s.cidr(112, 28), class), []string{atCIDR, atCIDR}, "not inside one range", "must have a prefix length")
	s.a.refused(s.a.draft("strict", s.cidr(200, 25), class), []string{atCIDR}, "reserved by NetworkClass")
	s.a.refused(s.a.draft("theirs", s.cidr(200, 20), theirs), []string{atClass}, "is not for namespace")
}

// leavingClass is deleted while b uses it.
func (s *story) leavingClass() {
	name := s.class()
	theirs := s.b.create("leaving", s.cidr(113, 24), name)
	s.b.ready(theirs)
	class := &samplecrdv1.NetworkClass{}
	class.Name = name
	Expect(cluster.Client.Delete(ctx, class)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(class), class)).To(Succeed())
		g.Expect(class.Status.Conditions).To(ContainElement(HaveField("Reason", samplecrdv1.NetworkClassReasonInUse)))
	}).Should(Succeed())
	s.a.refused(s.a.draft("leaving", s.cidr(114, 24), name), []string{atClass}, "is being deleted")
}

// tightenedClass is for b alone after a has a Network of it, and for other ranges.
func (s *story) tightenedClass() {
	class := s.class()
	mine, theirs := s.a.create("tightened", s.cidr(115, 24), class), s.b.create("tightened", s.cidr(116, 24), class)
	s.a.ready(mine)
	s.b.ready(theirs)
	changeClass(class, only(s.b), allowing("172.16.0.0/12"))
	s.a.says(mine, samplecrdv1.NetworkConditionAccepted, samplecrdv1.NetworkReasonAccepted, today, "is not for namespace", "not inside one range")
	s.a.ready(mine)
}

// users hold what is to go, some of whom may not be named.
func (s *story) users() {
	class := s.class()
	network := s.a.create("used", s.cidr(117, 24), class)
	s.a.ready(network)
	prefix := netip.MustParsePrefix(s.cidr(117, 24))
	Expect(s.backend.SetUsers(network.UID, prefix, "pod-"+s.a.word)).To(Succeed())
	Expect(s.backend.SetOthers(network.UID, prefix, true)).To(Succeed())

	Expect(s.a.move(network, s.cidr(118, 24))).To(Succeed())
	s.a.says(network, samplecrdv1.NetworkConditionProgrammed, samplecrdv1.NetworkReasonDraining, "pod-"+s.a.word+" and others")
	Expect(s.a.move(network, s.cidr(117, 25))).To(Succeed())
	s.a.says(network, samplecrdv1.NetworkConditionProgrammed, samplecrdv1.NetworkReasonInUse, "pod-"+s.a.word+" and others")
	Expect(s.backend.SetUsers(network.UID, prefix)).To(Succeed())
	Expect(s.a.client.Delete(ctx, network)).To(Succeed())
	s.a.says(network, samplecrdv1.NetworkConditionProgrammed, samplecrdv1.NetworkReasonInUse, "others, who may not be named here")
	Expect(s.backend.SetOthers(network.UID, prefix, false)).To(Succeed())
	Eventually(func() bool {
		return apierrors.IsNotFound(s.a.client.Get(ctx, client.ObjectKeyFromObject(network), network))
	}).Should(BeTrue())
}

// backendFaults are what stands in the way on the backend.
func (s *story) backendFaults() {
	class := s.class()
	draft := s.a.draft("taken", s.cidr(119, 24), class)
	s.backend.SetForeign(client.ObjectKeyFromObject(draft), true)
	taken := s.a.create("taken", s.cidr(119, 24), class)
	s.a.says(taken, samplecrdv1.NetworkConditionProgrammed, samplecrdv1.NetworkReasonConflict)
	s.backend.SetForeign(client.ObjectKeyFromObject(draft), false)
	s.a.ready(taken)

	away := errors.New("away")
	s.backend.Fail(away, away, away)
	Expect(s.a.move(taken, s.cidr(120, 24))).To(Succeed())
	Eventually(s.a.heard).Should(ContainElement("Programmed=False/BackendUnavailable"))
	s.a.ready(taken)
}

// multus meets a foreign object, and what b has.
func (s *story) multus() {
	class := s.class()
	theirs := s.b.create("multus", s.cidr(0, 24), class)
	s.b.ready(theirs)
	s.a.refused(s.a.draft("multus", s.cidr(0, 25), class), []string{atCIDR}, "of another namespace")
	draft := s.a.draft("multus", s.cidr(1, 24), class)
	foreign := newDefinition(draft)
	Expect(cluster.Client.Create(ctx, foreign)).To(Succeed())
	mine := s.a.create("multus", s.cidr(1, 24), class)
	s.a.says(mine, samplecrdv1.NetworkConditionProgrammed, samplecrdv1.NetworkReasonConflict)
	Expect(cluster.Client.Delete(ctx, foreign)).To(Succeed())
	s.a.ready(mine)
	Expect(s.a.client.Get(ctx, client.ObjectKeyFromObject(mine), foreign)).To(Succeed())
	text, err := foreign.MarshalJSON()
	Expect(err).NotTo(HaveOccurred())
	s.a.note(string(text))
	s.a.mark("definition")
}

// newDefinition is the object that Multus reads for a Network.
func newDefinition(network *samplecrdv1.Network) *unstructured.Unstructured {
	definition := &unstructured.Unstructured{}
	definition.SetGroupVersionKind(multus.Kind)
	definition.SetNamespace(network.Namespace)
	definition.SetName(network.Name)
	return definition
}
