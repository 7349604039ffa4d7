package pace

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

var key = types.NamespacedName{Namespace: "default", Name: "x"}

// at is the object of key, at a resource version.
func at(version string) client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, ResourceVersion: version}}
}

// wrote has written key at each of these versions, in this order.
func wrote(versions ...string) *Writes {
	w := &Writes{}
	for _, version := range versions {
		w.Wrote(key, version)
	}
	return w
}

func TestBehind(t *testing.T) {
	const forty = "10000000000000000000000000000000000000000"
	for name, tc := range map[string]struct {
		writes *Writes
		cached string // "" for nothing
		want   bool
	}{
		"nothing was written, nothing is cached":         {wrote(), "", false},
		"nothing was written":                            {wrote(), "7", false},
		"the cache has the write":                        {wrote("7"), "7", false},
		"the cache has a later one":                      {wrote("7"), "8", false},
		"the cache has an earlier one":                   {wrote("7"), "6", true},
		"the cache has nothing yet":                      {wrote("7"), "", true},
		"versions are numbers, not text: later":          {wrote("9"), "10", false},
		"versions are numbers, not text: earlier":        {wrote("10"), "9", true},
		"versions may be large: earlier":                 {wrote(forty), "9", true},
		"versions may be large: later":                   {wrote("9"), forty, false},
		"the last of two writes counts":                  {wrote("7", "9"), "8", true},
		"what cannot be compared is no reason to wait":   {wrote("7"), "later", false},
		"a write that cannot be compared is none either": {wrote(""), "7", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.writes.Behind(key, tc.cached); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
	t.Run("another object is another matter", func(t *testing.T) {
		for _, other := range []types.NamespacedName{{Namespace: "default", Name: "y"}, {Namespace: "elsewhere", Name: "x"}, {Name: "x"}} {
			if wrote("7").Behind(other, "6") {
				t.Errorf("%s is behind", other)
			}
		}
	})
}

func TestIs(t *testing.T) {
	for name, tc := range map[string]struct {
		writes *Writes
		object client.Object
		want   bool
	}{
		"what we wrote last":          {wrote("7"), at("7"), true},
		"what we wrote before that":   {wrote("6", "7"), at("6"), false},
		"what was there before":       {wrote("7"), at("6"), false},
		"what somebody wrote later":   {wrote("7"), at("8"), false},
		"nothing was written":         {wrote(), at("7"), false},
		"another object of that name": {wrote("7"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: key.Name, ResourceVersion: "7"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.writes.Is(tc.object); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestGone(t *testing.T) {
	for name, tc := range map[string]struct {
		writes *Writes
		gone   client.Object
		forgot bool
	}{
		"what goes after our write is forgotten":         {wrote("7"), at("8"), true},
		"what goes as we wrote it is as well":            {wrote("7"), at("7"), true},
		"an older object does not take a newer write":    {wrote("7"), at("6"), false},
		"nor does one whose version tells less as text":  {wrote("10"), at("9"), false},
		"another object takes nothing":                   {wrote("7"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "y", ResourceVersion: "8"}}, false},
		"an object of that name in another place either": {wrote("7"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: "x", ResourceVersion: "8"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			tc.writes.Gone().Delete(t.Context(), event.DeleteEvent{Object: tc.gone}, nil)
			// With nothing in the cache only what was forgotten is not waited for.
			if got := !tc.writes.Behind(key, ""); got != tc.forgot {
				t.Errorf("forgotten is %t", got)
			}
		})
	}
	t.Run("an object that was never written may go", func(t *testing.T) {
		wrote().Gone().Delete(t.Context(), event.DeleteEvent{Object: at("7")}, nil)
	})
	t.Run("only its end makes an object forgotten, and nothing is asked for", func(t *testing.T) {
		w := wrote("7")
		gone := w.Gone()
		gone.Create(t.Context(), event.CreateEvent{Object: at("8")}, nil)
		gone.Update(t.Context(), event.UpdateEvent{ObjectOld: at("7"), ObjectNew: at("8")}, nil)
		gone.Generic(t.Context(), event.GenericEvent{Object: at("8")}, nil)
		if !w.Behind(key, "") {
			t.Error("forgotten")
		}
	})
}

// Four to six minutes, and not all at once.
func TestSlowly(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 1000 {
		delay := Slowly()
		if delay < 4*time.Minute || delay > 6*time.Minute {
			t.Fatalf("got %s", delay)
		}
		seen[delay] = true
	}
	if len(seen) < 100 {
		t.Errorf("%d delays of 1000 are different", len(seen))
	}
}

// A pass can still write its status when its steps took all the time they have,
// and no worker is held for ever.
func TestOptions(t *testing.T) {
	options := Options()
	if options.MaxConcurrentReconciles < 2 {
		t.Errorf("%d workers", options.MaxConcurrentReconciles)
	}
	if options.ReconciliationTimeout < StepsTimeout+10*time.Second {
		t.Errorf("a pass has %s, its steps %s", options.ReconciliationTimeout, StepsTimeout)
	}
}

func TestInDoubt(t *testing.T) {
	for name, tc := range map[string]struct {
		writes func(*Writes)
		want   bool
	}{
		"nothing was written":               {func(*Writes) {}, false},
		"a write was answered":              {func(w *Writes) { w.Wrote(key, "7") }, false},
		"a write failed":                    {func(w *Writes) { w.failed(key) }, true},
		"one failed after one was answered": {func(w *Writes) { w.Wrote(key, "7"); w.failed(key) }, true},
		"one was answered after one failed": {func(w *Writes) { w.failed(key); w.Wrote(key, "7") }, false},
		"another object's write failed":     {func(w *Writes) { w.failed(types.NamespacedName{Name: "y"}) }, false},
		"the object has gone": {func(w *Writes) {
			w.failed(key)
			w.Gone().Delete(t.Context(), event.DeleteEvent{Object: at("7")}, nil)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := &Writes{}
			tc.writes(w)
			if got := w.inDoubt(key); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
