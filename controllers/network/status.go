package network

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/conditions"
)

// stalled are the reasons under which nothing changes until somebody acts.
var stalled = []string{
	samplecrdv1.NetworkReasonInvalid, samplecrdv1.NetworkReasonOverlap,
	samplecrdv1.NetworkReasonNotAllowed, samplecrdv1.NetworkReasonUnsupported,
	samplecrdv1.NetworkReasonConflict, samplecrdv1.NetworkReasonAmbiguous,
	samplecrdv1.NetworkReasonRejected,
}

func (p *pass) accepted() {
	message := "The request is sound and its address space is claimed"
	if p.today != "" {
		message = conditions.Message("Accepted earlier, and would be refused today: " + p.today)
	}
	if before := condition(p.network, samplecrdv1.NetworkConditionAccepted); p.unsure && before != nil && before.Status == metav1.ConditionTrue {
		message = before.Message // Said when more was known.
	}
	p.set(samplecrdv1.NetworkConditionAccepted, metav1.ConditionTrue, samplecrdv1.NetworkReasonAccepted, message)
}

// refuse ends the pass: what is not accepted goes to no backend. For the reason
// Pending nobody knows yet whether it will be.
func (p *pass) refuse(reason, message string) (bool, error) {
	status := metav1.ConditionFalse
	if reason == samplecrdv1.NetworkReasonPending {
		status = metav1.ConditionUnknown
	}
	p.set(samplecrdv1.NetworkConditionAccepted, status, reason, message)
	p.letGoUnmade()
	if p.network.Status.ProviderID != nil {
		p.pending("The backend still holds what was accepted before")
	} else {
		p.pending("Waits for the Network to be accepted")
	}
	return false, nil
}

// letGoUnmade gives up the claims that the spec no longer asks for, of a Network that
// no backend has been asked to make: see claim.
func (p *pass) letGoUnmade() {
	if controllerutil.ContainsFinalizer(p.network, samplecrdv1.NetworkFinalizer) {
		return
	}
	asked := addressing.Asked(&p.network.Spec)
	p.network.Status.Subnets = slices.DeleteFunc(p.network.Status.Subnets, func(subnet samplecrdv1.SubnetStatus) bool {
		return !slices.Contains(asked, addressing.ParsePrefix(subnet.CIDR))
	})
	if len(p.network.Status.Subnets) == 0 {
		p.network.Status.Subnets, p.network.Status.Provider = nil, nil
	}
}

func (p *pass) pending(message string) {
	p.set(samplecrdv1.NetworkConditionProgrammed, metav1.ConditionUnknown, samplecrdv1.NetworkReasonPending, message)
}

func (p *pass) programmed() {
	p.set(samplecrdv1.NetworkConditionProgrammed, metav1.ConditionTrue, samplecrdv1.NetworkReasonProgrammed, "The backend holds what was asked")
}

func (p *pass) notProgrammed(reason, message string) {
	if reason == samplecrdv1.NetworkReasonPending {
		p.pending(message)
		return
	}
	p.set(samplecrdv1.NetworkConditionProgrammed, metav1.ConditionFalse, reason, message)
}

func (p *pass) set(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&p.network.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: p.network.Generation,
	})
}

// summarize derives Ready and Stalled from the two facts.
func (p *pass) summarize() {
	p.network.Status.ObservedGeneration = new(p.network.Generation)
	status, reason, message := metav1.ConditionTrue, samplecrdv1.NetworkReasonReady, "The network is as asked"
	for _, kind := range []string{samplecrdv1.NetworkConditionAccepted, samplecrdv1.NetworkConditionProgrammed} {
		fact := condition(p.network, kind)
		if fact == nil {
			p.set(kind, metav1.ConditionUnknown, samplecrdv1.NetworkReasonPending, "Not looked at yet")
			fact = condition(p.network, kind)
		}
		if fact.Status != metav1.ConditionTrue {
			status, reason, message = fact.Status, fact.Reason, fact.Message
			break
		}
	}
	p.set(samplecrdv1.NetworkConditionReady, status, reason, message)
	if slices.Contains(stalled, reason) {
		p.set(samplecrdv1.NetworkConditionStalled, metav1.ConditionTrue, reason, message)
	} else {
		meta.RemoveStatusCondition(&p.network.Status.Conditions, samplecrdv1.NetworkConditionStalled)
	}
}

// writeStatus is the only writer of a Network's status: one write per pass, and
// none when nothing changed.
func (r *Reconciler) writeStatus(ctx context.Context, p *pass) error {
	if p.done {
		return nil
	}
	p.summarize()
	base := p.network.DeepCopy()
	base.Status = p.stored
	changed, err := r.own.StoreStatus(ctx, r.client, base, p.network, Name)
	if changed {
		p.changed = true
		r.tell(p)
	}
	return err
}

// tell records an event when Ready has changed.
func (r *Reconciler) tell(p *pass) {
	before := meta.FindStatusCondition(p.stored.Conditions, samplecrdv1.NetworkConditionReady)
	ready := condition(p.network, samplecrdv1.NetworkConditionReady)
	if ready.Status == metav1.ConditionUnknown || (before != nil && before.Status == ready.Status && before.Reason == ready.Reason) {
		return
	}
	kind := corev1.EventTypeNormal
	if ready.Status == metav1.ConditionFalse {
		kind = corev1.EventTypeWarning
	}
	r.recorder.Eventf(p.network, nil, kind, ready.Reason, "Reconcile", "%s", ready.Message)
}

func condition(network *samplecrdv1.Network, kind string) *metav1.Condition {
	return meta.FindStatusCondition(network.Status.Conditions, kind)
}
