package foo

import (
	"encoding/json"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/scaling"
)

// Deployments and Pods have the labels that select, and this one.
const (
	labelManagedBy = "app.kubernetes.io/managed-by"
	managedBy      = "samplecrd-controller"
)

// container is the name of the only container of a Foo without a PodTemplate.
const container = "foo"

// desired is what we write of the Deployment of a Foo: its labels, its owner, the
// replicas, the selector and the Pods' template. pods is nil for the default
// container.
func desired(foo *samplev1alpha1.Foo, pods *corev1.PodTemplateSpec, image string) (*appsv1apply.DeploymentApplyConfiguration, error) {
	template, err := podTemplate(pods, image)
	if err != nil {
		return nil, err
	}
	selector := scaling.Selector(foo.Name, foo.Spec.DeploymentName)
	labels := maps.Clone(selector)
	labels[labelManagedBy] = managedBy
	owner := metav1apply.OwnerReference().
		WithAPIVersion(samplev1alpha1.SchemeGroupVersion.String()).WithKind("Foo").
		WithName(foo.Name).WithUID(foo.UID).
		WithController(true).WithBlockOwnerDeletion(true)
	return appsv1apply.Deployment(foo.Spec.DeploymentName, foo.Namespace).
		WithLabels(labels).
		WithOwnerReferences(owner).
		WithSpec(appsv1apply.DeploymentSpec().
			WithReplicas(scaling.Replicas(&foo.Spec)).
			WithSelector(metav1apply.LabelSelector().WithMatchLabels(selector)).
			WithTemplate(template.WithLabels(labels))), nil
}

// podTemplate keeps of a PodTemplate what a Deployment's may have: its labels,
// annotations and spec.
func podTemplate(pods *corev1.PodTemplateSpec, image string) (*corev1apply.PodTemplateSpecApplyConfiguration, error) {
	if pods == nil {
		return corev1apply.PodTemplateSpec().WithSpec(corev1apply.PodSpec().
			WithContainers(corev1apply.Container().WithName(container).WithImage(image))), nil
	}
	kept := corev1.PodTemplateSpec{Spec: pods.Spec}
	kept.Labels, kept.Annotations = pods.Labels, pods.Annotations
	text, err := json.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("reading the PodTemplate: %w", err)
	}
	template := corev1apply.PodTemplateSpec()
	if err := json.Unmarshal(text, template); err != nil {
		return nil, fmt.Errorf("reading the PodTemplate: %w", err)
	}
	leaveToOthers(template.Spec)
	return template, nil
}

// leaveToOthers takes out the empty parts that the API server and Go write for
// what nobody has said, so that we do not own them and others may fill them.
func leaveToOthers(spec *corev1apply.PodSpecApplyConfiguration) {
	if empty := spec.SecurityContext; empty != nil && equality.Semantic.DeepEqual(*empty, corev1apply.PodSecurityContextApplyConfiguration{}) {
		spec.SecurityContext = nil
	}
	for _, containers := range [][]corev1apply.ContainerApplyConfiguration{spec.Containers, spec.InitContainers} {
		for i := range containers {
			if empty := containers[i].Resources; empty != nil && equality.Semantic.DeepEqual(*empty, corev1apply.ResourceRequirementsApplyConfiguration{}) {
				containers[i].Resources = nil
			}
		}
	}
}
