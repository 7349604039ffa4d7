package network

import (
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/samplecrd/samplecrd/addressing"
)

// claims remembers what each accepted Network asks for, since the cache may not yet
// show it in the status. Looking and taking happen under one lock, so that two
// newcomers never both find the same range free. What a backend holds beyond that
// is in the status alone.
type claims struct {
	mu   sync.Mutex
	held map[types.UID]claim
}

// claim is what one Network holds.
type claim struct {
	namespace, name, class string
	prefixes               []netip.Prefix
}

func newClaims() *claims { return &claims{held: map[types.UID]claim{}} }

// take holds wanted for uid, unless look, which is called under the lock, finds
// something in the way.
func (c *claims) take(uid types.UID, wanted claim, look func() (blocked bool, err error)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	blocked, err := look()
	if err == nil && !blocked {
		c.held[uid] = wanted
	}
	return err
}

// drop lets go of what uid held: it asks for nothing that it could have.
func (c *claims) drop(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, uid)
}

// rivals gives what the others in a namespace hold for a class, and forgets those
// that are gone. Call it from look.
func (c *claims) rivals(uid types.UID, wanted claim, there sets.Set[types.UID]) []addressing.Rival {
	var rivals []addressing.Rival
	for other, held := range c.held {
		switch {
		case held.namespace != wanted.namespace || other == uid:
		case !there.Has(other):
			delete(c.held, other)
		case held.class == wanted.class:
			rivals = append(rivals, addressing.Rival{Name: held.name, Prefixes: held.prefixes})
		}
	}
	return rivals
}
