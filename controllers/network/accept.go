package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/conditions"
	"github.com/samplecrd/samplecrd/controllers/pace"
)

// accept judges the request by the rules that admission has applied already, or
// should have: the webhooks may have been away, and the world has moved on.
func (r *Reconciler) accept(ctx context.Context, p *pass) (bool, error) {
	accepted, err := r.judge(ctx, p)
	if err == nil && !accepted {
		r.claims.drop(p.network.UID)
	}
	return accepted, err
}

func (r *Reconciler) judge(ctx context.Context, p *pass) (bool, error) {
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
	if p.backend == nil {
		return p.refuse(samplecrdv1.NetworkReasonUnsupported, fmt.Sprintf("This build has no provider %q", class.Spec.Provider))
	}

	var errs field.ErrorList
	if p.plan, errs = addressing.Parse(&p.network.Spec, field.NewPath("spec")); len(errs) > 0 {
		return p.refuse(samplecrdv1.NetworkReasonInvalid, conditions.Faults(errs))
	}
	if forbidden := p.backend.Limits(&class.Spec).Forbids(p.plan); len(forbidden) > 0 {
		return p.refuse(samplecrdv1.NetworkReasonUnsupported, conditions.Message(strings.Join(forbidden, "; ")))
	}
	blocked, err := r.take(ctx, p)
	if err != nil {
		return false, err
	}
	if len(blocked) > 0 {
		// The end of the other Network brings us back; this is for a claim that was
		// dropped before it was recorded.
		p.result.RequeueAfter = pace.Slowly()
		return p.refuse(samplecrdv1.NetworkReasonOverlap, conditions.Faults(blocked))
	}
	p.accepted()
	return true, nil
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

// take claims the plan's prefixes in memory, or says what is in the way. What is
// recorded in the status is settled: a winner never loses.
func (r *Reconciler) take(ctx context.Context, p *pass) (blocked field.ErrorList, err error) {
	wanted := claim{namespace: p.network.Namespace, name: p.network.Name, class: p.class.Name, prefixes: p.plan.Prefixes()}
	recorded := addressing.Recorded(&p.network.Status)
	settled := !slices.ContainsFunc(wanted.prefixes, func(prefix netip.Prefix) bool { return !slices.Contains(recorded, prefix) })
	err = r.claims.take(p.network.UID, wanted, func() (bool, error) {
		if settled {
			return false, nil
		}
		rivals, err := r.rivals(ctx, p, wanted)
		blocked = addressing.Overlaps(p.plan, rivals)
		return len(blocked) > 0, err
	})
	return blocked, err
}

// rivals are the Networks that p's must give way to: those of its class and
// namespace that hold a claim, and those without one that are older and could
// have it.
func (r *Reconciler) rivals(ctx context.Context, p *pass, wanted claim) ([]addressing.Rival, error) {
	var networks samplecrdv1.NetworkList
	if err := r.client.List(ctx, &networks, client.InNamespace(p.network.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Networks: %w", err)
	}
	byDefault, err := r.defaultClass(ctx)
	if err != nil {
		return nil, err
	}
	var rivals []addressing.Rival
	there := sets.New[types.UID]()
	for i := range networks.Items {
		other := &networks.Items[i]
		there.Insert(other.UID)
		class := other.Spec.NetworkClassName
		if class == "" && byDefault != nil {
			class = byDefault.Name
		}
		if other.UID == p.network.UID || class != p.class.Name {
			continue
		}
		rivals = append(rivals, addressing.Rival{Name: other.Name, Prefixes: addressing.Recorded(&other.Status)})
		asks := []addressing.Rival{{Name: other.Name, Prefixes: addressing.Asked(&other.Spec)}}
		if len(addressing.Overlaps(p.plan, asks)) > 0 && r.goesFirst(other, p) {
			rivals = append(rivals, asks...)
		}
	}
	return append(rivals, r.claims.rivals(p.network.UID, wanted, there)...), nil
}

// goesFirst says that other, which may have no claim yet, is older than p's
// Network and could be accepted.
func (r *Reconciler) goesFirst(other *samplecrdv1.Network, p *pass) bool {
	if other.DeletionTimestamp != nil || !older(other, p.network) {
		return false
	}
	plan, errs := addressing.Parse(&other.Spec, field.NewPath("spec"))
	return len(errs) == 0 && len(p.backend.Limits(&p.class.Spec).Forbids(plan)) == 0
}

func older(a, b *samplecrdv1.Network) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}
