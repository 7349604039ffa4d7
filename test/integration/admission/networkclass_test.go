package admission_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// fault is what a NetworkClass is refused for.
type fault struct {
	path string
	kind metav1.CauseType
}

var _ = Describe("A NetworkClass", func() {
	badClasses := []TableEntry{
		Entry(nil, `{provider: Multus}`, fault{"spec.multus", metav1.CauseTypeFieldValueRequired}),
		Entry(nil, `{provider: Multus, multus: null}`, fault{"spec.multus", metav1.CauseTypeFieldValueRequired}),
		Entry(nil, `{provider: Carrier}`, fault{"spec.provider", metav1.CauseTypeFieldValueNotSupported}),
		Entry(nil, `{provider: multus, multus: {type: Bridge}}`, fault{"spec.provider", metav1.CauseTypeFieldValueNotSupported}),
		Entry(nil, `{multus: {type: Bridge}}`, fault{"spec.provider", metav1.CauseTypeFieldValueRequired}),
		Entry(nil, `{provider: "", multus: {type: Bridge}}`, fault{"spec.provider", metav1.CauseTypeFieldValueRequired}),
		Entry(nil, `{provider: Multus, multus: {}}`, fault{"spec.multus.type", metav1.CauseTypeFieldValueRequired}),
		Entry(nil, `{provider: Multus, multus: {type: Macvlan}}`, fault{"spec.multus.type", metav1.CauseTypeFieldValueNotSupported}),
		Entry(nil, `{provider: Multus, multus: {type: Bridge, ipam: Whereabouts}}`, fault{"spec.multus.ipam", metav1.CauseTypeFieldValueNotSupported}),
		Entry(nil, `{provider: Multus, multus: {type: Bridge, vlanID: 0}}`, fault{"spec.multus.vlanID", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `{provider: Multus, multus: {type: Bridge, vlanID: 4095}}`, fault{"spec.multus.vlanID", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `{provider: Multus, multus: {type: Bridge, vlanID: -1}}`, fault{"spec.multus.vlanID", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `{provider: Multus, multus: {type: Bridge}, deletionPolicy: Keep}`, fault{"spec.deletionPolicy", metav1.CauseTypeFieldValueNotSupported}),
	}
	name := func(spec string, _ fault) string { return spec }

	DescribeTable("is refused by the webhooks with", func(spec string, want fault) {
		a := probeClass(spec)
		expectCause(a, want.kind, want.path)
		Expect(a.warnings).To(BeEmpty())
	}, name, badClasses)

	DescribeTable("is accepted with", func(spec string) { expectAccepted(probeClass(spec)) },
		func(spec string) string { return spec },
		Entry(nil, `{provider: Multus, multus: {type: Bridge}}`),
		Entry(nil, `{provider: Multus, multus: {type: Bridge, vlanID: 1}}`),
		Entry(nil, `{provider: Multus, multus: {type: Bridge, vlanID: 4094, ipam: HostLocal}, deletionPolicy: Retain}`))

	It("gets its constants from the schema", func() {
		Expect(probeClass(bridge).object.Object["spec"]).To(Equal(map[string]any{
			"provider": "Multus", "multus": map[string]any{"type": "Bridge", "ipam": "HostLocal"},
			"overlapScope": "Namespace", "clusterRanges": "Warn", "import": "Forbidden", "deletionPolicy": "Delete",
		}))
		Expect(probeClass(`{provider: Neutron, neutron: {credentialsSecretName: openstack}}`).object.Object["spec"]).To(HaveKeyWithValue(
			"neutron", map[string]any{"credentialsSecretName": "openstack", "cloud": "openstack", "driftIntervalSeconds": int64(600)}))
	})

	It("is refused with all its faults at once", func() {
		a := probeClass(`{provider: Multus, multus: {type: VLAN, vlanID: 5000, ipam: Static}, deletionPolicy: Keep}`)
		Expect(apierrors.IsInvalid(a.err)).To(BeTrue(), "%v", a.err)
		Expect(fields(causes(a.err))).To(ConsistOf("spec.multus.type", "spec.multus.vlanID", "spec.multus.ipam", "spec.deletionPolicy"))
	})

	DescribeTable("of the wrong JSON type is refused by name", func(spec, field string) {
		a := probeClass(spec)
		Expect(apierrors.IsBadRequest(a.err)).To(BeTrue(), "%v", a.err)
		Expect(a.err).To(MatchError(ContainSubstring(field)))
	},
		func(spec, _ string) string { return spec },
		Entry(nil, `{provider: 5}`, "spec.provider"),
		Entry(nil, `{provider: Multus, multus: Bridge}`, "spec.multus"),
		Entry(nil, `{provider: Multus, multus: {type: Bridge, vlanID: "100"}}`, "spec.multus.vlanID"))

	changes := func(class *unstructured.Unstructured) {
		GinkgoHelper()
		for body, path := range map[string]string{
			`{"spec":{"multus":{"type":"Bridge","vlanID":200}}}`:     "spec.multus",
			`{"spec":{"multus":{"vlanID":null}}}`:                    "spec.multus",
			`{"spec":{"provider":"Carrier"}}`:                        "spec.provider",
			`{"spec":{"provider":"Carrier","multus":null}}`:          "spec.provider",
			`{"spec":{"multus":null}}`:                               "spec.multus",
			`{"spec":{"multus":{"ipam":"Static","vlanID":"100"}}}`:   "",
			`{"spec":{"deletionPolicy":"Keep","provider":"Multus"}}`: "spec.deletionPolicy",
		} {
			a := mergePatch(class, body)
			Expect(a.err).To(HaveOccurred(), body)
			if path != "" {
				Expect(apierrors.IsInvalid(a.err)).To(BeTrue(), "%s: %v", body, a.err)
				Expect(fields(causes(a.err))).To(ContainElement(path), body)
			}
		}
		expectAccepted(mergePatch(class, `{"spec":{"deletionPolicy":"Retain"}}`))
		expectAccepted(mergePatch(class, `{"metadata":{"annotations":{"samplecrd.k8s.io/is-default-class":"false"}}}`))
		expectAccepted(update(stored(class)))
	}

	It("keeps its backend, and may change its policy", func() {
		makeClass("fixed", false, `{provider: Multus, multus: {type: Bridge, vlanID: 100}}`)
		changes(newObject("NetworkClass", "", "fixed"))
	})

	It("that is stored with a fault can have its policy and its fault changed", func() {
		DeferCleanup(dropClass, "faulty")
		class := withSpec(newObject("NetworkClass", "", "faulty"), `{provider: Multus}`)
		unguarded(func() { expectAccepted(create(class)) })
		expectLetThrough(mergePatch(class, `{"metadata":{"labels":{"colour":"blue"}}}`))
		expectLetThrough(mergePatch(class, `{"spec":{"deletionPolicy":"Retain"}}`))
		expectAccepted(mergePatch(class, `{"spec":{"multus":{"type":"Bridge"}}}`))
	})

	Context("by the CRD's rules alone", Ordered, ContinueOnFailure, func() {
		BeforeAll(floorAlone)

		DescribeTable("is refused with", func(spec string, want fault) {
			a := probeClass(spec)
			Expect(apierrors.IsInvalid(a.err)).To(BeTrue(), "%v", a.err)
			Expect(fields(causes(a.err))).To(ContainElement(want.path))
		}, name, badClasses)

		It("keeps its backend, and may change its policy", func() {
			class := withSpec(newObject("NetworkClass", "", "fixed-by-floor"), `{provider: Multus, multus: {type: Bridge, vlanID: 100}}`)
			DeferCleanup(func() { Expect(client.IgnoreNotFound(user.Delete(ctx, class.DeepCopy()))).To(Succeed()) })
			expectAccepted(create(class))
			changes(class)
		})
	})
})
