package foo

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/controllers/pace"
)

// pass is one look at one Foo: what was read, what was decided, and the status
// that it will end with.
type pass struct {
	foo *samplev1alpha1.Foo
	// stored is the status as it was read.
	stored samplev1alpha1.FooStatus

	// deployment is the one that the Foo names, whoever's it is; nil when there is
	// none.
	deployment *appsv1.Deployment
	// others are the Deployments that the Foo controls under other names: what a
	// rename has not let go of yet. The newest comes first.
	others []*appsv1.Deployment
	// pods is what the Foo's Pods are made from; nil for the default container.
	pods *corev1.PodTemplateSpec

	result ctrl.Result
	// applied says that this pass wrote the Deployment.
	applied bool
	// changed says that this pass wrote something.
	changed bool
	// said says that there is something to say in the status.
	said bool
}

// step does one thing and says whether the next one is to follow.
type step func(ctx context.Context, p *pass) (next bool, err error)

// Reconcile looks at one Foo. What it made goes with it, by owner reference.
func (r *Reconciler) Reconcile(ctx context.Context, foo *samplev1alpha1.Foo) (ctrl.Result, error) {
	if foo.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	if r.foos.Behind(client.ObjectKeyFromObject(foo), foo.ResourceVersion) {
		return ctrl.Result{RequeueAfter: pace.CatchUp}, nil
	}
	p := &pass{foo: foo.DeepCopy(), stored: foo.Status}
	err := r.run(ctx, p)
	if !p.said {
		return p.result, err
	}
	err = errors.Join(err, r.writeStatus(ctx, p))
	if err == nil && p.changed {
		p.log(ctx)
	}
	return p.result, err
}

// log writes one line for a pass that changed something.
func (p *pass) log(ctx context.Context) {
	text, ready := "Successfully synced", p.ready()
	if ready.Status != metav1.ConditionTrue && ready.Reason != samplev1alpha1.FooReasonProgressing {
		text = "Not synced"
	}
	ctrl.LoggerFrom(ctx).Info(text, "reason", ready.Reason, "message", ready.Message,
		"deployment", p.foo.Spec.DeploymentName, "written", p.applied, "key", p.foo.Namespace+"/"+p.foo.Name)
}

func (r *Reconciler) run(ctx context.Context, p *pass) error {
	ctx, cancel := context.WithTimeout(ctx, pace.StepsTimeout)
	defer cancel()
	for _, do := range []step{r.gather, r.accept, r.template, r.apply, r.sweep, r.observe} {
		if next, err := do(ctx, p); err != nil || !next {
			return err
		}
	}
	return nil
}
