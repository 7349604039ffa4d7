package networkclass

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/conditions"
)

// verdict says whether Networks of the class can be made. It names no Network and
// counts none: a class is read by every tenant.
func (r *Reconciler) verdict(p *pass) (status metav1.ConditionStatus, reason, message string) {
	if p.inUse {
		return metav1.ConditionFalse, samplecrdv1.NetworkClassReasonInUse, "Being deleted; Networks still use it and new ones are refused; list them with kubectl get networks -A --field-selector spec.networkClassName=" + p.class.Name
	}
	if r.backends[p.class.Spec.Provider] == nil {
		return metav1.ConditionFalse, samplecrdv1.NetworkClassReasonUnsupported, fmt.Sprintf("This build has no provider %q", p.class.Spec.Provider)
	}
	if _, faults := addressing.ParsePolicy(p.class); len(faults) > 0 {
		return metav1.ConditionFalse, samplecrdv1.NetworkClassReasonInvalid, conditions.Faults(faults)
	}
	return metav1.ConditionTrue, samplecrdv1.NetworkClassReasonReady, "Networks of this class can be made"
}

// writeStatus is the only writer of a class's status: one write per pass, and none
// when it says nothing new.
func (r *Reconciler) writeStatus(ctx context.Context, p *pass) error {
	if p.done {
		return nil
	}
	status, reason, message := r.verdict(p)
	observed := p.class.DeepCopy()
	observed.Status.ObservedGeneration = new(p.class.Generation)
	meta.SetStatusCondition(&observed.Status.Conditions, metav1.Condition{
		Type: samplecrdv1.NetworkClassConditionReady, Status: status, Reason: reason, Message: message, ObservedGeneration: p.class.Generation,
	})
	changed, err := r.own.StoreStatus(ctx, r.client, p.class, observed, Name)
	p.changed = p.changed || changed
	return err
}
