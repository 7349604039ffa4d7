package neutron

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/samplecrd/samplecrd/providers"
)

// knowledge is what this process has seen of Neutron, by the Network's UID. It saves
// calls and decides nothing: what is not as wanted is read again before it is touched.
type knowledge struct {
	mu   sync.Mutex
	seen map[types.UID]sighting
	// asked are the Networks that a call of ours has looked for or made something of.
	asked map[types.UID]bool
	// lost has when an answer to the making of a network was lost.
	lost map[types.UID]time.Time
}

// sighting is a network as it was at a time.
type sighting struct {
	held
	at time.Time
	// name is the Network's; the zero value when it is not known.
	name types.NamespacedName
	// scope is where it was seen; the zero value when it was not in a sweep.
	scope scope
}

func newKnowledge() *knowledge {
	return &knowledge{seen: map[types.UID]sighting{}, asked: map[types.UID]bool{}, lost: map[types.UID]time.Time{}}
}

// recall gives what was seen of a Network's network, if it was since then.
func (k *knowledge) recall(id providers.Identity, since time.Time) (held, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, known := k.seen[id.UID]
	if !known {
		return held{}, false
	}
	k.asked[id.UID] = true
	s.name = id.NamespacedName
	k.seen[id.UID] = s
	return s.held, s.at.After(since)
}

// saw remembers what a Network's network was made or found to be.
func (k *knowledge) saw(id providers.Identity, scope scope, now held, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked[id.UID] = true
	delete(k.lost, id.UID)
	k.seen[id.UID] = sighting{held: sorted(now), at: at, name: id.NamespacedName, scope: scope}
}

// doubt forgets what was seen of a network that is not as wanted, or not known to be.
func (k *knowledge) doubt(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.seen, uid)
}

// sure ends the doubt about a lost answer: the network is there, or cannot be.
func (k *knowledge) sure(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked[uid] = true
	delete(k.lost, uid)
}

// losing remembers that the answer to the making of a network was lost.
func (k *knowledge) losing(uid types.UID, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked[uid] = true
	k.lost[uid] = at
}

// lostAt is when the last answer was lost; the zero time when none was.
func (k *knowledge) lostAt(uid types.UID) time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lost[uid]
}

// met says that this process has found or made the Network's network, or has tried to.
func (k *knowledge) met(uid types.UID) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.asked[uid]
}

// forget ends what is known of a Network that is gone.
func (k *knowledge) forget(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.seen, uid)
	delete(k.asked, uid)
	delete(k.lost, uid)
}

// learn takes what a sweep of a scope that began then has seen, and gives the Networks
// whose network is not what it was. What was made or changed since is known better.
func (k *knowledge) learn(scope scope, all map[types.UID][]held, began time.Time) []types.NamespacedName {
	k.mu.Lock()
	defer k.mu.Unlock()
	var changed []types.NamespacedName
	for uid, before := range k.seen {
		if before.scope != scope || !before.at.Before(began) {
			continue
		}
		if len(all[uid]) == 1 && before.same(sorted(all[uid][0])) {
			continue
		}
		delete(k.seen, uid)
		if before.name != (types.NamespacedName{}) {
			changed = append(changed, before.name)
		}
	}
	for uid, networks := range all {
		if before, known := k.seen[uid]; len(networks) == 1 && (!known || before.at.Before(began)) && (known || !k.asked[uid]) {
			k.seen[uid] = sighting{held: sorted(networks[0]), at: began, name: before.name, scope: scope}
		}
	}
	return changed
}

// sorted gives a network in the form in which equal ones are deeply equal.
func sorted(h held) held {
	h.subnets = slices.Clone(h.subnets)
	slices.SortFunc(h.subnets, func(a, b subnet) int { return strings.Compare(a.id, b.id) })
	return h
}

// same says that two sightings tell the same, whatever was written in between.
func (h held) same(other held) bool {
	return reflect.DeepEqual(h.timeless(), other.timeless())
}

// timeless is a network without its revisions.
func (h held) timeless() held {
	h.Revision = 0
	h.subnets = slices.Clone(h.subnets)
	for i := range h.subnets {
		h.subnets[i].revision = 0
	}
	return h
}
