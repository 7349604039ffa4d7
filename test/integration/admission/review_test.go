package admission_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// operation is one entry of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// The two webhooks of a kind, as the paths begin under which they are served.
const (
	defaulting = "mutate"
	validating = "validate"
)

// review asks one webhook directly, as the API server does, so that its verdict
// and its patch are seen apart from the CRD's rules. old is nil in a create.
func review(webhook string, object, old *unstructured.Unstructured) *admissionv1.AdmissionResponse {
	GinkgoHelper()
	kind := object.GroupVersionKind()
	singular := strings.ToLower(kind.Kind)
	path := strings.Join([]string{"/" + webhook, strings.ReplaceAll(kind.Group, ".", "-"), kind.Version, singular}, "-")
	request := &admissionv1.AdmissionRequest{
		UID:       types.UID("review"),
		Kind:      metav1.GroupVersionKind(kind),
		Resource:  metav1.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: singular + "s"},
		Name:      object.GetName(),
		Namespace: object.GetNamespace(),
		Operation: admissionv1.Create,
		Object:    raw(object),
	}
	if old != nil {
		request.Operation, request.OldObject = admissionv1.Update, raw(old)
	}
	body, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request:  request,
	})
	Expect(err).NotTo(HaveOccurred())

	roots := x509.NewCertPool()
	Expect(roots.AppendCertsFromPEM(control.Webhooks.LocalServingCAData)).To(BeTrue())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	host := net.JoinHostPort(control.Webhooks.LocalServingHost, strconv.Itoa(control.Webhooks.LocalServingPort))
	response, err := (&http.Client{Transport: transport}).Post("https://"+host+path, "application/json", bytes.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	Expect(response).To(HaveHTTPStatus(http.StatusOK))
	var answered admissionv1.AdmissionReview
	Expect(json.NewDecoder(response.Body).Decode(&answered)).To(Succeed())
	return answered.Response
}

func raw(object *unstructured.Unstructured) runtime.RawExtension {
	GinkgoHelper()
	text, err := object.MarshalJSON()
	Expect(err).NotTo(HaveOccurred())
	return runtime.RawExtension{Raw: text}
}

// patchOf reads the patch of a response.
func patchOf(response *admissionv1.AdmissionResponse) []operation {
	GinkgoHelper()
	var patch []operation
	if len(response.Patch) > 0 {
		Expect(json.Unmarshal(response.Patch, &patch)).To(Succeed())
	}
	return patch
}

// patched applies a patch that only adds or replaces fields of the spec, which is
// all that the defaulting webhook may do.
func patched(object *unstructured.Unstructured, patch []operation) *unstructured.Unstructured {
	GinkgoHelper()
	result := object.DeepCopy()
	for _, change := range patch {
		name, under := strings.CutPrefix(change.Path, "/spec/")
		Expect(under && !strings.Contains(name, "/")).To(BeTrue(), "only fields of the spec are touched: %s", change.Path)
		Expect(change.Op).To(BeElementOf("add", "replace"))
		Expect(unstructured.SetNestedField(result.Object, change.Value, "spec", name)).To(Succeed())
	}
	return result
}

// webhooksAlone sends object through the defaulting and then the validating
// webhook, and gives the object as the former left it and the verdict.
func webhooksAlone(object, old *unstructured.Unstructured) (*unstructured.Unstructured, *admissionv1.AdmissionResponse) {
	GinkgoHelper()
	response := review(defaulting, object, old)
	if !response.Allowed {
		return object, response
	}
	Expect(response.Warnings).To(BeEmpty(), "only the validating webhook warns")
	final := patched(object, patchOf(response))
	return final, review(validating, final, old)
}

// asStored dresses object as the API server sends it to a webhook.
func asStored(object *unstructured.Unstructured) *unstructured.Unstructured {
	dressed := object.DeepCopy()
	metadata := dressed.Object["metadata"].(map[string]any)
	metadata["uid"] = "2f9ae1b6-0e4f-4c0f-8a3e-000000000001"
	metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
	metadata["generation"] = int64(1)
	metadata["managedFields"] = []any{map[string]any{
		"manager": "user", "operation": "Update", "apiVersion": dressed.GetAPIVersion(), "time": "2026-01-01T00:00:00Z",
		"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{"f:cidr": map[string]any{}}},
	}}
	if _, has := dressed.Object["status"]; !has {
		dressed.Object["status"] = map[string]any{"observedGeneration": int64(-1)}
	}
	return dressed
}

var _ = Describe("The defaulting webhook's patch", func() {
	DescribeTable("adds what is absent and touches nothing else", func(spec string, want ...operation) {
		sent := asStored(network(newNamespace(), "subject", spec))
		response := review(defaulting, sent, nil)
		Expect(response.Allowed).To(BeTrue(), "%v", response.Result)
		Expect(patchOf(response)).To(ConsistOf(want))
	},
		func(spec string, _ ...operation) string { return spec },
		Entry(nil, `{cidr: 10.0.0.0/24}`, operation{"add", "/spec/gateway", "10.0.0.1"}),
		Entry(nil, `{cidr: 10.0.0.0/24, gateway: ""}`, operation{"replace", "/spec/gateway", "10.0.0.1"}),
		Entry(nil, `{cidr: 10.0.0.0/24, gateway: None}`),
		Entry(nil, `{cidr: 10.0.0.0/24, gateway: 10.0.0.9}`),
		Entry(nil, `{cidr: 10.0.0.0/24, gateway: 10.0.0.9, colour: blue}`),
		Entry(nil, `{cidr: 10.0.0.0/24, colour: blue, shape: {corners: 3}}`, operation{"add", "/spec/gateway", "10.0.0.1"}),
		Entry(nil, `{cidr: 10.0.0.0/24, additionalSubnets: [{cidr: 10.1.0.0/24, colour: blue}]}`, operation{"add", "/spec/gateway", "10.0.0.1"}),
		Entry(nil, `{cidr: 10.0.0.0/24, dnsServers: [], routes: [], allocationPools: [], additionalSubnets: []}`, operation{"add", "/spec/gateway", "10.0.0.1"}),
		Entry(nil, `{cidr: 10.0.0.0/24, networkClassName: "", mtu: 1500, dhcp: Disabled, deletionPolicy: Retain}`, operation{"add", "/spec/gateway", "10.0.0.1"}),
	)

	DescribeTable("leaves status and metadata alone", func(status string) {
		sent := asStored(withField(network(newNamespace(), "subject", `{cidr: 10.0.0.0/24}`), "status", status))
		Expect(patchOf(review(defaulting, sent, nil))).To(ConsistOf(operation{"add", "/spec/gateway", "10.0.0.1"}))
	},
		func(status string) string { return "status: " + status },
		Entry(nil, `{}`),
		Entry(nil, `{observedGeneration: 0}`),
		Entry(nil, `{conditions: [], subnets: []}`),
		Entry(nil, `{observedGeneration: 3, provider: Multus, providerID: "", colour: blue, subnets: [{cidr: 10.0.0.0/24, state: Active}]}`),
		Entry(nil, `{conditions: [{type: Ready, status: "True", reason: Ready, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}]}`),
	)

	DescribeTable("on update fills what is absent and follows the CIDR", func(before, after string, want ...operation) {
		old := asStored(network(newNamespace(), "subject", before))
		Expect(patchOf(review(defaulting, withSpec(old, after), old))).To(ConsistOf(want))
	},
		func(before, after string, _ ...operation) string { return fmt.Sprintf("%s to %s", before, after) },
		Entry(nil, `{cidr: 10.0.0.0/24, gateway: 10.0.0.1}`, `{cidr: 10.1.0.0/24, gateway: 10.0.0.1}`, operation{"replace", "/spec/gateway", "10.1.0.1"}),
		Entry(nil, `{cidr: 10.0.0.0/24, gateway: 10.0.0.1}`, `{cidr: 10.1.0.0/24}`, operation{"add", "/spec/gateway", "10.1.0.1"}),
		Entry(nil, `{cidr: 10.0.0.0/24, gateway: 10.0.0.1}`, `{cidr: 10.0.0.0/16, gateway: 10.0.0.1}`),
		Entry(nil, `{cidr: 10.0.0.0/24, gateway: 10.0.0.1, networkClassName: a, deletionPolicy: Retain}`, `{cidr: 10.0.0.0/24, gateway: 10.0.0.1, mtu: 1400}`,
			operation{"add", "/spec/networkClassName", "a"}, operation{"add", "/spec/deletionPolicy", "Retain"}),
		Entry(nil, `{cidr: 10.0.0.0/24}`, `{cidr: 10.0.0.0/24}`),
		Entry(nil, `{cidr: 10.0.0.0/24}`, `{cidr: 10.0.0.0/24, additionalSubnets: []}`),
	)
})
