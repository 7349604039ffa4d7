package admission_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const bridge = `{provider: Multus, multus: {type: Bridge}}`

// makeClass creates a NetworkClass until the end of the spec, and returns when the
// webhooks know it. It gives its name.
func makeClass(name string, isDefault bool, spec string) string {
	GinkgoHelper()
	class := withSpec(newObject("NetworkClass", "", name), spec)
	if isDefault {
		class.SetAnnotations(map[string]string{"samplecrd.k8s.io/is-default-class": "true"})
	}
	DeferCleanup(dropClass, name)
	expectAccepted(create(class))
	awaitClass(name)
	return name
}

func awaitClass(name string) {
	GinkgoHelper()
	Eventually(func() []string {
		return probe(`{cidr: 10.0.0.0/24, networkClassName: ` + name + `}`).warnings
	}).Should(BeEmpty(), "the webhooks know class %s", name)
}

func dropClass(name string) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(user.Delete(ctx, newObject("NetworkClass", "", name)))).To(Succeed())
	Eventually(func() []string {
		return probe(`{cidr: 10.0.0.0/24, networkClassName: ` + name + `}`).warnings
	}).Should(HaveExactElements(ContainSubstring("not found")), "the webhooks know that class %s is gone", name)
}

var _ = Describe("The class of a Network", func() {
	It("is the default one, filled in on create only", func() {
		namespace := newNamespace()
		early := network(namespace, "early", `{cidr: 10.0.0.0/24}`)
		expectAccepted(create(early))
		makeClass("default", true, bridge)

		late := network(namespace, "late", `{cidr: 10.1.0.0/24}`)
		expectAccepted(create(late))
		Expect(specOf(stored(late), "networkClassName")).To(Equal("default"))

		expectAccepted(mergePatch(early, `{"spec":{"mtu":1400}}`))
		Expect(stored(early).Object["spec"]).To(Equal(map[string]any{"cidr": "10.0.0.0/24", "gateway": "10.0.0.1", "mtu": int64(1400)}))
	})

	It("is the older one of two default classes", func() {
		// Named so that the order of names would decide otherwise.
		older := makeClass("zebra", true, bridge)
		created := func(name string) time.Time {
			return stored(newObject("NetworkClass", "", name)).GetCreationTimestamp().Time
		}
		// Creation times are whole seconds.
		Eventually(time.Now).Should(BeTemporally(">", created(older).Add(time.Second)))
		younger := makeClass("ant", true, bridge)
		Expect(created(younger)).To(BeTemporally(">", created(older)))

		subject := network(newNamespace(), "subject", `{cidr: 10.0.0.0/24}`)
		expectAccepted(create(subject))
		Expect(specOf(stored(subject), "networkClassName")).To(Equal(older))
	})

	It("is not one that merely carries the annotation with another value", func() {
		class := withSpec(newObject("NetworkClass", "", "not-default"), bridge)
		class.SetAnnotations(map[string]string{"samplecrd.k8s.io/is-default-class": "false"})
		DeferCleanup(dropClass, "not-default")
		expectAccepted(create(class))
		awaitClass("not-default")
		Expect(specOf(probe(`{cidr: 10.0.0.0/24}`).object, "networkClassName")).To(BeEmpty())
	})

	It("is not a default one that is being deleted", func() {
		name := makeClass("leaving", true, bridge)
		class := newObject("NetworkClass", "", name)
		expectAccepted(mergePatch(class, `{"metadata":{"finalizers":["example.org/hold"]}}`))
		Expect(user.Delete(ctx, class.DeepCopy())).To(Succeed())
		Eventually(func() string { return specOf(probe(`{cidr: 10.0.0.0/24}`).object, "networkClassName") }).Should(BeEmpty())
		expectAccepted(mergePatch(class, `{"metadata":{"finalizers":null}}`))
	})

	It("cannot be changed, and is kept when a write leaves it out", func() {
		makeClass("first", false, bridge)
		makeClass("second", false, bridge)
		subject := network(newNamespace(), "subject", `{cidr: 10.0.0.0/24, networkClassName: first}`)
		expectAccepted(create(subject))

		expectRefusal(mergePatch(subject, `{"spec":{"networkClassName":"second"}}`), "spec.networkClassName", "first", `"second"`)
		expectAccepted(update(withSpec(stored(subject), `{cidr: 10.1.0.0/24}`)))
		Expect(specOf(stored(subject), "networkClassName")).To(Equal("first"))

		floorAlone()
		expectRefusal(mergePatch(subject, `{"spec":{"networkClassName":"second"}}`), "spec.networkClassName", "cannot be changed")
		expectRefusal(mergePatch(subject, `{"spec":{"networkClassName":null}}`), "spec.networkClassName", "cannot be changed")
		expectRefusal(mergePatch(subject, `{"spec":{"networkClassName":""}}`), "spec.networkClassName", "cannot be changed")
	})

	It("may be given later to a Network that has none", func() {
		subject := network(newNamespace(), "subject", `{cidr: 10.0.0.0/24}`)
		expectAccepted(create(subject))
		makeClass("first", false, bridge)
		expectAccepted(mergePatch(subject, `{"spec":{"networkClassName":"first"}}`))
	})

	It("gives its deletionPolicy to a Network that is created without one", func() {
		makeClass("retaining", true, `{provider: Multus, multus: {type: Bridge}, deletionPolicy: Retain}`)
		namespace := newNamespace()
		for spec, want := range map[string]string{
			`{cidr: 10.0.0.0/24}`:                              "Retain",
			`{cidr: 10.1.0.0/24, networkClassName: retaining}`: "Retain",
			`{cidr: 10.2.0.0/24, deletionPolicy: Delete}`:      "Delete",
		} {
			Expect(specOf(create(network(namespace, "subject", spec), client.DryRunAll).object, "deletionPolicy")).To(Equal(want), spec)
		}
		subject := network(namespace, "subject", `{cidr: 10.0.0.0/24, deletionPolicy: Delete}`)
		expectAccepted(create(subject))
		expectAccepted(update(withSpec(stored(subject), `{cidr: 10.1.0.0/24}`)))
		Expect(specOf(stored(subject), "deletionPolicy")).To(Equal("Delete"), "kept when a write leaves it out")
	})

	It("is warned of when it does not exist", func() {
		subject := network(newNamespace(), "subject", `{cidr: 10.0.0.0/24, networkClassName: absent}`)
		expectAccepted(create(subject), "spec.networkClassName: NetworkClass absent not found")
		Expect(specOf(stored(subject), "deletionPolicy")).To(BeEmpty(), "its policy is not known")
	})

	DescribeTable("without one, nothing is warned of", func(spec string) {
		expectAccepted(probe(spec))
	},
		func(spec string) string { return spec },
		Entry(nil, `{cidr: 192.0.2.0/31}`),
		Entry(nil, `{cidr: "2001:db8::/128", dhcp: Enabled}`),
		Entry(nil, `{cidr: 10.0.0.0/24, dnsServers: [10.0.0.53], additionalSubnets: [{cidr: "2001:db8::/64"}]}`),
	)

	It("AN-34: warns of what its backend cannot serve", func() {
		makeClass("limited", true, bridge)
		for spec, warned := range map[string][]string{
			`{cidr: 203.0.113.4/30}`:                                                       nil,
			`{cidr: "2001:db8::/126"}`:                                                     nil,
			`{cidr: 10.0.0.0/24, dhcp: Disabled}`:                                          nil,
			`{cidr: 192.0.2.0/31}`:                                                         {"spec.cidr: Multus with host-local cannot serve 192.0.2.0/31"},
			`{cidr: 203.0.113.7/32}`:                                                       {"spec.cidr: Multus with host-local cannot serve 203.0.113.7/32"},
			`{cidr: "2001:db8::/127"}`:                                                     {"2001:db8::/127"},
			`{cidr: 10.0.0.0/24, dhcp: Enabled}`:                                           {"spec.dhcp: Multus with host-local cannot serve DHCP"},
			`{cidr: 10.0.0.0/24, dnsServers: [10.0.0.53]}`:                                 nil,
			`{cidr: 10.0.0.0/24, additionalSubnets: [{cidr: "2001:db8::/64"}]}`:            nil,
			`{cidr: 10.0.0.0/24, additionalSubnets: [{cidr: 10.1.0.0/24}]}`:                {"spec.additionalSubnets[0].gateway: "},
			`{cidr: 192.0.2.1/31, dhcp: Enabled}`:                                          {"192.0.2.0/31; write", "cannot serve 192.0.2.0/31", "spec.dhcp"},
			`{cidr: 10.0.0.0/24, additionalSubnets: [{cidr: "2001:db8::/127"}]}`:           {"spec.additionalSubnets[0].cidr: "},
			`{cidr: 10.0.0.0/24, routes: [{destination: 0.0.0.0/1, nextHop: 10.0.0.2}]}`:   nil,
			`{cidr: 10.0.0.0/24, gateway: None, additionalSubnets: [{cidr: 10.1.0.0/24}]}`: {"gateway"},
		} {
			By(spec)
			expectAccepted(probe(spec), warned...)
		}
	})
})

var _ = Describe("Overlap", func() {
	BeforeEach(func() { makeClass("shared", false, bridge) })

	const inClass = ", networkClassName: shared}"

	// known creates a Network and returns when the webhooks know it.
	known := func(namespace, name, range_ string) {
		GinkgoHelper()
		expectAccepted(create(network(namespace, name, "{cidr: "+range_+inClass)))
		Eventually(func() error {
			return create(network(namespace, "probe", "{cidr: "+range_+inClass), client.DryRunAll).err
		}).Should(Satisfy(apierrors.IsInvalid), "the webhooks know Network %s", name)
	}

	It("with another Network of the class and namespace is refused, which is named", func() {
		namespace := newNamespace()
		known(namespace, "taken", "10.0.0.0/16")
		for _, text := range []string{"10.0.0.0/16", "10.0.5.0/24", "10.0.0.0/8", "10.0.255.255/32"} {
			expectRefusal(create(network(namespace, "late", "{cidr: "+text+inClass)), "spec.cidr", "overlaps 10.0.0.0/16", `Network "taken"`)
		}
		expectRefusal(create(network(namespace, "late", "{cidr: 10.9.0.0/16, additionalSubnets: [{cidr: 10.8.0.0/16}, {cidr: 10.0.7.0/24}]"+inClass)),
			"spec.additionalSubnets[1].cidr", `Network "taken"`)
		Expect(create(network(namespace, "late", "{cidr: 10.1.0.0/16"+inClass)).err).NotTo(HaveOccurred())
	})

	It("with what a Network asks for and was refused is none", func() {
		namespace := newNamespace()
		known(namespace, "squatter", "10.0.0.0/16")
		expectRefusal(create(network(namespace, "late", "{cidr: 10.0.5.0/24"+inClass)), "spec.cidr", `Network "squatter"`)
		refused := stored(newObject("Network", namespace, "squatter"))
		Expect(unstructured.SetNestedSlice(refused.Object, []any{map[string]any{
			"type": "Accepted", "status": "False", "reason": "Unsupported", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": refused.GetGeneration(),
		}}, "status", "conditions")).To(Succeed())
		Expect(user.Status().Update(ctx, refused)).To(Succeed())
		Eventually(func() error {
			return create(network(namespace, "late", "{cidr: 10.0.5.0/24"+inClass), client.DryRunAll).err
		}).Should(Succeed())
	})

	It("that an update would bring is refused, and the object itself is no rival", func() {
		namespace := newNamespace()
		known(namespace, "taken", "10.0.0.0/16")
		known(namespace, "mover", "10.1.0.0/16")
		mover := newObject("Network", namespace, "mover")
		expectRefusal(mergePatch(mover, `{"spec":{"cidr":"10.0.3.0/24"}}`), "spec.cidr", `Network "taken"`)
		expectRefusal(update(withSpec(stored(mover), `{cidr: 10.0.3.0/24}`)), "spec.cidr", `Network "taken"`)
		expectAccepted(mergePatch(mover, `{"spec":{"cidr":"10.1.3.0/24"}}`))

		classless := network(namespace, "classless", `{cidr: 10.0.4.0/24}`)
		expectAccepted(create(classless))
		By("giving a class, which decides nothing between two that only ask")
		giveClass := `{"spec":{"networkClassName":"shared"}}`
		expectAccepted(mergePatch(classless, giveClass, client.DryRunAll))
		taken := stored(newObject("Network", namespace, "taken"))
		Expect(unstructured.SetNestedSlice(taken.Object, []any{map[string]any{"cidr": "10.0.0.0/16", "state": "Active"}}, "status", "subnets")).To(Succeed())
		Expect(user.Status().Update(ctx, taken)).To(Succeed())
		Eventually(func() error { return mergePatch(classless, giveClass, client.DryRunAll).err }).Should(HaveOccurred())
		expectRefusal(mergePatch(classless, giveClass), "spec.cidr", `Network "taken"`)
	})

	It("with a Network that is being deleted still counts", func() {
		namespace := newNamespace()
		taken := network(namespace, "taken", "{cidr: 10.0.0.0/16"+inClass)
		taken.SetFinalizers([]string{"example.org/hold"})
		expectAccepted(create(taken))
		Expect(user.Delete(ctx, taken.DeepCopy())).To(Succeed())
		Eventually(func() error {
			return create(network(namespace, "late", "{cidr: 10.0.5.0/24"+inClass), client.DryRunAll).err
		}).Should(Satisfy(apierrors.IsInvalid))
	})

	It("across namespaces or classes is none, and no other tenant is named", func() {
		makeClass("other", false, bridge)
		here, there := newNamespace(), newNamespace()
		known(there, "secret-tenant", "10.0.0.0/16")
		known(here, "taken", "10.0.0.0/16")
		expectAccepted(create(network(here, "apart", "{cidr: 10.0.0.0/16, networkClassName: other}")))
		a := create(network(here, "late", "{cidr: 10.0.5.0/24"+inClass))
		expectRefusal(a, "spec.cidr", `Network "taken"`)
		Expect(a.err.Error()).NotTo(Or(ContainSubstring("secret-tenant"), ContainSubstring(there)))
	})

	It("that is stored does not hinder another change", func() {
		namespace := newNamespace()
		known(namespace, "taken", "10.0.0.0/16")
		subject := network(namespace, "subject", "{cidr: 10.0.5.0/24"+inClass)
		unguarded(func() { expectAccepted(create(subject)) })
		expectAccepted(mergePatch(subject, `{"spec":{"mtu":1400}}`))
		Eventually(func() error { return mergePatch(subject, `{"spec":{"cidr":"10.0.6.0/24"}}`).err }).
			Should(Satisfy(apierrors.IsInvalid))
	})
})
