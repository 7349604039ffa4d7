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
			if now, known := k.recall(id, noon.Add(-time.Hour)); known != tc.known || known && !now.same(sorted(one)) {
				t.Errorf("it is known: %t, as %+v", known, now)
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
	if now, fresh := k.recall(id, noon.Add(-time.Second)); !fresh || now.ID != "n" {
		t.Errorf("it is %+v, fresh is %t", now, fresh)
	}
	if _, fresh := k.recall(id, noon); fresh {
		t.Error("it is fresh for ever")
	}
	if _, fresh := k.recall(providers.Identity{UID: uidB}, noon.Add(-time.Second)); fresh {
		t.Error("one that is there twice is known")
	}
	// Now its name is known, for the next sweep.
	if woken := k.learn(scope{}, nil, after(10)); len(woken) != 1 || woken[0] != id.NamespacedName {
		t.Errorf("it is gone, and %v are woken", woken)
	}
	if _, known := k.recall(id, time.Time{}); known {
		t.Error("it is gone, and known")
	}
}

// TestKnowledgeIsNotLearntOfWhatIsInDoubt: a sweep that began before tells nothing of a
// network that is being worked on.
func TestKnowledgeIsNotLearntOfWhatIsInDoubt(t *testing.T) {
	k, id := newKnowledge(), providers.Identity{UID: uidA}
	k.losing(uidA, noon)
	k.learn(scope{}, map[types.UID][]held{uidA: {{network: network{ID: "n"}}}}, after(-10))
	if _, known := k.recall(id, time.Time{}); known {
		t.Error("it is known by a sweep, while a call is in doubt")
	}
	if k.lostAt(uidA) != noon {
		t.Error("the lost answer is forgotten")
	}
}

func TestKnowledgeOfLostAnswers(t *testing.T) {
	k, id := newKnowledge(), providers.Identity{UID: uidA}
	if k.met(uidA) {
		t.Error("one is met that was never asked for")
	}
	k.losing(uidA, noon)
	if !k.met(uidA) || k.lostAt(uidA) != noon {
		t.Errorf("met is %t, lost at %v", k.met(uidA), k.lostAt(uidA))
	}
	k.doubt(uidA)
	if k.lostAt(uidA) != noon {
		t.Error("doubt ends the memory of the lost answer")
	}
	for name, found := range map[string]func(){
		"sure": func() { k.sure(uidA) },
		"seen": func() { k.saw(id, scope{}, held{}, noon) },
	} {
		k.losing(uidA, noon)
		if found(); !k.lostAt(uidA).IsZero() || !k.met(uidA) {
			t.Errorf("it is %s, and an answer is still lost", name)
		}
	}
	k.forget(uidA)
	if _, known := k.recall(id, time.Time{}); known || k.met(uidA) || len(k.seen)+len(k.asked)+len(k.lost) != 0 {
		t.Error("it is forgotten, and not")
	}
}
