package network

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/conditions"
	"github.com/samplecrd/samplecrd/controllers/pace"
)

// accept judges the request by the rules that admission has applied already, or
// should have: the webhooks may have been away, and the world has moved on. What is
// accepted is claimed in memory.
func (r *Reconciler) accept(ctx context.Context, p *pass) (bool, error) {
	class, err := r.classOf(ctx, p.network)
	switch {
	case err != nil:
		return false, err
	case class == nil && p.network.Spec.NetworkClassName == "":
		return p.refuse(samplecrdv1.NetworkReasonClassNotFound, "The Network names no NetworkClass, and there is no default one")
	case class == nil:
		return p.refuse(samplecrdv1.NetworkReasonClassNotFound, fmt.Sprintf("NetworkClass %q not found", p.network.Spec.NetworkClassName))
	}
	p.class, p.backend = class, r.backends[class.Spec.Provider]
	judged, err := r.judge(ctx, p.network, class)
	if err != nil {
		return false, err
	}
	if judged.reason != "" {
		return p.refuse(judged.reason, judged.message)
	}
	p.plan, p.today, p.unsure = judged.plan, judged.today, judged.unsure

	recorded := addressing.Recorded(&p.network.Status)
	decided, err := r.arbiter.take(request{owner: addressing.OwnerOf(p.network), class: class, plan: p.plan, recorded: recorded},
		func(owner addressing.Owner) (addressing.Plan, bool, error) { return r.couldHave(ctx, owner, class) })
	if err != nil {
		return false, err
	}
	if decided.early {
		p.done, p.result.RequeueAfter = true, pace.CatchUp
		return false, nil
	}
	if len(decided.conflicts) > 0 {
		// Whoever lets go wakes us; the retry is for what nobody tells of.
		p.result.RequeueAfter = pace.Slowly()
		if decided.undecided {
			p.result.RequeueAfter = undecided
		}
		return p.refuse(samplecrdv1.NetworkReasonOverlap, conditions.Faults(decided.conflicts))
	}
	p.accepted()
	return true, nil
}

// undecided is the pause before another look at a Network that an older one comes
// before which holds nothing yet.
const undecided = 2 * time.Second

// couldHave says whether the Network that owner is could be accepted, but for what
// others hold, and what it asks for.
func (r *Reconciler) couldHave(ctx context.Context, owner addressing.Owner, class *samplecrdv1.NetworkClass) (addressing.Plan, bool, error) {
	var network samplecrdv1.Network
	err := r.client.Get(ctx, owner.NamespacedName, &network)
	if client.IgnoreNotFound(err) != nil {
		return addressing.Plan{}, false, fmt.Errorf("reading an older Network: %w", err)
	}
	if err != nil || network.UID != owner.UID || network.DeletionTimestamp != nil {
		return addressing.Plan{}, false, nil
	}
	judged, err := r.judge(ctx, &network, class)
	return judged.plan, judged.reason == "", err
}

// classOf gives the class that network names, or the default class to one that
// names none; nil when there is no such class.
func (r *Reconciler) classOf(ctx context.Context, network *samplecrdv1.Network) (*samplecrdv1.NetworkClass, error) {
	if name := network.Spec.NetworkClassName; name != "" {
		var class samplecrdv1.NetworkClass
		err := r.client.Get(ctx, types.NamespacedName{Name: name}, &class)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return &class, err
	}
	return r.defaultClass(ctx)
}

// defaultClass gives the class of Networks that name none; nil when there is none.
func (r *Reconciler) defaultClass(ctx context.Context) (*samplecrdv1.NetworkClass, error) {
	var classes samplecrdv1.NetworkClassList
	if err := r.client.List(ctx, &classes); err != nil {
		return nil, fmt.Errorf("listing NetworkClasses: %w", err)
	}
	return classes.Default(), nil
}
