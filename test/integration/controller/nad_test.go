package controller

import (
	"encoding/json"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/samplecrd/samplecrd/providers/multus"
)

// cni is what a test reads of a CNI configuration.
type cni struct {
	Name, Type, Bridge      string
	IsGateway, ForceAddress bool
	IPAM                    struct {
		Type   string
		Ranges [][]cniRange
	}
}

type cniRange struct{ Subnet, Gateway, RangeStart, RangeEnd string }

func newNAD(namespace, name string) *unstructured.Unstructured {
	nad := &unstructured.Unstructured{}
	nad.SetGroupVersionKind(multus.Kind)
	nad.SetNamespace(namespace)
	nad.SetName(name)
	return nad
}

func newNADList() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(multus.Kind.GroupVersion().WithKind(multus.Kind.Kind + "List"))
	return list
}

// nad reads the NetworkAttachmentDefinition of that name, for Eventually too.
func (w *world) nad(name string) func(Gomega) *unstructured.Unstructured {
	return func(g Gomega) *unstructured.Unstructured {
		nad := newNAD(w.Namespace, name)
		g.Expect(w.Client.Get(ctx, types.NamespacedName{Namespace: w.Namespace, Name: name}, nad)).To(Succeed())
		return nad
	}
}

// cni reads the CNI configuration of the Network of that name.
func (w *world) cni(name string) func(Gomega) cni {
	return func(g Gomega) cni {
		text, _, err := unstructured.NestedString(w.nad(name)(g).Object, "spec", "config")
		g.Expect(err).NotTo(HaveOccurred())
		var config cni
		g.Expect(json.Unmarshal([]byte(text), &config)).To(Succeed())
		return config
	}
}

// tamper edits a NetworkAttachmentDefinition as a stranger would.
func (w *world) tamper(name string, change func(*unstructured.Unstructured)) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		nad := w.nad(name)(g)
		change(nad)
		g.Expect(w.Client.Update(ctx, nad)).To(Succeed())
	}).Should(Succeed())
}
