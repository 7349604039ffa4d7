package foo

import (
	"context"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// Fields that the cache finds objects by.
const (
	fieldPodTemplateName = "spec.podTemplateName"
	fieldController      = "metadata.controller"
)

// IndexFields has the cache find Foos by the names they have, and Deployments by
// the Foo that controls them.
func IndexFields(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range []struct {
		object client.Object
		field  string
		value  func(client.Object) []string
	}{
		{&samplev1alpha1.Foo{}, samplev1alpha1.FieldDeploymentName, DeploymentNames},
		{&samplev1alpha1.Foo{}, fieldPodTemplateName, func(object client.Object) []string {
			return []string{object.(*samplev1alpha1.Foo).Spec.PodTemplateName}
		}},
		{&appsv1.Deployment{}, fieldController, func(object client.Object) []string {
			if controller := metav1.GetControllerOf(object); controller != nil {
				return []string{string(controller.UID)}
			}
			return nil
		}},
	} {
		if err := indexer.IndexField(ctx, index.object, index.field, index.value); err != nil {
			return fmt.Errorf("indexing %s of %T: %w", index.field, index.object, err)
		}
	}
	return nil
}

// DeploymentNames are what samplev1alpha1.FieldDeploymentName is in a Foo.
func DeploymentNames(object client.Object) []string {
	return []string{object.(*samplev1alpha1.Foo).Spec.DeploymentName}
}

// Slim is the transform of Deployments in the cache: those that are made by Foos
// stay whole, of all others only what tells whose they are.
func Slim(object any) (any, error) {
	deployment, isDeployment := object.(*appsv1.Deployment)
	if !isDeployment || deployment.Labels[labelManagedBy] == managedBy || isFoo(metav1.GetControllerOf(deployment)) {
		return object, nil
	}
	return &appsv1.Deployment{
		TypeMeta: deployment.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace: deployment.Namespace, Name: deployment.Name,
			UID: deployment.UID, ResourceVersion: deployment.ResourceVersion,
			DeletionTimestamp: deployment.DeletionTimestamp,
			Labels:            deployment.Labels,
			Annotations:       withoutManifest(deployment.Annotations),
			OwnerReferences:   deployment.OwnerReferences,
		},
		Spec: appsv1.DeploymentSpec{
			Selector: deployment.Spec.Selector,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: deployment.Spec.Template.Annotations}},
		},
	}, nil
}

// withoutManifest leaves out what client-side apply keeps: the largest part of
// many Deployments.
func withoutManifest(annotations map[string]string) map[string]string {
	kept := maps.Clone(annotations)
	delete(kept, corev1.LastAppliedConfigAnnotation)
	return kept
}

func isFoo(owner *metav1.OwnerReference) bool {
	return owner != nil && owner.Kind == "Foo" && owner.APIVersion == samplev1alpha1.SchemeGroupVersion.String()
}
