package foo

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sweep deletes what a rename left behind, once the new Deployment is available.
// The preconditions keep away from one that has changed since, and may no longer
// be ours.
func (r *Reconciler) sweep(ctx context.Context, p *pass) (bool, error) {
	if p.applied || !complete(p.deployment) {
		return true, nil
	}
	for _, old := range p.others {
		err := r.client.Delete(ctx, old, client.PropagationPolicy(metav1.DeletePropagationBackground),
			client.Preconditions{UID: &old.UID, ResourceVersion: &old.ResourceVersion})
		if client.IgnoreNotFound(err) != nil {
			return p.failed(fmt.Sprintf("Deployment %s, which %s has replaced, cannot be deleted", old.Name, p.deployment.Name), err)
		}
		p.changed = true
	}
	p.others = nil
	return true, nil
}
