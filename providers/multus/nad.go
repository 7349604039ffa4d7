package multus

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// Kind is the NetworkAttachmentDefinition. It is used unstructured: its CRD
// belongs to Multus and may be missing.
var Kind = schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"}

const (
	labelManagedBy = "app.kubernetes.io/managed-by"
	managedBy      = "samplecrd-controller"
)

func newNAD(namespace, name string) *unstructured.Unstructured {
	nad := &unstructured.Unstructured{}
	nad.SetGroupVersionKind(Kind)
	nad.SetNamespace(namespace)
	nad.SetName(name)
	return nad
}

// mark makes nad ours, keeping the owners and labels that others gave it.
func mark(nad *unstructured.Unstructured, id providers.Identity) {
	owner := metav1.OwnerReference{
		APIVersion: samplecrdv1.SchemeGroupVersion.String(), Kind: "Network",
		Name: id.Name, UID: id.UID, Controller: new(true), BlockOwnerDeletion: new(true),
	}
	owners := nad.GetOwnerReferences()
	replaced := false
	for i := range owners {
		if owners[i].UID == id.UID {
			owners[i], replaced = owner, true
		}
	}
	if !replaced {
		owners = append(owners, owner)
	}
	nad.SetOwnerReferences(owners)
	labels := nad.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[labelManagedBy] = managedBy
	nad.SetLabels(labels)
}

func setConfig(nad *unstructured.Unstructured, text string) {
	nad.Object["spec"] = map[string]any{"config": text}
}

func isOurs(nad *unstructured.Unstructured, id providers.Identity) bool {
	for _, owner := range nad.GetOwnerReferences() {
		if owner.UID == id.UID {
			return true
		}
	}
	return false
}

func foreign(id providers.Identity) error {
	return providers.Conflict("NetworkAttachmentDefinition %q exists without this Network's owner reference; delete it to have it made anew", id.Name)
}
