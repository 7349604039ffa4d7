package render

import (
	"slices"
	"strings"
	"testing"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// components are those that config/default leaves to choose.
var components = []string{"fail-open", "network-policy", "prometheus"}

func TestWO16EverythingFollowsTheNamespace(t *testing.T) {
	for name, tc := range map[string]struct {
		bundle func(*testing.T) Bundle
		want   string
	}{
		"as it is": {func(t *testing.T) Bundle { return with(t, components...) }, "samplecrd-system"},
		"kustomize edit set namespace beta": {func(t *testing.T) Bundle {
			return edited(t, "namespace: samplecrd-system", "namespace: beta",
				"  - ../components/ha\n", "  - ../components/ha\n  - ../components/network-policy\n  - ../components/prometheus\n")
		}, "beta"},
		"an overlay that sets it": {func(t *testing.T) Bundle {
			return overlaid(t, "namespace: beta\ntransformers: [ROOT/certs/cert-manager/names]\n"+chosen(components...))
		}, "beta"},
	} {
		t.Run(name, func(t *testing.T) {
			bundle := tc.bundle(t)
			named[*corev1.Namespace](t, bundle, tc.want)
			for _, object := range bundle {
				if !slices.Contains([]string{"", tc.want}, object.GetNamespace()) {
					t.Errorf("%T %s is in namespace %s", object, object.GetName(), object.GetNamespace())
				}
			}
			for where, said := range namespaces(t, bundle) {
				if said != tc.want {
					t.Errorf("%s says %q", where, said)
				}
			}
		})
	}
}

// namespaces are the places that say the namespace without being in it.
func namespaces(t *testing.T, bundle Bundle) map[string]string {
	t.Helper()
	said := map[string]string{}
	leaf := named[*certmanagerv1.Certificate](t, bundle, "samplecrd-webhook-server")
	for _, name := range leaf.Spec.DNSNames {
		said["DNS name "+name] = strings.Split(name, ".")[1]
	}
	for _, e := range entries(bundle) {
		said[e.configuration+" "+e.name] = e.service.Namespace
	}
	for _, c := range All[*admissionv1.MutatingWebhookConfiguration](bundle) {
		said["root of the mutating webhooks"] = strings.Split(c.Annotations[certmanagerv1.WantInjectAnnotation], "/")[0]
	}
	for _, c := range All[*admissionv1.ValidatingWebhookConfiguration](bundle) {
		said["root of the validating webhooks"] = strings.Split(c.Annotations[certmanagerv1.WantInjectAnnotation], "/")[0]
	}
	for _, binding := range All[*rbacv1.ClusterRoleBinding](bundle) {
		said["ClusterRoleBinding "+binding.Name] = binding.Subjects[0].Namespace
	}
	for _, binding := range All[*rbacv1.RoleBinding](bundle) {
		said["RoleBinding "+binding.Name] = binding.Subjects[0].Namespace
	}
	return said
}

// A redeploy into another namespace must find the configurations that are there, and
// not add its own.
func TestWO16ConfigurationsKeepTheirNames(t *testing.T) {
	bundle := edited(t, "namespace: samplecrd-system", "namespace: beta")
	if all := All[*admissionv1.MutatingWebhookConfiguration](bundle); len(all) != 1 || all[0].Name != controller {
		t.Errorf("mutating: %v", all)
	}
	if all := All[*admissionv1.ValidatingWebhookConfiguration](bundle); len(all) != 1 || all[0].Name != controller {
		t.Errorf("validating: %v", all)
	}
}

func TestImage(t *testing.T) {
	bundle := edited(t, "  - name: samplecrd-controller\n    newTag: dev\n", "  - name: samplecrd-controller\n    newName: registry.example:5000/controller\n    newTag: v1\n")
	if got := named[*appsv1.Deployment](t, bundle, controller).Spec.Template.Spec.Containers[0].Image; got != "registry.example:5000/controller:v1" {
		t.Errorf("the image is %s", got)
	}
}

func TestEverythingIsMarkedAsOurs(t *testing.T) {
	for _, object := range standard(t) {
		if _, isNamespace := object.(*corev1.Namespace); !isNamespace && object.GetLabels()["app.kubernetes.io/part-of"] != "samplecrd" {
			t.Errorf("%T %s is not", object, object.GetName())
		}
	}
	seen := map[string]client.Object{}
	for _, object := range with(t, components...) {
		key := object.GetObjectKind().GroupVersionKind().String() + object.GetNamespace() + "/" + object.GetName()
		if seen[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		seen[key] = object
	}
}
