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
	// asked are the Networks that a call of ours has looked for or made something of, with
	// when the answer to the making of a network was lost; the zero time for none.
	asked map[types.UID]time.Time
	// doubted are the Networks whose network is not as wanted, or not known to be.
	doubted map[types.UID]doubt
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

// doubt is what the sweeps of a scope see of a Network whose last call came to no good
// end. When that changes it is worth another one.
type doubt struct {
	name  types.NamespacedName
	scope scope
	// swept is what the last sweep saw; it means something once there was one.
	swept []held
	told  bool
}

func newKnowledge() *knowledge {
	return &knowledge{seen: map[types.UID]sighting{}, asked: map[types.UID]time.Time{}, doubted: map[types.UID]doubt{}}
}

// recall gives what was seen of a Network's network, if it was since then. From now on the
// sweeps of its own scope tell of it.
func (k *knowledge) recall(id providers.Identity, scope scope, since time.Time) (held, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	s, known := k.seen[id.UID]
	if !known {
		return held{}, false
	}
	k.asked[id.UID] = time.Time{} // What was seen was not lost.
	s.name, s.scope = id.NamespacedName, scope
	k.seen[id.UID] = s
	return s.held, s.at.After(since)
}

// saw remembers what a Network's network was made or found to be.
func (k *knowledge) saw(id providers.Identity, scope scope, now held, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked[id.UID] = time.Time{}
	delete(k.doubted, id.UID)
	k.seen[id.UID] = sighting{held: sorted(now), at: at, name: id.NamespacedName, scope: scope}
}

// doubt forgets what was seen of a network that is not as wanted, or not known to be.
func (k *knowledge) doubt(id providers.Identity, scope scope) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.seen, id.UID)
	if _, doubted := k.doubted[id.UID]; !doubted {
		k.doubted[id.UID] = doubt{name: id.NamespacedName, scope: scope}
	}
}

// sure ends the doubt about a lost answer: the network is there, or cannot be.
func (k *knowledge) sure(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked[uid] = time.Time{}
}

// losing remembers that the answer to the making of a network was lost.
func (k *knowledge) losing(uid types.UID, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked[uid] = at
}

// met says whether this process has found or made the Network's network, or has tried to,
// and when the answer was lost; the zero time when it was not.
func (k *knowledge) met(uid types.UID) (lost time.Time, met bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	lost, met = k.asked[uid]
	return lost, met
}

// forget ends what is known of a Network that is gone.
func (k *knowledge) forget(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.seen, uid)
	delete(k.asked, uid)
	delete(k.doubted, uid)
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
	for uid, d := range k.doubted {
		if d.scope != scope {
			continue
		}
		now := view(all[uid])
		if d.told && !reflect.DeepEqual(d.swept, now) {
			changed = append(changed, d.name)
		}
		d.swept, d.told = now, true
		k.doubted[uid] = d
	}
	for uid, networks := range all {
		before, known := k.seen[uid]
		_, asked := k.asked[uid]
		// What another scope's Networks have is compared by their own sweeps.
		if len(networks) == 1 && (known && before.scope == scope && before.at.Before(began) || !known && !asked) {
			k.seen[uid] = sighting{held: sorted(networks[0]), at: began, name: before.name, scope: scope}
		}
	}
	return changed
}

// view gives networks in the form in which equal ones are deeply equal, whatever was
// written in between.
func view(networks []held) []held {
	all := make([]held, len(networks))
	for i, h := range networks {
		all[i] = sorted(h).timeless()
	}
	slices.SortFunc(all, func(a, b held) int { return strings.Compare(a.ID, b.ID) })
	return all
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
