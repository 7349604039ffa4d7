package admission_test

import (
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/test/env"
)

var _ = Describe("Operations", func() {
	It("WO-13: a terminating Network is judged, and can always lose its finalizers", func() {
		subject := network(newNamespace(), "subject", `{cidr: 10.0.0.0/24}`)
		subject.SetFinalizers([]string{"example.org/hold", "example.org/other"})
		expectAccepted(create(subject))
		Expect(user.Delete(ctx, subject.DeepCopy())).To(Succeed())
		Expect(stored(subject).GetDeletionTimestamp()).NotTo(BeNil())

		expectRefusal(mergePatch(subject, `{"spec":{"cidr":"nonsense/99"}}`), "spec.cidr", `"nonsense/99"`)
		Expect(specOf(stored(subject), "cidr")).To(Equal("10.0.0.0/24"))
		expectAccepted(mergePatch(subject, `{"metadata":{"labels":{"colour":"blue"}}}`))
		expectAccepted(mergePatch(subject, `{"spec":{"deletionPolicy":"Retain"}}`))
		expectAccepted(mergePatch(subject, `{"metadata":{"finalizers":["example.org/other"]}}`))
		expectAccepted(mergePatch(subject, `{"metadata":{"finalizers":null}}`))
		Expect(exists(subject)).To(BeFalse())
	})

	It("WO-13: a terminating Foo is judged, and can always lose its finalizers", func() {
		subject := foo(newNamespace(), "subject", `{deploymentName: web, replicas: 2}`)
		subject.SetFinalizers([]string{"example.org/hold", "example.org/other"})
		expectAccepted(create(subject))
		Expect(user.Delete(ctx, subject.DeepCopy())).To(Succeed())
		Expect(stored(subject).GetDeletionTimestamp()).NotTo(BeNil())

		expectRefusal(mergePatch(subject, `{"spec":{"deploymentName":"a_b"}}`), "spec.deploymentName", `"a_b"`)
		expectLimit(scaleTo(subject, 101), "101", byManager)
		expectAccepted(scaleTo(subject, 1))
		expectAccepted(mergePatch(subject, `{"metadata":{"labels":{"colour":"blue"},"finalizers":["example.org/other"]}}`))
		expectAccepted(mergePatch(subject, `{"metadata":{"finalizers":null}}`))
		Expect(exists(subject)).To(BeFalse())
	})

	It("WO-13: a terminating Network that is stored with a fault can lose its finalizers", func() {
		subject := network(newNamespace(), "subject", `{cidr: 010.0.0.0/8}`)
		subject.SetFinalizers([]string{"example.org/hold"})
		unguarded(func() { expectAccepted(create(subject)) })
		Expect(user.Delete(ctx, subject.DeepCopy())).To(Succeed())
		expectLetThrough(mergePatch(subject, `{"metadata":{"finalizers":null}}`))
		Expect(exists(subject)).To(BeFalse())
	})

	It("WO-18: kubectl shows the warning", func() {
		result := kubectl(manifest(newNamespace(), "subject", `{cidr: 192.168.1.0/16}`), "create", "-f", "-")
		Expect(result.ExitCode).To(BeZero())
		Expect(result.Stderr).To(MatchRegexp(`(?m)^Warning: .*192\.168\.0\.0/16`))
	})

	DescribeTable("WO-18: the header has code 299 and at most 256 characters", func(spec, canonical string) {
		namespace := newNamespace()
		body, err := network(namespace, "subject", spec).MarshalJSON()
		Expect(err).NotTo(HaveOccurred())
		response, text := post("/apis/samplecrd.k8s.io/v1/namespaces/"+namespace+"/networks", string(body))
		Expect(response.StatusCode).To(Equal(http.StatusCreated), text)

		headers, errs := utilnet.ParseWarningHeaders(response.Header.Values("Warning"))
		Expect(errs).To(BeEmpty())
		Expect(headers).To(HaveLen(1))
		Expect(headers[0].Code).To(Equal(299))
		Expect(headers[0].Text).To(ContainSubstring(canonical))
		Expect(headers[0].Text).NotTo(HavePrefix("Warning:"))
		Expect(len(headers[0].Text)).To(BeNumerically("<=", 256))
	},
		func(_, canonical string) string { return "naming " + canonical },
		Entry(nil, `{cidr: 192.168.1.0/16}`, "192.168.0.0/16"),
		Entry(nil, `{cidr: "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/127"}`, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127"),
		Entry(nil, `{cidr: 10.0.0.0/24, networkClassName: `+strings.Repeat("long-name.", 25)+`abc}`, "spec.networkClassName"),
		Entry("in the last route of the last subnet", longestRoute(), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127"),
	)

	It("WO-20: a field that the binary does not know survives", func() {
		DeferCleanup(closeGates)
		install(func(crd *apiextensionsv1.CustomResourceDefinition) {
			spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
			spec.Properties["colour"] = apiextensionsv1.JSONSchemaProps{Type: "string", MaxLength: new(int64(20))}
		})
		Eventually(func() string { return specOf(probe(`{cidr: 192.0.2.0/24, colour: blue}`).object, "colour") }).Should(Equal("blue"))
		class := makeClass("wo-20", true, `{provider: Multus, multus: {type: Bridge}, deletionPolicy: Retain}`)

		subject := network(newNamespace(), "subject", `{cidr: 192.0.2.0/24, colour: blue}`)
		Expect(patchOf(review(defaulting, asStored(subject), nil))).To(ConsistOf(
			operation{"add", "/spec/gateway", "192.0.2.1"},
			operation{"add", "/spec/networkClassName", class},
			operation{"add", "/spec/deletionPolicy", "Retain"},
		))
		expectAccepted(create(subject))
		kept := stored(subject)
		Expect(kept.Object["spec"]).To(Equal(map[string]any{
			"cidr": "192.0.2.0/24", "colour": "blue", "gateway": "192.0.2.1", "networkClassName": class, "deletionPolicy": "Retain",
		}))
		expectAccepted(mergePatch(subject, `{"spec":{"cidr":"198.51.100.0/24"}}`))
		kept = stored(subject)
		Expect(specOf(kept, "colour")).To(Equal("blue"))
		Expect(specOf(kept, "gateway")).To(Equal("198.51.100.1"))
	})

	It("WO-20: a field of a Foo that the binary does not know survives, also scaling", func() {
		DeferCleanup(closeGates)
		install(func(crd *apiextensionsv1.CustomResourceDefinition) {
			spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
			spec.Properties["colour"] = apiextensionsv1.JSONSchemaProps{Type: "string", MaxLength: new(int64(20))}
		})
		Eventually(func() string { return specOf(probeFoo(`{deploymentName: web, colour: blue}`).object, "colour") }).Should(Equal("blue"))
		subject := foo(newNamespace(), "subject", `{deploymentName: web, colour: blue}`)
		expectAccepted(create(subject))
		expectAccepted(mergePatch(subject, `{"spec":{"deploymentName":"web2"}}`))
		expectAccepted(scaleTo(subject, 3))
		Expect(stored(subject).Object["spec"]).To(Equal(map[string]any{"deploymentName": "web2", "colour": "blue", "replicas": int64(3)}))
	})

	It("WO-27: the CRDs are accepted and say that they are not approved", func() {
		crds, err := env.CRDs()
		Expect(err).NotTo(HaveOccurred())
		Expect(crds).To(HaveLen(3))
		for _, crd := range crds {
			var installed apiextensionsv1.CustomResourceDefinition
			Expect(user.Get(ctx, client.ObjectKeyFromObject(crd), &installed)).To(Succeed())
			Expect(crd.Annotations["api-approved.kubernetes.io"]).To(HavePrefix("unapproved"), "as generated into config/crd")
			Expect(installed.Annotations).To(HaveKeyWithValue("api-approved.kubernetes.io", crd.Annotations["api-approved.kubernetes.io"]))
			Expect(condition(&installed, apiextensionsv1.Established).Status).To(Equal(apiextensionsv1.ConditionTrue))
			Expect(condition(&installed, apiextensionsv1.KubernetesAPIApprovalPolicyConformant).Reason).To(Equal("UnapprovedAnnotation"), "not for lack of the annotation")
		}
	})

	It("WO-33: the webhooks are named, aimed and bounded as they must be", func() {
		Expect(control.Webhooks.MutatingWebhooks).To(HaveLen(1))
		Expect(control.Webhooks.ValidatingWebhooks).To(HaveLen(1))
		var mutating, validating []string
		for _, webhook := range control.Webhooks.MutatingWebhooks[0].Webhooks {
			aim := expectBounds(webhook.Rules, *webhook.FailurePolicy, *webhook.TimeoutSeconds, *webhook.SideEffects, *webhook.MatchPolicy, webhook.MatchConditions)
			mutating = append(mutating, webhook.Name+" for "+aim)
		}
		for _, webhook := range control.Webhooks.ValidatingWebhooks[0].Webhooks {
			aim := expectBounds(webhook.Rules, *webhook.FailurePolicy, *webhook.TimeoutSeconds, *webhook.SideEffects, *webhook.MatchPolicy, webhook.MatchConditions)
			validating = append(validating, webhook.Name+" for "+aim)
		}
		// Each name has three parts or more and is unique in its configuration.
		Expect(mutating).To(ConsistOf(
			"default.network.samplecrd.k8s.io for networks",
			"default.networkclass.samplecrd.k8s.io for networkclasses",
			"default.foo.samplecontroller.k8s.io for foos",
		))
		Expect(validating).To(ConsistOf(
			"validate.network.samplecrd.k8s.io for networks",
			"validate.networkclass.samplecrd.k8s.io for networkclasses",
			"validate.foo.samplecontroller.k8s.io for foos",
			"scale.foo.samplecontroller.k8s.io for foos/scale",
		))
	})
})

// longestRoute is a spec whose only warning has the longest path and value.
func longestRoute() string {
	subnets := make([]string, 7)
	for i := range subnets {
		subnets[i] = `{cidr: "fd00:0:0:` + string(rune('1'+i)) + `::/64"}`
	}
	routes := make([]string, 32)
	for i := range routes {
		routes[i] = `{destination: "2001:db8:` + strings.Repeat("f", 1+i%4) + `:` + string(rune('0'+i/4)) + `::/64", nextHop: "fd00:0:0:7::1"}`
	}
	routes[31] = `{destination: "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/127", nextHop: "fd00:0:0:7::1"}`
	subnets[6] = `{cidr: "fd00:0:0:7::/64", routes: [` + strings.Join(routes, ", ") + `]}`
	return `{cidr: "fd00::/64", additionalSubnets: [` + strings.Join(subnets, ", ") + `]}`
}

func condition(crd *apiextensionsv1.CustomResourceDefinition, kind apiextensionsv1.CustomResourceDefinitionConditionType) apiextensionsv1.CustomResourceDefinitionCondition {
	for _, found := range crd.Status.Conditions {
		if found.Type == kind {
			return found
		}
	}
	return apiextensionsv1.CustomResourceDefinitionCondition{}
}

// expectBounds gives the only resource that the rules are about.
func expectBounds(rules []admissionregistrationv1.RuleWithOperations, failure admissionregistrationv1.FailurePolicyType, timeout int32,
	effects admissionregistrationv1.SideEffectClass, match admissionregistrationv1.MatchPolicyType, conditions []admissionregistrationv1.MatchCondition) string {
	GinkgoHelper()
	Expect(rules).To(HaveLen(1))
	Expect(rules[0].Resources).To(HaveLen(1))
	resource := rules[0].Resources[0]
	group, version := "samplecrd.k8s.io", "v1"
	operations := []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}
	changed := "request.operation == 'CREATE' || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec"
	if strings.HasPrefix(resource, "foos") {
		group, version = "samplecontroller.k8s.io", "v1alpha1"
	}
	if resource == "foos/scale" {
		operations = operations[1:]
		changed = "!has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec"
	}
	Expect(rules[0].APIGroups).To(Equal([]string{group}))
	Expect(rules[0].APIVersions).To(Equal([]string{version}))
	Expect(rules[0].Operations).To(ConsistOf(operations))
	Expect(failure).To(Equal(admissionregistrationv1.Fail))
	Expect(timeout).To(BeEquivalentTo(5))
	Expect(effects).To(Equal(admissionregistrationv1.SideEffectClassNone))
	Expect(match).To(Equal(admissionregistrationv1.Equivalent))
	Expect(conditions).To(HaveExactElements(HaveField("Expression", changed)))
	return resource
}
