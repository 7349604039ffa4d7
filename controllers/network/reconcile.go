package network

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/pace"
	"github.com/samplecrd/samplecrd/providers"
)

// pass is one look at one Network: what was read, what was decided, and the
// status that it will end with.
type pass struct {
	network *samplecrdv1.Network
	// stored is the status as it was read.
	stored samplecrdv1.NetworkStatus

	class   *samplecrdv1.NetworkClass
	backend providers.Provider
	plan    addressing.Plan
	// today says why one like it would be refused today; "" when it would not be.
	today string
	// unsure says that today may say too little.
	unsure bool

	result ctrl.Result
	// changed says that this pass wrote something.
	changed bool
	// done says that the Network is gone, or not ours to speak of, or not yet.
	done bool
}

// step does one thing and says whether the next one is to follow.
type step func(ctx context.Context, p *pass) (next bool, err error)

// Reconcile looks at one Network.
func (r *Reconciler) Reconcile(ctx context.Context, network *samplecrdv1.Network) (ctrl.Result, error) {
	if err := r.recall(ctx); err != nil {
		return ctrl.Result{}, err
	}
	if r.own.Behind(client.ObjectKeyFromObject(network), network.ResourceVersion) {
		return ctrl.Result{RequeueAfter: pace.CatchUp}, nil
	}
	p := &pass{network: network.DeepCopy(), stored: network.Status}
	err := r.run(ctx, p)
	err = errors.Join(err, r.writeStatus(ctx, p))
	if err == nil && !p.done {
		r.arbiter.record(p.network.Spec.NetworkClassName, addressing.OwnerOf(p.network), addressing.Recorded(&p.network.Status))
	}
	if err == nil && p.changed {
		ctrl.LoggerFrom(ctx).Info("Successfully synced", "key", network.Namespace+"/"+network.Name)
	}
	return p.result, err
}

func (r *Reconciler) run(ctx context.Context, p *pass) error {
	ctx, cancel := context.WithTimeout(ctx, pace.StepsTimeout)
	defer cancel()
	steps := []step{r.accept, r.claim, r.ensure}
	if p.network.DeletionTimestamp != nil {
		steps = []step{r.finalize}
	}
	for _, do := range steps {
		if next, err := do(ctx, p); err != nil || !next {
			return err
		}
	}
	return nil
}

// store patches the Network itself to what wanted says. The lock keeps what
// somebody else changes meanwhile; a pass that loses it looked at an old Network,
// and has nothing to say in the status either.
func (r *Reconciler) store(ctx context.Context, p *pass, wanted *samplecrdv1.Network) error {
	err := r.client.Patch(ctx, wanted, client.MergeFromWithOptions(p.network, client.MergeFromWithOptimisticLock{}), client.FieldOwner(Name))
	switch {
	case apierrors.IsNotFound(err):
		p.done = true
		return nil
	case apierrors.IsConflict(err):
		p.done = true
		return err
	case err != nil:
		return err
	}
	r.own.Wrote(client.ObjectKeyFromObject(wanted), wanted.ResourceVersion)
	p.changed = true
	wanted.Status = p.network.Status
	p.network = wanted
	return nil
}

// fail records what a backend answered and when to try again. What it has learned
// nothing of is not spoken of either.
func (p *pass) fail(err error) error {
	failure := providers.AsError(err)
	if failure.Reason == "" {
		p.done = true
	} else {
		p.notProgrammed(failure.Reason, failure.Message)
	}
	switch {
	case failure.After > 0:
		p.result.RequeueAfter = failure.After
	case failure.Retry == providers.RetrySlowly:
		p.result.RequeueAfter = pace.Slowly()
	default:
		return err
	}
	return nil
}
