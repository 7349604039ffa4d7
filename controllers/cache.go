package controllers

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/foo"
)

// CacheOptions say what the manager's cache keeps of each kind. Webhooks and
// controllers share it.
func CacheOptions() cache.Options {
	strip := cache.TransformStripManagedFields()
	return cache.Options{
		// By type here and not in ByObject, for which the API server would be asked
		// before the manager starts: it may not be there yet.
		DefaultTransform: func(object any) (any, error) {
			if _, isDeployment := object.(*appsv1.Deployment); isDeployment {
				return foo.Slim(object)
			}
			return strip(object)
		},
	}
}

// FillCache has the cache find objects by the fields that webhooks and controllers
// look for, and returns when it holds all that the webhooks read.
func FillCache(ctx context.Context, c cache.Cache) error {
	if err := foo.IndexFields(ctx, c); err != nil {
		return err
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	var errs []error
	for _, kind := range []client.Object{
		&samplecrdv1.Network{}, &samplecrdv1.NetworkClass{}, &samplev1alpha1.Foo{},
		&appsv1.Deployment{}, &corev1.PodTemplate{}, namespace,
	} {
		_, err := c.GetInformer(ctx, kind)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
