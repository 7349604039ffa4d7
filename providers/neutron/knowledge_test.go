package neutron

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/samplecrd/samplecrd/providers"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func after(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func TestKnowledgeOfSweeps(t *testing.T) {
	id := providers.Identity{UID: uidA, NamespacedName: types.NamespacedName{Namespace: "a", Name: "b"}}
	here, elsewhere := scope{project: "p"}, scope{project: "q"}
	one := held{network: network{ID: "n", Revision: 1}, subnets: []subnet{{id: "s"}, {id: "r"}}}
	touched, turned, renamed := one, one, one
	touched.Revision = 9
	turned.subnets = []subnet{{id: "r", revision: 3}, {id: "s"}}
	renamed.Name = "x"
	for name, tc := range map[string]struct {
		// seen is when it was last made or changed, swept what a sweep at 10 found.
		seen  time.Time
		scope scope
		swept []held
		// woken says that the sweep asks for another look, known that it is still known.
		woken, known bool
	}{
		"as it was":                              {seen: noon, scope: here, swept: []held{one}, known: true},
		"as it was, written in between":          {seen: noon, scope: here, swept: []held{touched}, known: true},
		"as it was, in another order":            {seen: noon, scope: here, swept: []held{turned}, known: true},
		"changed":                                {seen: noon, scope: here, swept: []held{renamed}, woken: true},
		"gone":                                   {seen: noon, scope: here, woken: true},
		"there twice":                            {seen: noon, scope: here, swept: []held{one, one}, woken: true},
		"changed by us since the sweep began":    {seen: after(11), scope: here, swept: []held{renamed}, known: true},
		"made by us since the sweep began":       {seen: after(11), scope: here, known: true},
		"of another project, which is not swept": {seen: noon, scope: elsewhere, known: true},
		"changed, as another class's sweep sees": {seen: noon, scope: elsewhere, swept: []held{renamed}, known: true},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKnowledge()
			k.saw(id, tc.scope, one, tc.seen)
			all := map[types.UID][]held{}
			if len(tc.swept) > 0 {
				all[uidA] = tc.swept
			}
			woken := k.learn(here, all, after(10))
			if (len(woken) == 1 && woken[0] == id.NamespacedName) != tc.woken || len(woken) > 1 {
				t.Errorf("%v are woken", woken)
			}
			if now, known := k.recall(id, tc.scope, noon.Add(-time.Hour)); known != tc.known || known && !now.same(sorted(one)) {
				t.Errorf("it is known: %t, as %+v", known, now)
			}
		})
	}
}

// TestKnowledgeOfTwoClassesOfOneProject: what two sweep is compared with what each knows of
// its own, so that no change becomes what it was before.
func TestKnowledgeOfTwoClassesOfOneProject(t *testing.T) {
	k, id := newKnowledge(), providers.Identity{UID: uidA, NamespacedName: types.NamespacedName{Namespace: "a", Name: "b"}}
	mine, other := scope{project: "mine"}, scope{accountKey: accountKey{secret: "other"}}
	one, renamed := held{network: network{ID: "n"}}, held{network: network{ID: "n", Name: "x"}}
	// The other class's sweep has seen it first, after a start.
	k.learn(other, map[types.UID][]held{uidA: {one}}, noon)
	k.recall(id, mine, time.Time{})
	for i := range 3 {
		if woken := k.learn(other, map[types.UID][]held{uidA: {renamed}}, after(10*i)); len(woken) > 0 {
			t.Errorf("another class's sweep wakes %v", woken)
		}
	}
	if woken := k.learn(mine, map[types.UID][]held{uidA: {renamed}}, after(31)); len(woken) != 1 {
		t.Error("a change is seen, and nobody is woken")
	}
}

// TestKnowledgeOfDoubt: who waits for somebody to mend something is woken when a sweep sees
// that something was done, and not before.
func TestKnowledgeOfDoubt(t *testing.T) {
	id := providers.Identity{UID: uidA, NamespacedName: types.NamespacedName{Namespace: "a", Name: "b"}}
	here := scope{project: "here"}
	n, other := held{network: network{ID: "n", Revision: 1}}, held{network: network{ID: "o"}}
	touched, renamed := n, n
	touched.Revision = 2
	renamed.Name = "x"
	for name, tc := range map[string]struct {
		before, after []held
		woken         bool
	}{
		"nothing is done":                 {before: []held{n}, after: []held{touched}},
		"the mark is there again":         {after: []held{n}, woken: true},
		"one of two is gone":              {before: []held{n, other}, after: []held{other}, woken: true},
		"two are there, in another order": {before: []held{n, other}, after: []held{other, n}},
		"something is changed":            {before: []held{n}, after: []held{renamed}, woken: true},
		"all is gone":                     {before: []held{n}, woken: true},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKnowledge()
			k.doubt(id, here)
			for i, swept := range [][]held{tc.before, tc.before, tc.after} {
				k.doubt(id, here) // It was tried again in between, in vain.
				k.learn(scope{project: "elsewhere"}, map[types.UID][]held{uidA: {renamed}}, after(10*i))
				woken := k.learn(here, map[types.UID][]held{uidA: swept}, after(10*i+1))
				if want := tc.woken && i == 2; (len(woken) == 1 && woken[0] == id.NamespacedName) != want {
					t.Errorf("after sweep %d %v are woken", i+1, woken)
				}
			}
			k.saw(id, here, n, after(60))
			if woken := k.learn(here, map[types.UID][]held{uidA: {n}}, after(61)); len(woken) > 0 || len(k.doubted) > 0 {
				t.Errorf("all is well, and %v are woken", woken)
			}
		})
	}
}

func TestKnowledgeOfASweepServesWhoNeverAsked(t *testing.T) {
	k, id := newKnowledge(), providers.Identity{UID: uidA, NamespacedName: types.NamespacedName{Namespace: "a", Name: "b"}}
	one := held{network: network{ID: "n"}}
	if woken := k.learn(scope{}, map[types.UID][]held{uidA: {one}, uidB: {one, one}}, noon); len(woken) > 0 {
		t.Errorf("%v are woken of whom nothing was known", woken)
	}
	if now, fresh := k.recall(id, scope{}, noon.Add(-time.Second)); !fresh || now.ID != "n" {
		t.Errorf("it is %+v, fresh is %t", now, fresh)
	}
	if _, fresh := k.recall(id, scope{}, noon); fresh {
		t.Error("it is fresh for ever")
	}
	if _, fresh := k.recall(providers.Identity{UID: uidB}, scope{}, noon.Add(-time.Second)); fresh {
		t.Error("one that is there twice is known")
	}
	// Now its name is known, for the next sweep.
	if woken := k.learn(scope{}, nil, after(10)); len(woken) != 1 || woken[0] != id.NamespacedName {
		t.Errorf("it is gone, and %v are woken", woken)
	}
	if _, known := k.recall(id, scope{}, time.Time{}); known {
		t.Error("it is gone, and known")
	}
}

// TestKnowledgeIsNotLearntOfWhatIsInDoubt: a sweep that began before tells nothing of a
// network that is being worked on.
func TestKnowledgeIsNotLearntOfWhatIsInDoubt(t *testing.T) {
	k, id := newKnowledge(), providers.Identity{UID: uidA}
	k.losing(uidA, noon)
	k.learn(scope{}, map[types.UID][]held{uidA: {{network: network{ID: "n"}}}}, after(-10))
	if _, known := k.recall(id, scope{}, time.Time{}); known {
		t.Error("it is known by a sweep, while a call is in doubt")
	}
	if lost, _ := k.met(uidA); lost != noon {
		t.Error("the lost answer is forgotten")
	}
}

func TestKnowledgeOfLostAnswers(t *testing.T) {
	k, id := newKnowledge(), providers.Identity{UID: uidA}
	if _, met := k.met(uidA); met {
		t.Error("one is met that was never asked for")
	}
	k.losing(uidA, noon)
	if lost, met := k.met(uidA); !met || lost != noon {
		t.Errorf("met is %t, lost at %v", met, lost)
	}
	k.doubt(id, scope{})
	if lost, _ := k.met(uidA); lost != noon {
		t.Error("doubt ends the memory of the lost answer")
	}
	for name, found := range map[string]func(){
		"sure": func() { k.sure(uidA) },
		"seen": func() { k.saw(id, scope{}, held{}, noon) },
	} {
		k.losing(uidA, noon)
		found()
		if lost, met := k.met(uidA); !lost.IsZero() || !met {
			t.Errorf("it is %s, and an answer is still lost", name)
		}
	}
	k.forget(uidA)
	if _, known := k.recall(id, scope{}, time.Time{}); known || len(k.seen)+len(k.asked)+len(k.doubted) != 0 {
		t.Error("it is forgotten, and not")
	}
}
