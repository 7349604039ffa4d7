package networkclass

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/pace"
)

// pass is one look at one class.
type pass struct {
	class *samplecrdv1.NetworkClass
	// inUse says that the class is being deleted and Networks name it.
	inUse bool
	// changed says that this pass wrote something.
	changed bool
	// done says that the class is gone, or that nothing is to be said of it.
	done bool
}

// Reconcile looks at one class.
func (r *Reconciler) Reconcile(ctx context.Context, class *samplecrdv1.NetworkClass) (ctrl.Result, error) {
	if r.own.Behind(client.ObjectKeyFromObject(class), class.ResourceVersion) {
		return ctrl.Result{RequeueAfter: pace.CatchUp}, nil
	}
	p := &pass{class: class}
	step := r.hold
	if class.DeletionTimestamp != nil {
		step = r.release
	}
	// A class that cannot be held yet can still be spoken of.
	err := errors.Join(step(ctx, p), r.writeStatus(ctx, p))
	if err == nil && p.changed {
		ctrl.LoggerFrom(ctx).Info("Successfully synced", "key", class.Name)
	}
	return ctrl.Result{}, err
}

// hold keeps the class until release lets it go.
func (r *Reconciler) hold(ctx context.Context, p *pass) error {
	held := p.class.DeepCopy()
	if !controllerutil.AddFinalizer(held, samplecrdv1.NetworkClassFinalizer) {
		return nil
	}
	if err := r.store(ctx, p, held); err != nil {
		return fmt.Errorf("adding the finalizer: %w", err)
	}
	return nil
}

// release lets the class go once no Network names it. The end of a Network brings
// us back.
func (r *Reconciler) release(ctx context.Context, p *pass) error {
	released := p.class.DeepCopy()
	if !controllerutil.RemoveFinalizer(released, samplecrdv1.NetworkClassFinalizer) {
		p.done = true
		return nil
	}
	var err error
	if p.inUse, err = r.inUse(ctx, p.class.Name); err != nil {
		p.done = true
		return fmt.Errorf("looking for a Network of the class: %w", err)
	}
	if p.inUse {
		return nil
	}
	if err := r.store(ctx, p, released); err != nil {
		return fmt.Errorf("removing the finalizer: %w", err)
	}
	p.done = true
	return nil
}

// inUse says whether any Network names the class. Where the kind is not served there
// is none: its objects went with its CRD.
func (r *Reconciler) inUse(ctx context.Context, name string) (bool, error) {
	var networks samplecrdv1.NetworkList
	err := r.live.List(ctx, &networks, client.MatchingFields{samplecrdv1.FieldNetworkClassName: name}, client.Limit(1))
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return false, nil
	}
	return len(networks.Items) > 0, err
}

// store patches the class itself to what wanted says. The lock keeps the finalizers
// of others.
func (r *Reconciler) store(ctx context.Context, p *pass, wanted *samplecrdv1.NetworkClass) error {
	err := r.client.Patch(ctx, wanted, client.MergeFromWithOptions(p.class, client.MergeFromWithOptimisticLock{}), client.FieldOwner(Name))
	if err != nil {
		// The class is another one by now, or gone.
		p.done = apierrors.IsConflict(err) || apierrors.IsNotFound(err)
		return client.IgnoreNotFound(err)
	}
	r.own.Wrote(client.ObjectKeyFromObject(wanted), wanted.ResourceVersion)
	p.class, p.changed = wanted, true
	return nil
}
