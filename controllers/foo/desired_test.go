package foo

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

const image = "registry.example/nginx:1"

// newFoo is a Foo of two replicas of a Deployment.
func newFoo(name, deploymentName string) *samplev1alpha1.Foo {
	return &samplev1alpha1.Foo{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-of-" + name), Generation: 1},
		Spec:       samplev1alpha1.FooSpec{DeploymentName: deploymentName, Replicas: new(int32(2))},
	}
}

// wantedOf is what we write.
func wantedOf(t *testing.T, foo *samplev1alpha1.Foo, pods *corev1.PodTemplateSpec) *appsv1apply.DeploymentApplyConfiguration {
	t.Helper()
	wanted, err := desired(foo, pods, image)
	if err != nil {
		t.Fatal(err)
	}
	return wanted
}

// desiredOf is the same as the API server reads it.
func desiredOf(t *testing.T, foo *samplev1alpha1.Foo, pods *corev1.PodTemplateSpec) *appsv1.Deployment {
	t.Helper()
	return read(t, wantedOf(t, foo, pods))
}

func read(t *testing.T, wanted any) *appsv1.Deployment {
	t.Helper()
	text, err := json.Marshal(wanted)
	if err != nil {
		t.Fatal(err)
	}
	deployment := &appsv1.Deployment{}
	if err := json.Unmarshal(text, deployment); err != nil {
		t.Fatal(err)
	}
	return deployment
}

func TestDesired(t *testing.T) {
	labels := map[string]string{
		"app.kubernetes.io/name": "foo", "app.kubernetes.io/instance": "example-foo",
		"samplecontroller.k8s.io/deployment": "web.v1", "app.kubernetes.io/managed-by": "samplecrd-controller",
	}
	selector := maps.Clone(labels)
	delete(selector, "app.kubernetes.io/managed-by")
	want := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "web.v1", Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "samplecontroller.k8s.io/v1alpha1", Kind: "Foo", Name: "example-foo", UID: "uid-of-example-foo",
				Controller: new(true), BlockOwnerDeletion: new(true),
			}},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "foo", Image: image}}},
			},
		},
	}
	if got := desiredOf(t, newFoo("example-foo", "web.v1"), nil); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// Nothing but our fields is written: each other one is somebody else's to set.
func TestDesiredIsOnlyOurs(t *testing.T) {
	text, err := json.Marshal(wantedOf(t, newFoo("x", "web"), nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, theirs := range []string{"creationTimestamp", "status", "strategy", "annotations", "resources", "uid\":\"\"", "null"} {
		if strings.Contains(string(text), theirs) {
			t.Errorf("%s is written: %s", theirs, text)
		}
	}
}

func TestDesiredReplicas(t *testing.T) {
	for name, tc := range map[string]struct {
		replicas *int32
		want     int32
	}{
		"CF-09: a stored Foo without replicas has 1": {nil, 1},
		"0 is written out":                           {new(int32(0)), 0},
		"what it says":                               {new(int32(7)), 7},
	} {
		t.Run(name, func(t *testing.T) {
			foo := newFoo("x", "web")
			foo.Spec.Replicas = tc.replicas
			if got := desiredOf(t, foo, nil).Spec.Replicas; got == nil || *got != tc.want {
				t.Errorf("got %v, want %d", got, tc.want)
			}
		})
	}
}

func TestDesiredFromAPodTemplate(t *testing.T) {
	spec := corev1.PodSpec{
		Containers:     []corev1.Container{{Name: "web", Image: "registry.example/web:2", Command: []string{"serve"}}, {Name: "beside"}},
		InitContainers: []corev1.Container{{Name: "first"}},
		NodeSelector:   map[string]string{"disk": "fast"},
	}
	pods := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Name: "named", GenerateName: "named-", Namespace: "elsewhere", UID: "u", ResourceVersion: "7", Generation: 3,
			CreationTimestamp: metav1.NewTime(time.Unix(1000, 0)), DeletionTimestamp: new(metav1.Now()), Finalizers: []string{"f"},
			OwnerReferences: []metav1.OwnerReference{{Name: "o"}}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
			Labels:      map[string]string{"team": "shop", "app.kubernetes.io/name": "web", "app.kubernetes.io/managed-by": "helm"},
			Annotations: map[string]string{"note": "kept"},
		},
		Spec: spec,
	}
	before := pods.DeepCopy()
	got := desiredOf(t, newFoo("x", "web"), pods)
	if !reflect.DeepEqual(pods, before) {
		t.Error("the PodTemplate, which is the cache's, was changed")
	}
	want := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{
				"team": "shop", "app.kubernetes.io/name": "foo", "app.kubernetes.io/instance": "x",
				"samplecontroller.k8s.io/deployment": "web", "app.kubernetes.io/managed-by": "samplecrd-controller",
			},
			Annotations: map[string]string{"note": "kept"},
		},
		Spec: spec,
	}
	if !reflect.DeepEqual(got.Spec.Template, want) {
		t.Errorf("got  %+v\nwant %+v", got.Spec.Template, want)
	}
	if len(got.Annotations) > 0 || len(got.Labels) != 4 {
		t.Errorf("the Deployment itself has %v, %v", got.Labels, got.Annotations)
	}
}

// The empty parts that Go and the API server write are nobody's, so that others may
// fill them; an empty part that somebody meant stays.
func TestDesiredLeavesEmptyParts(t *testing.T) {
	pods := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{},
		InitContainers:  []corev1.Container{{Name: "first"}},
		Containers:      []corev1.Container{{Name: "web"}, {Name: "limited", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}},
		Volumes:         []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	}}
	spec := wantedOf(t, newFoo("x", "web"), pods).Spec.Template.Spec
	if spec.SecurityContext != nil || spec.InitContainers[0].Resources != nil || spec.Containers[0].Resources != nil {
		t.Errorf("empty parts are written: %+v", spec)
	}
	if limits := spec.Containers[1].Resources; limits == nil || limits.Limits == nil || spec.Volumes[0].EmptyDir == nil {
		t.Errorf("parts are left out: %+v", spec)
	}
	pods.Spec.SecurityContext.RunAsNonRoot = new(false)
	if context := wantedOf(t, newFoo("x", "web"), pods).Spec.Template.Spec.SecurityContext; context == nil || context.RunAsNonRoot == nil {
		t.Error("false is left out")
	}
}
