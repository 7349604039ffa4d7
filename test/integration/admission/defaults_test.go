package admission_test

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/samplecrd/samplecrd/test/env"
)

// withDefaults fills in what the CRD's schema does before a webhook sees an object. The
// API server itself cannot be asked: what it refuses, it does not show.
func withDefaults(object *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	crds, err := env.CRDs()
	Expect(err).NotTo(HaveOccurred())
	filled := object.DeepCopy()
	for _, crd := range crds {
		if crd.Spec.Names.Kind == object.GetKind() {
			fillIn(filled.Object, crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
		}
	}
	return filled
}

// fillIn fills in the members of an object, wherever it has objects of its own. A null
// is none.
func fillIn(object map[string]any, schema *apiextensionsv1.JSONSchemaProps) {
	GinkgoHelper()
	for name, property := range schema.Properties {
		if object[name] == nil && property.Default != nil {
			var value any
			Expect(json.Unmarshal(property.Default.Raw, &value)).To(Succeed())
			object[name] = value
		}
		if member, is := object[name].(map[string]any); is {
			fillIn(member, &property)
		}
	}
}
