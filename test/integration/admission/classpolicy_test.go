package admission_test

import (
	"encoding/json"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ofPolicy writes the spec of a sound class with a policy besides.
func ofPolicy(policy string) string {
	return "{provider: Multus, multus: {type: Bridge}, " + policy + "}"
}

// wholePolicy has every field of a policy.
const wholePolicy = `overlapScope: Class, allowedCIDRs: [10.0.0.0/8, "2001:db8::/32"], reservedCIDRs: [10.96.0.0/12, 10.244.0.0/16],
	prefixLengths: {ipv4: {min: 16, max: 28}, ipv6: {min: 48, max: 64}},
	namespaceSelector: {matchLabels: {tenant: "true"}, matchExpressions: [{key: tier, operator: NotIn, values: [system]}]},
	clusterRanges: Forbid, deletionPolicy: Retain`

// ranges writes a list of n different ranges.
func ranges(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("10.%d.0.0/16", i)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// requirements writes a list of n requirements of a selector.
func requirements(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("{key: key-%d, operator: Exists}", i)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

var _ = Describe("The policy of a NetworkClass", func() {
	short := func(policy string, _ fault) string {
		if len(policy) > 120 {
			return policy[:120] + "…"
		}
		return policy
	}
	// What the CRD's schema and rules know as well.
	bad := []TableEntry{
		Entry(nil, `allowedCIDRs: [10.0.0.0]`, fault{"spec.allowedCIDRs[0]", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `allowedCIDRs: [10.0.0.0/8, 010.0.0.0/8]`, fault{"spec.allowedCIDRs[1]", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `allowedCIDRs: [""]`, fault{"spec.allowedCIDRs[0]", metav1.CauseTypeFieldValueRequired}),
		Entry(nil, `allowedCIDRs: [0.0.0.0/0]`, fault{"spec.allowedCIDRs[0]", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `reservedCIDRs: ["::/0"]`, fault{"spec.reservedCIDRs[0]", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `reservedCIDRs: ["::ffff:10.0.0.0/104"]`, fault{"spec.reservedCIDRs[0]", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `reservedCIDRs: ["fe80::%eth0/64"]`, fault{"spec.reservedCIDRs[0]", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `reservedCIDRs: [None]`, fault{"spec.reservedCIDRs[0]", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `allowedCIDRs: `+ranges(65), fault{"spec.allowedCIDRs", metav1.CauseTypeTooMany}),
		Entry(nil, `reservedCIDRs: `+ranges(65), fault{"spec.reservedCIDRs", metav1.CauseTypeTooMany}),
		Entry(nil, `prefixLengths: {ipv4: {min: 0}}`, fault{"spec.prefixLengths.ipv4.min", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `prefixLengths: {ipv4: {max: 33}}`, fault{"spec.prefixLengths.ipv4.max", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `prefixLengths: {ipv6: {max: 129}}`, fault{"spec.prefixLengths.ipv6.max", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `prefixLengths: {ipv4: {min: 28, max: 16}}`, fault{"spec.prefixLengths.ipv4.min", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `prefixLengths: {ipv6: {min: 65, max: 64}}`, fault{"spec.prefixLengths.ipv6.min", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `overlapScope: Cluster`, fault{"spec.overlapScope", metav1.CauseTypeFieldValueNotSupported}),
		Entry(nil, `overlapScope: ""`, fault{"spec.overlapScope", metav1.CauseTypeFieldValueNotSupported}),
		Entry(nil, `clusterRanges: Refuse`, fault{"spec.clusterRanges", metav1.CauseTypeFieldValueNotSupported}),
		Entry(nil, `clusterRanges: ""`, fault{"spec.clusterRanges", metav1.CauseTypeFieldValueNotSupported}),
	}
	// What only the webhooks know.
	worse := []TableEntry{
		Entry(nil, `allowedCIDRs: [10.0.0.0/8, 10.1.2.3/8]`, fault{"spec.allowedCIDRs[1]", metav1.CauseTypeFieldValueDuplicate}),
		Entry(nil, `reservedCIDRs: ["2001:db8::/32", "2001:DB8::/32"]`, fault{"spec.reservedCIDRs[1]", metav1.CauseTypeFieldValueDuplicate}),
		Entry(nil, `allowedCIDRs: [10.1.0.0/16], reservedCIDRs: [10.0.0.0/8]`, fault{"spec.allowedCIDRs[0]", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `allowedCIDRs: [10.0.0.0/8], reservedCIDRs: [10.0.0.0/9, 10.128.0.0/9]`, fault{"spec.allowedCIDRs[0]", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `namespaceSelector: {matchLabels: {"-": x}}`, fault{"spec.namespaceSelector.matchLabels", metav1.CauseTypeFieldValueInvalid}),
		Entry(nil, `namespaceSelector: {matchExpressions: [{key: a, operator: Is}]}`, fault{"spec.namespaceSelector.matchExpressions[0].operator", metav1.CauseTypeFieldValueNotSupported}),
		Entry(nil, `namespaceSelector: {matchExpressions: [{key: a, operator: In}]}`, fault{"spec.namespaceSelector.matchExpressions[0].values", metav1.CauseTypeFieldValueRequired}),
		Entry(nil, `namespaceSelector: {matchExpressions: `+requirements(17)+`}`, fault{"spec.namespaceSelector", metav1.CauseTypeTooMany}),
	}

	DescribeTable("is refused by the webhooks with", func(policy string, want fault) {
		a := probeClass(ofPolicy(policy))
		expectCause(a, want.kind, want.path)
		Expect(a.warnings).To(BeEmpty())
	}, short, append(bad, worse...))

	DescribeTable("is accepted with", func(policy string, warned ...string) { expectAccepted(probeClass(ofPolicy(policy)), warned...) },
		func(policy string, _ ...string) string { return short(policy, fault{}) },
		Entry(nil, wholePolicy),
		Entry(nil, `allowedCIDRs: [], reservedCIDRs: [], prefixLengths: {}, namespaceSelector: {}`),
		Entry(nil, `allowedCIDRs: null, prefixLengths: {ipv4: {}, ipv6: null}, namespaceSelector: null, overlapScope: null, clusterRanges: null`),
		Entry(nil, `allowedCIDRs: `+ranges(64)),
		Entry(nil, `namespaceSelector: {matchExpressions: `+requirements(16)+`}`),
		Entry(nil, `prefixLengths: {ipv4: {min: 32, max: 32}, ipv6: {min: 128, max: 128}}`),
		Entry(nil, `allowedCIDRs: [192.168.1.0/16]`, "spec.allowedCIDRs[0]: 192.168.1.0/16 has host bits set and is treated as 192.168.0.0/16; write 192.168.0.0/16"),
		Entry(nil, `allowedCIDRs: [10.0.0.0/8], reservedCIDRs: ["2001:DB8::1/32", 10.96.0.1/12]`, "spec.reservedCIDRs[0]", "write 10.96.0.0/12"))

	It("is refused with all its faults at once", func() {
		a := probeClass(ofPolicy(`overlapScope: x, allowedCIDRs: [x, 10.0.0.0/8], reservedCIDRs: [z, 10.0.0.0/8], prefixLengths: {ipv4: {min: 33}},
			namespaceSelector: {matchLabels: {a: "?"}}, clusterRanges: x, deletionPolicy: x`))
		Expect(apierrors.IsInvalid(a.err)).To(BeTrue(), "%v", a.err)
		Expect(fields(causes(a.err))).To(Equal([]string{
			"spec.overlapScope", "spec.allowedCIDRs[0]", "spec.allowedCIDRs[1]", "spec.reservedCIDRs[0]", "spec.prefixLengths.ipv4.min",
			"spec.namespaceSelector.matchLabels", "spec.clusterRanges", "spec.deletionPolicy",
		}))
	})

	It("is stored as it was written, and may change but for its scope", func() {
		makeClass("ruled", false, ofPolicy(wholePolicy))
		class := newObject("NetworkClass", "", "ruled")
		expectPolicyChanges(class)
	})

	It("is warned of again whenever the spec changes, and not otherwise", func() {
		makeWarnedClass("host-bits", ofPolicy(`allowedCIDRs: [10.1.2.3/8]`))
		class := newObject("NetworkClass", "", "host-bits")
		expectAccepted(mergePatch(class, `{"spec":{"deletionPolicy":"Retain"}}`), "write 10.0.0.0/8")
		expectAccepted(mergePatch(class, `{"metadata":{"labels":{"colour":"blue"}}}`))
		Expect(stored(class).Object["spec"]).To(HaveKeyWithValue("allowedCIDRs", []any{"10.1.2.3/8"}), "what was written stays")
	})

	It("that is stored with faults does not hinder a change of something else", func() {
		DeferCleanup(dropClass, "faulty")
		class := withSpec(newObject("NetworkClass", "", "faulty"), ofPolicy(
			`allowedCIDRs: [x, 10.0.0.0/8], reservedCIDRs: [10.0.0.0/7], prefixLengths: {ipv4: {max: 64}, ipv6: {max: 64}}, namespaceSelector: {matchLabels: {a: "?"}}`))
		unguarded(func() { expectAccepted(create(class)) })

		for _, body := range []string{
			`{"metadata":{"labels":{"colour":"blue"}}}`,
			`{"spec":{"deletionPolicy":"Retain","clusterRanges":"Forbid"}}`,
			`{"spec":{"prefixLengths":{"ipv6":{"max":56}}}}`,
		} {
			expectLetThrough(mergePatch(class, body))
		}
		expectRefusal(mergePatch(class, `{"spec":{"prefixLengths":{"ipv4":{"max":48}}}}`), "spec.prefixLengths.ipv4.max", "from 1 to 32")
		expectRefusal(mergePatch(class, `{"spec":{"reservedCIDRs":["10.0.0.0/6"]}}`), "spec.allowedCIDRs[1]", "nothing of it is left")
		expectAccepted(mergePatch(class, `{"spec":{"allowedCIDRs":["172.16.0.0/12"],"prefixLengths":null,"namespaceSelector":{"matchLabels":{"a":"b"}}}}`))
	})

	Context("by the CRD's rules alone", Ordered, ContinueOnFailure, func() {
		BeforeAll(floorAlone)

		DescribeTable("is refused with", func(policy string, want fault) {
			a := probeClass(ofPolicy(policy))
			Expect(apierrors.IsInvalid(a.err)).To(BeTrue(), "%v", a.err)
			Expect(fields(causes(a.err))).To(ContainElement(want.path))
		}, short, bad)

		It("is stored as it was written, and may change but for its scope", func() {
			class := withSpec(newObject("NetworkClass", "", "ruled-by-floor"), ofPolicy(wholePolicy))
			DeferCleanup(func() { Expect(client.IgnoreNotFound(user.Delete(ctx, class.DeepCopy()))).To(Succeed()) })
			expectAccepted(create(class))
			expectPolicyChanges(class)
		})
	})
})

// makeWarnedClass creates a class that is warned of.
func makeWarnedClass(name, spec string) {
	GinkgoHelper()
	DeferCleanup(dropClass, name)
	Expect(create(withSpec(newObject("NetworkClass", "", name), spec)).err).NotTo(HaveOccurred())
}

// expectPolicyChanges changes every field of a class of wholePolicy, and its scope
// in vain.
func expectPolicyChanges(class *unstructured.Unstructured) {
	GinkgoHelper()
	written := withSpec(class, ofPolicy(wholePolicy)).Object["spec"].(map[string]any)
	for name, value := range written {
		if name != "multus" {
			Expect(stored(class).Object["spec"]).To(HaveKeyWithValue(name, value))
		}
	}
	for _, body := range []string{`{"spec":{"overlapScope":"Namespace"}}`, `{"spec":{"overlapScope":"None"}}`, `{"spec":{"overlapScope":null}}`} {
		expectRefusal(mergePatch(class, body), "spec.overlapScope", "cannot be changed", "create another NetworkClass")
	}
	for name, value := range map[string]any{
		"allowedCIDRs":      []string{"172.16.0.0/12"},
		"reservedCIDRs":     nil,
		"prefixLengths":     map[string]any{"ipv4": map[string]any{"min": 8, "max": 30}},
		"namespaceSelector": map[string]any{"matchLabels": map[string]any{"tenant": "false"}},
		"clusterRanges":     "Ignore",
		"deletionPolicy":    "Delete",
	} {
		body, err := json.Marshal(map[string]any{"spec": map[string]any{name: value}})
		Expect(err).NotTo(HaveOccurred())
		expectAccepted(mergePatch(class, string(body)))
	}
}
