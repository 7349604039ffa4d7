package network

import (
	"net/netip"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// arbiter decides who wins a prefix. What is held is settled: recorded in a status,
// or about to be. Looking and taking happen under one lock, so that two newcomers
// never both find a prefix free. Only the leader asks it, once it was told what is
// recorded.
type arbiter struct {
	// asked is what all Networks hold and ask for, as the cache shows it.
	asked *addressing.Claims
	// shown says that the cache has an owner's Network. What it has no longer must not
	// be held: a pass may have begun before the Network went, and nobody would tell.
	shown func(addressing.Owner) bool
	// wake asks for another look at a Network; it is set when the controller starts.
	wake func(types.NamespacedName)

	mu      sync.Mutex
	holders map[types.UID]holder
	// held has what the holders hold, where the scope of their class is known: a
	// class may be missing, or come back with another scope.
	held   *addressing.Claims
	scopes map[string]samplecrdv1.OverlapScope
}

type holder struct {
	addressing.Owner
	class    string
	prefixes []netip.Prefix
}

func newArbiter(asked *addressing.Claims, shown func(addressing.Owner) bool) *arbiter {
	return &arbiter{
		asked: asked, shown: shown, holders: map[types.UID]holder{},
		held: addressing.NewClaims(), scopes: map[string]samplecrdv1.OverlapScope{},
	}
}

// request is what a Network wants to have.
type request struct {
	owner addressing.Owner
	class *samplecrdv1.NetworkClass
	plan  addressing.Plan
	// recorded is what its status says that it holds.
	recorded []netip.Prefix
}

// verdict is what the arbiter says to a request.
type verdict struct {
	// conflicts are empty when the request is granted.
	conflicts field.ErrorList
	// undecided says that an older Network comes first which holds nothing yet: it
	// will, or will be found unable to, and nobody tells.
	undecided bool
	// early says that the table of what is asked is not as far as the cache, or the pass
	// not as far: who comes first cannot be told yet.
	early bool
}

// take holds a request's prefixes for its owner, unless others hold one of them, or
// an older Network that could have one asks for it: comesFirst tells of one that
// does whether it could, but for what others hold. What is recorded stays won.
func (a *arbiter) take(want request, comesFirst func(addressing.Owner) (addressing.Plan, bool, error)) (verdict, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.shown(want.owner) {
		return verdict{early: true}, nil
	}
	a.settleScope(want.class)
	prefixes := want.plan.Prefixes()
	// It keeps what it holds until its pass has ended well; see record.
	taken := holder{want.owner, want.class.Name, union(a.holders[want.owner.UID].prefixes, want.recorded, prefixes)}
	if subset(prefixes, want.recorded) {
		a.hold(taken)
		return verdict{}, nil
	}
	scope := addressing.ScopeOf(want.class.Name, want.class.Spec.OverlapScope, want.owner.Namespace)
	if conflicts := a.held.Overlaps(want.plan, scope, want.owner.NamespacedName); len(conflicts) > 0 {
		return verdict{conflicts: conflicts}, nil
	}
	if scope != (addressing.Scope{}) && a.asked.In(want.owner.UID) != scope {
		return verdict{early: true}, nil
	}
	for _, subnet := range want.plan.Subnets {
		for claim := range a.asked.Overlapping(scope, subnet.Prefix, want.owner.NamespacedName) {
			if claim.Owner.Compare(want.owner) > 0 {
				continue
			}
			plan, could, err := comesFirst(claim.Owner)
			if err != nil {
				return verdict{}, err
			}
			if could && a.free(plan, scope, claim.Owner.NamespacedName) {
				return verdict{conflicts: field.ErrorList{addressing.Overlap(subnet, claim, want.owner.NamespacedName)}, undecided: true}, nil
			}
		}
	}
	a.hold(taken)
	return verdict{}, nil
}

// free says that nobody but self holds any of plan's prefixes.
func (a *arbiter) free(plan addressing.Plan, scope addressing.Scope, self types.NamespacedName) bool {
	return !slices.ContainsFunc(plan.Prefixes(), func(prefix netip.Prefix) bool { return !a.held.Free(scope, prefix, self) })
}

// recall makes prefixes what an owner holds: the API server has said so, and the cache
// may not have it yet.
func (a *arbiter) recall(class string, owner addressing.Owner, prefixes []netip.Prefix) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hold(holder{owner, class, prefixes})
}

// record makes prefixes all that an owner holds: they are what its status says. Those
// who asked for what it no longer holds are woken.
func (a *arbiter) record(class string, owner addressing.Owner, prefixes []netip.Prefix) {
	for _, name := range a.replace(holder{owner, class, prefixes}) {
		a.wake(name)
	}
}

// forget lets go of all that an owner holds, since its Network is gone.
func (a *arbiter) forget(owner addressing.Owner) { a.record("", owner, nil) }

// replace gives who asked for what a holder held and holds no longer.
func (a *arbiter) replace(now holder) []types.NamespacedName {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.shown(now.Owner) {
		now.prefixes = nil
	}
	before := a.holders[now.UID]
	a.hold(now)
	scope, known := a.scope(before)
	if !known {
		return nil // The Networks of a class are looked at when it comes.
	}
	var waiting []types.NamespacedName
	for _, prefix := range before.prefixes {
		if before.class == now.class && slices.Contains(now.prefixes, prefix) {
			continue
		}
		for claim := range a.asked.Overlapping(scope, prefix, now.NamespacedName) {
			waiting = append(waiting, claim.Owner.NamespacedName)
		}
	}
	return waiting
}

// hold makes what a holder has all that it holds. Call it with mu held.
func (a *arbiter) hold(now holder) {
	if len(now.prefixes) == 0 {
		delete(a.holders, now.UID)
		a.held.Remove(now.UID)
		return
	}
	a.holders[now.UID] = now
	scope, _ := a.scope(now)
	a.held.Set(now.Owner, scope, now.prefixes, nil)
}

// settleScope puts the holders of a class where they compete.
func (a *arbiter) settleScope(class *samplecrdv1.NetworkClass) {
	if scope, known := a.scopes[class.Name]; known && scope == class.Spec.OverlapScope {
		return
	}
	a.scopes[class.Name] = class.Spec.OverlapScope
	for _, holder := range a.holders {
		if holder.class == class.Name {
			a.hold(holder)
		}
	}
}

// scope gives where what a holder has competes, if that is known.
func (a *arbiter) scope(of holder) (scope addressing.Scope, known bool) {
	overlapScope, known := a.scopes[of.class]
	if !known {
		return addressing.Scope{}, false
	}
	return addressing.ScopeOf(of.class, overlapScope, of.Namespace), true
}

func subset(some, all []netip.Prefix) bool {
	return !slices.ContainsFunc(some, func(prefix netip.Prefix) bool { return !slices.Contains(all, prefix) })
}

func union(lists ...[]netip.Prefix) []netip.Prefix {
	var all []netip.Prefix
	for _, prefix := range slices.Concat(lists...) {
		if !slices.Contains(all, prefix) {
			all = append(all, prefix)
		}
	}
	return all
}
