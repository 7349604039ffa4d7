package network

import (
	"context"
	"errors"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// sweeping lets go of what torn Networks of a name left behind before inner looks at
// the Network that may have it now. To delete an object without finalizers the API
// server looks for them and removes it later: one that is added in between is torn
// away with the object.
func (r *Reconciler) sweeping(inner reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (ctrl.Result, error) {
		if err := r.sweep(ctx, request); err != nil {
			return ctrl.Result{}, err
		}
		return inner.Reconcile(ctx, request)
	})
}

func (r *Reconciler) sweep(ctx context.Context, request reconcile.Request) error {
	var errs []error
	r.torn.Range(func(uid, value any) bool {
		network := value.(*samplecrdv1.Network)
		if client.ObjectKeyFromObject(network) != request.NamespacedName {
			return true
		}
		backends, err := r.backendsOf(network)
		for _, backend := range backends {
			err = errors.Join(err, r.letGo(ctx, network, backend))
		}
		if errs = append(errs, err); err == nil {
			r.torn.Delete(uid)
			ctrl.LoggerFrom(ctx).Info("Let go of what was made for a Network that is gone", "uid", uid)
		}
		return true
	})
	return errors.Join(errs...)
}
