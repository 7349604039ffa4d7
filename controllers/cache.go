package controllers

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/samplecrd/samplecrd/addressing"
	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/controllers/claims"
	"github.com/samplecrd/samplecrd/controllers/clusterranges"
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

// FillCache has mgr's cache find objects by the fields that webhooks and controllers
// look for, and returns when it holds all that the webhooks read. It gives what is
// known of the address space, which stays as the cache is until ctx ends; the ranges
// of the cluster itself are not waited for.
func FillCache(ctx context.Context, mgr cluster.Cluster) (addressing.Space, error) {
	c := mgr.GetCache()
	if err := foo.IndexFields(ctx, c); err != nil {
		return addressing.Space{}, err
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	var errs []error
	for _, kind := range []client.Object{
		&samplev1alpha1.Foo{}, &appsv1.Deployment{}, &corev1.PodTemplate{}, namespace,
	} {
		_, err := c.GetInformer(ctx, kind)
		errs = append(errs, err)
	}
	var space addressing.Space
	var err error
	space.Claims, err = claims.Feed(ctx, c)
	errs = append(errs, err)
	space.Cluster, err = clusterranges.Feed(ctx, mgr)
	return space, errors.Join(append(errs, err)...)
}
