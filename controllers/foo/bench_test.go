package foo

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// BenchmarkHolds compares a Deployment that has all that we want with what we
// want: what every pass over a Foo at rest does.
func BenchmarkHolds(b *testing.B) {
	for name, pods := range map[string]*corev1.PodTemplateSpec{"default container": nil, "PodTemplate": largeTemplate()} {
		b.Run(name, func(b *testing.B) {
			foo := &samplev1alpha1.Foo{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "example-foo", UID: "4b3c"},
				Spec:       samplev1alpha1.FooSpec{DeploymentName: "example-foo", Replicas: new(int32(1))},
			}
			wanted, err := desired(foo, pods, "nginx:latest")
			if err != nil {
				b.Fatal(err)
			}
			// The fake keeps managed fields as the API server does.
			deployments := fake.NewClientset().AppsV1().Deployments(foo.Namespace)
			deployment, err := deployments.Apply(b.Context(), wanted, metav1.ApplyOptions{FieldManager: Name})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if !holds(deployment, wanted) {
					b.Fatal("what was written is not what was wanted")
				}
			}
		})
	}
}

// largeTemplate has what a service of some size has.
func largeTemplate() *corev1.PodTemplateSpec {
	container := corev1.Container{
		Image: "registry.example/app:1",
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("128Mi")},
		},
		ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromString("http")},
		}},
		VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/app"}},
	}
	for _, name := range []string{"A", "B", "C", "D", "E", "F", "G", "H", "I", "J"} {
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: name})
	}
	template := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "shop"}},
		Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "app"}},
		}}}},
	}
	for _, name := range []string{"app", "proxy", "metrics"} {
		container.Name = name
		template.Spec.Containers = append(template.Spec.Containers, *container.DeepCopy())
	}
	return template
}
