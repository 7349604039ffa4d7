package admission_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// The API server has filled the replicas in before a webhook is asked, since the CRD
// has the same default; so the first patches here are seen nowhere else.
var _ = Describe("The defaulting webhook's patch of a Foo", func() {
	one := operation{"add", "/spec/replicas", float64(1)}

	DescribeTable("adds absent replicas and touches nothing else", func(spec string, want ...operation) {
		response := review(defaulting, asStored(foo(newNamespace(), "subject", spec)), nil)
		Expect(response.Allowed).To(BeTrue(), "%v", response.Result)
		Expect(patchOf(response)).To(ConsistOf(want))
	},
		func(spec string, _ ...operation) string { return spec },
		Entry(nil, `{deploymentName: web}`, one),
		Entry(nil, `{deploymentName: web, replicas: null}`, operation{"replace", "/spec/replicas", float64(1)}),
		Entry(nil, `{deploymentName: web, podTemplateName: ""}`, one),
		Entry(nil, `{deploymentName: web, colour: blue, networks: [{name: a}]}`, one),
		Entry(nil, `{deploymentName: web, replicas: 0}`),
		Entry(nil, `{deploymentName: web, replicas: 1}`),
		Entry(nil, `{deploymentName: web, replicas: 100, podTemplateName: "", colour: blue}`),
	)

	DescribeTable("AF-15: leaves status and metadata alone", func(status string) {
		sent := asStored(withField(foo(newNamespace(), "subject", `{deploymentName: web}`), "status", status))
		Expect(patchOf(review(defaulting, sent, nil))).To(ConsistOf(one))
	},
		func(status string) string { return "status: " + status },
		Entry(nil, `null`),
		Entry(nil, `{}`),
		Entry(nil, `{observedGeneration: -1}`),
		Entry(nil, `{observedGeneration: 0, replicas: 0, availableReplicas: 0, selector: "", deploymentName: "", conditions: []}`),
		Entry(nil, `{observedGeneration: 3, availableReplicas: 99, colour: blue}`),
		Entry(nil, `{conditions: [{type: Ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}`),
	)

	DescribeTable("on update", func(before, after string, want ...operation) {
		old := asStored(foo(newNamespace(), "subject", before))
		response := review(defaulting, withSpec(old, after), old)
		Expect(response.Allowed).To(BeTrue(), "%v", response.Result)
		Expect(patchOf(response)).To(ConsistOf(want))
	},
		func(before, after string, _ ...operation) string { return fmt.Sprintf("%s to %s", before, after) },
		Entry(nil, `{deploymentName: web, replicas: 5}`, `{deploymentName: web}`, one),
		Entry(nil, `{deploymentName: web, replicas: 5}`, `{deploymentName: web, replicas: 6}`),
		Entry(nil, `{deploymentName: web}`, `{deploymentName: web}`),
		Entry(nil, `{deploymentName: a_b, replicas: 5}`, `{deploymentName: a_b, replicas: 6}`),
		Entry(nil, `{replicas: 5}`, `{replicas: 6}`),
		Entry(nil, `{deploymentName: web, replicas: 5}`, `{deploymentName: web, replicas: 5, podTemplateName: ""}`),
	)
})
