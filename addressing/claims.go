package addressing

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gaissmai/bart"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// Scope is where prefixes compete with each other: all Networks of a class, or
// those of it in one namespace. In the zero Scope nothing competes.
type Scope struct {
	// Class is the NetworkClass's name.
	Class string
	// Namespace is empty where all Networks of the class compete.
	Namespace string
}

// ScopeOf gives the scope of the Networks of a class in namespace; Namespace is the
// overlapScope of a class that has none.
func ScopeOf(class string, overlapScope samplecrdv1.OverlapScope, namespace string) Scope {
	switch overlapScope {
	case samplecrdv1.OverlapNone:
		return Scope{}
	case samplecrdv1.OverlapClass:
		return Scope{Class: class}
	default:
		return Scope{Class: class, Namespace: namespace}
	}
}

// Owner is a Network that claims prefixes.
type Owner struct {
	UID types.UID
	types.NamespacedName
	// Created is when the Network was.
	Created time.Time
	// Refused says that the controller has found that it cannot have what it asks for
	// beyond what it holds.
	Refused bool
}

// OwnerOf gives the owner that network is.
func OwnerOf(network *samplecrdv1.Network) Owner {
	return Owner{
		UID:            network.UID,
		NamespacedName: types.NamespacedName{Namespace: network.Namespace, Name: network.Name},
		Created:        network.CreationTimestamp.Time,
		Refused:        refused(network),
	}
}

func refused(network *samplecrdv1.Network) bool {
	accepted := meta.FindStatusCondition(network.Status.Conditions, samplecrdv1.NetworkConditionAccepted)
	return accepted != nil && accepted.Status == metav1.ConditionFalse && accepted.ObservedGeneration == network.Generation
}

// Compare orders owners as their claims are: the older first, then by namespace
// and name.
func (o Owner) Compare(other Owner) int {
	return cmp.Or(o.Created.Compare(other.Created), strings.Compare(o.Namespace, other.Namespace), strings.Compare(o.Name, other.Name))
}

// Claim is one prefix that an owner holds or asks for.
type Claim struct {
	Owner Owner
	// Prefix is canonical.
	Prefix netip.Prefix
	// Recorded says that the owner holds it; otherwise it only asks for it.
	Recorded bool
}

// compare orders claims: what is held comes before what is asked for.
func (c Claim) compare(other Claim) int {
	if c.Recorded != other.Recorded {
		if c.Recorded {
			return -1
		}
		return 1
	}
	return cmp.Or(c.Owner.Compare(other.Owner), c.Prefix.Compare(other.Prefix))
}

// Claims is the table of who claims which prefix, in every scope. To read it takes a
// snapshot: readers never wait for a change, and to find a prefix free costs the
// same however many claims there are, and allocates nothing. See NewClaims.
type Claims struct {
	// changing is held while the table changes.
	changing sync.Mutex
	held     map[types.UID]holding

	// finding guards the map of scopes, not what is in them.
	finding sync.RWMutex
	scopes  map[Scope]*snapshot
}

// holding is what one owner has in the table.
type holding struct {
	scope  Scope
	claims []Claim
}

type table = bart.Table[[]Claim]

// snapshot is the present table of one scope; one that was loaded never changes.
type snapshot = atomic.Pointer[table]

// NewClaims gives an empty table.
func NewClaims() *Claims {
	return &Claims{held: map[types.UID]holding{}, scopes: map[Scope]*snapshot{}}
}

// Set makes recorded and asked all that owner has in the table, a prefix once.
func (c *Claims) Set(owner Owner, scope Scope, recorded, asked []netip.Prefix) {
	var claims []Claim
	add := func(prefixes []netip.Prefix, recorded bool) {
		for _, prefix := range prefixes {
			if !slices.ContainsFunc(claims, func(claim Claim) bool { return claim.Prefix == prefix }) {
				claims = append(claims, Claim{Owner: owner, Prefix: prefix, Recorded: recorded})
			}
		}
	}
	if scope != (Scope{}) {
		add(recorded, true)
		add(asked, false)
	}

	c.changing.Lock()
	defer c.changing.Unlock()
	before := c.held[owner.UID]
	if before.scope == scope && slices.Equal(before.claims, claims) {
		return
	}
	if len(claims) == 0 {
		delete(c.held, owner.UID)
	} else {
		c.held[owner.UID] = holding{scope: scope, claims: claims}
	}
	if before.scope == scope {
		c.change(scope, before.claims, claims)
		return
	}
	c.change(before.scope, before.claims, nil)
	c.change(scope, nil, claims)
}

// Remove takes out all that the owner with this UID has.
func (c *Claims) Remove(uid types.UID) { c.Set(Owner{UID: uid}, Scope{}, nil, nil) }

// In gives the scope where an owner has claims; the zero Scope if it has none.
func (c *Claims) In(uid types.UID) Scope {
	c.changing.Lock()
	defer c.changing.Unlock()
	return c.held[uid].scope
}

// change replaces claims of one owner in a scope, for readers at once.
func (c *Claims) change(scope Scope, gone, come []Claim) {
	if len(gone) == 0 && len(come) == 0 {
		return
	}
	place := c.place(scope)
	changed := place.Load()
	for _, claim := range gone {
		changed = changed.ModifyPersist(claim.Prefix, func(there []Claim, _ bool) ([]Claim, bool) {
			left := slices.DeleteFunc(slices.Clone(there), func(other Claim) bool { return other.Owner.UID == claim.Owner.UID })
			return left, len(left) == 0
		})
	}
	for _, claim := range come {
		changed = changed.ModifyPersist(claim.Prefix, func(there []Claim, _ bool) ([]Claim, bool) {
			return append(slices.Clip(there), claim), false
		})
	}
	place.Store(changed)
	if changed.Size() == 0 {
		c.finding.Lock()
		defer c.finding.Unlock()
		delete(c.scopes, scope)
	}
}

// place gives where a scope's table is, an empty one if nothing is claimed there.
func (c *Claims) place(scope Scope) *snapshot {
	c.finding.Lock()
	defer c.finding.Unlock()
	place, there := c.scopes[scope]
	if !there {
		place = &snapshot{}
		place.Store(&table{})
		c.scopes[scope] = place
	}
	return place
}

// overlapped gives the table of a scope as it is, if any of a prefix is claimed
// there; nil otherwise.
func (c *Claims) overlapped(scope Scope, prefix netip.Prefix) *table {
	if scope == (Scope{}) {
		return nil
	}
	c.finding.RLock()
	place := c.scopes[scope]
	c.finding.RUnlock()
	if place == nil {
		return nil
	}
	if claimed := place.Load(); claimed.OverlapsPrefix(prefix) {
		return claimed
	}
	return nil
}

// Free says that nobody but self claims any of a prefix.
func (c *Claims) Free(scope Scope, prefix netip.Prefix, self types.NamespacedName) bool {
	claimed := c.overlapped(scope, prefix)
	if claimed == nil {
		return true
	}
	for range claimsOver(claimed, prefix, self) {
		return false
	}
	return true
}

// Overlapping yields the claims of all but self that overlap a prefix: those around
// it first, then those inside it.
func (c *Claims) Overlapping(scope Scope, prefix netip.Prefix, self types.NamespacedName) iter.Seq[Claim] {
	return claimsOver(c.overlapped(scope, prefix), prefix, self)
}

func claimsOver(claimed *table, prefix netip.Prefix, self types.NamespacedName) iter.Seq[Claim] {
	return func(yield func(Claim) bool) {
		if claimed == nil {
			return
		}
		for _, claims := range claimed.Supernets(prefix) {
			if !others(claims, self, yield) {
				return
			}
		}
		for at, claims := range claimed.Subnets(prefix) {
			// The prefix itself was among the first.
			if at != prefix && !others(claims, self, yield) {
				return
			}
		}
	}
}

func others(claims []Claim, self types.NamespacedName, yield func(Claim) bool) (more bool) {
	for _, claim := range claims {
		if claim.Owner.NamespacedName != self && !yield(claim) {
			return false
		}
	}
	return true
}
