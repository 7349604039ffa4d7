package foo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/scaling"
)

// gather reads the Deployments that concern the Foo.
func (r *Reconciler) gather(ctx context.Context, p *pass) (bool, error) {
	var controlled appsv1.DeploymentList
	if err := r.client.List(ctx, &controlled, client.InNamespace(p.foo.Namespace), client.MatchingFields{fieldController: string(p.foo.UID)}); err != nil {
		return false, fmt.Errorf("listing Deployments: %w", err)
	}
	for i := range controlled.Items {
		other := &controlled.Items[i]
		// A copy that somebody made of ours has our owner reference too, but not the
		// selector that we give to one of its name.
		made := scaling.Selects(other.Spec.Selector, p.foo.Name, other.Name)
		if made && other.Name != p.foo.Spec.DeploymentName && other.DeletionTimestamp == nil {
			p.others = append(p.others, other)
		}
	}
	slices.SortFunc(p.others, func(a, b *appsv1.Deployment) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	if p.foo.Spec.DeploymentName == "" {
		return true, nil
	}
	var err error
	p.deployment, err = r.read(ctx, types.NamespacedName{Namespace: p.foo.Namespace, Name: p.foo.Spec.DeploymentName})
	return err == nil, err
}

// read gives a Deployment, nil when there is none: from the cache, or directly
// when the cache does not have our last write yet.
func (r *Reconciler) read(ctx context.Context, key types.NamespacedName) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{}
	err := r.client.Get(ctx, key, deployment)
	if client.IgnoreNotFound(err) == nil && r.deployments.Behind(key, deployment.ResourceVersion) {
		deployment = &appsv1.Deployment{}
		err = r.live.Get(ctx, key, deployment)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Deployment %s: %w", key.Name, err)
	}
	return deployment, nil
}
