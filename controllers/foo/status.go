package foo

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/controllers/conditions"
	"github.com/samplecrd/samplecrd/scaling"
)

// stalled are the reasons under which nothing changes until somebody acts.
var stalled = []string{
	samplev1alpha1.FooReasonResourceExists, samplev1alpha1.FooReasonInvalid,
	samplev1alpha1.FooReasonRejected, samplev1alpha1.FooReasonProgressDeadlineExceeded,
}

// wait ends the pass with a reason for not being ready.
func (p *pass) wait(reason, message string) (bool, error) {
	p.set(reason, message)
	return false, nil
}

// set says what Ready is, and Stalled.
func (p *pass) set(reason, message string) {
	p.said = true
	condition := metav1.Condition{
		Type: samplev1alpha1.FooConditionReady, Status: metav1.ConditionTrue,
		Reason: reason, ObservedGeneration: p.foo.Generation,
	}
	if reason != samplev1alpha1.FooReasonReady {
		condition.Status = metav1.ConditionFalse
		if len(p.others) > 0 {
			message += kept(p.others)
		}
	}
	condition.Message = conditions.Message(message)
	all := &p.foo.Status.Conditions
	meta.SetStatusCondition(all, condition)
	if slices.Contains(stalled, reason) {
		condition.Type, condition.Status = samplev1alpha1.FooConditionStalled, metav1.ConditionTrue
		meta.SetStatusCondition(all, condition)
	} else {
		meta.RemoveStatusCondition(all, samplev1alpha1.FooConditionStalled)
	}
}

// kept tells of the Deployments that a rename has not let go of.
func kept(others []*appsv1.Deployment) string {
	if len(others) == 1 {
		return "; Deployment " + others[0].Name + " stays meanwhile"
	}
	const most = 3
	var names []string
	for _, other := range others[:min(len(others), most)] {
		names = append(names, other.Name)
	}
	if len(others) > most {
		names = append(names, "and others")
	}
	return "; Deployments " + strings.Join(names, ", ") + " stay meanwhile"
}

// observe says how far the Deployment has come.
func (r *Reconciler) observe(_ context.Context, p *pass) (bool, error) {
	name := p.foo.Spec.DeploymentName
	if !p.applied && complete(p.deployment) {
		p.set(samplev1alpha1.FooReasonReady, "Every replica is available")
		return true, nil
	}
	if !p.applied && seen(p.deployment) {
		if failure := condition(p.deployment, appsv1.DeploymentReplicaFailure); failure.Status == corev1.ConditionTrue {
			return p.wait(samplev1alpha1.FooReasonReplicaFailure, fmt.Sprintf("Deployment %s cannot make its Pods: %s", name, failure.Message))
		}
		if progress := condition(p.deployment, appsv1.DeploymentProgressing); progress.Status == corev1.ConditionFalse {
			return p.wait(samplev1alpha1.FooReasonProgressDeadlineExceeded, fmt.Sprintf("Deployment %s does not progress: %s", name, progress.Message))
		}
	}
	if !p.applied && p.deployment.Spec.Paused {
		return p.wait(samplev1alpha1.FooReasonProgressing, fmt.Sprintf("Deployment %s is paused; its Pods stay as they are until it is resumed", name))
	}
	return p.wait(samplev1alpha1.FooReasonProgressing, fmt.Sprintf("The Pods of Deployment %s are not as asked yet", name))
}

// seen says that the Deployment's status speaks of what was written last.
func seen(deployment *appsv1.Deployment) bool {
	return deployment.Status.ObservedGeneration >= deployment.Generation
}

// complete says that all the Pods of the Deployment are of the kind that was
// written last, and available.
func complete(deployment *appsv1.Deployment) bool {
	status, wanted := deployment.Status, ptr.Deref(deployment.Spec.Replicas, scaling.DefaultReplicas)
	return seen(deployment) &&
		status.UpdatedReplicas == wanted && status.Replicas == wanted && status.AvailableReplicas == wanted
}

// condition gives a Deployment's condition, an empty one if it has none.
func condition(deployment *appsv1.Deployment, kind appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	for _, found := range deployment.Status.Conditions {
		if found.Type == kind {
			return found
		}
	}
	return appsv1.DeploymentCondition{}
}

// count says what the Foo has: the Deployment that it names or, until there is
// one of its own, the newest that it had.
func (p *pass) count() {
	status := &p.foo.Status
	status.ObservedGeneration = new(p.foo.Generation)
	status.DeploymentName, status.Selector = nil, nil
	status.Replicas, status.AvailableReplicas = new(int32(0)), new(int32(0))
	if p.applied {
		status.DeploymentName, status.Selector = new(p.foo.Spec.DeploymentName), new(labels.FormatLabels(scaling.Selector(p.foo.Name, p.foo.Spec.DeploymentName)))
	}
	has := p.deployment
	if has == nil || !metav1.IsControlledBy(has, p.foo) {
		if p.applied || len(p.others) == 0 {
			return
		}
		has = p.others[0]
	}
	status.DeploymentName, status.Selector = &has.Name, new(metav1.FormatLabelSelector(has.Spec.Selector))
	status.Replicas, status.AvailableReplicas = &has.Status.Replicas, &has.Status.AvailableReplicas
}

// writeStatus is the only writer of a Foo's status: one write per pass, and none
// when nothing changed.
func (r *Reconciler) writeStatus(ctx context.Context, p *pass) error {
	p.count()
	base := p.foo.DeepCopy()
	base.Status = p.stored
	changed, err := r.foos.StoreStatus(ctx, r.client, base, p.foo, Name)
	p.changed = p.changed || changed
	if changed || (err == nil && p.applied) {
		r.tell(p)
	}
	return err
}

// tell records an event when the Deployment was brought to what is asked, when its
// replicas have become available, and when something else is in the way.
func (r *Reconciler) tell(p *pass) {
	before := meta.FindStatusCondition(p.stored.Conditions, samplev1alpha1.FooConditionReady)
	ready := p.ready()
	turned := before == nil || before.Reason != ready.Reason
	synced := func(what string) {
		r.recorder.Eventf(p.foo, nil, corev1.EventTypeNormal, samplev1alpha1.FooEventSynced, "Reconcile", "Foo synced successfully: %s", what)
	}
	switch {
	case p.applied:
		synced(fmt.Sprintf("Deployment %s written, replicas: %d", p.foo.Spec.DeploymentName, scaling.Replicas(&p.foo.Spec)))
	case turned && ready.Status == metav1.ConditionTrue:
		synced(fmt.Sprintf("Deployment %s available, replicas: %d", p.foo.Spec.DeploymentName, scaling.Replicas(&p.foo.Spec)))
	case turned && ready.Reason != samplev1alpha1.FooReasonProgressing:
		r.recorder.Eventf(p.foo, nil, corev1.EventTypeWarning, ready.Reason, "Reconcile", "%s", ready.Message)
	}
}

// ready is the condition as this pass has set it.
func (p *pass) ready() *metav1.Condition {
	return meta.FindStatusCondition(p.foo.Status.Conditions, samplev1alpha1.FooConditionReady)
}
