package clusterranges

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

func TestSlim(t *testing.T) {
	given := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "node", UID: "uid", ResourceVersion: "7", Generation: 2,
			Labels: map[string]string{"zone": "a"}, Annotations: map[string]string{"key": "value"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec:   corev1.NodeSpec{PodCIDR: "10.1.0.0/24", PodCIDRs: []string{"10.1.0.0/24", "fd00::/64"}, ProviderID: "there", Taints: []corev1.Taint{{Key: "taint"}}},
		Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{Names: []string{"large"}}}},
	}
	want := &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "uid", ResourceVersion: "7"},
		Spec:       corev1.NodeSpec{PodCIDR: "10.1.0.0/24", PodCIDRs: []string{"10.1.0.0/24", "fd00::/64"}},
	}
	if got, err := slim(given); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v and %v, want %v", got, err, want)
	}
	tombstone := cache.DeletedFinalStateUnknown{Key: "x"}
	if got, err := slim(tombstone); err != nil || !reflect.DeepEqual(got, tombstone) {
		t.Errorf("another object becomes %v and %v", got, err)
	}
}
