package providertest

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// draining are the cases of a plan that changes under those who use what it had.
var draining = map[string]func(*testing.T, Harness){
	"a subnet that nobody uses goes at once, whatever takes its place": func(t *testing.T, h Harness) {
		for _, cidr := range []string{second, aroundFirst, "2001:db8:0:1:8000::/65"} {
			id := h.NewIdentity(t)
			ensure(t, h, id, with(t, first))
			want := with(t, cidr)
			if observed := ensure(t, h, id, want); !observed.Changed || len(observed.Draining) > 0 {
				t.Errorf("%s: changed is %t, and %v drains", cidr, observed.Changed, observed.Draining)
			}
			checkHeld(t, h, id, want)
		}
	},
	"a used subnet that is planned no longer stays until it is free": func(t *testing.T, h Harness) {
		knowsUsers(t, h)
		id, want := h.NewIdentity(t), with(t, second)
		made := ensure(t, h, id, with(t, first))
		old := held(t, h, id, first)
		use(t, h, id, first, "pod b", "pod a")

		observed := ensure(t, h, id, want)
		if !observed.Changed {
			t.Error("nothing has changed")
		}
		checkDraining(t, observed, first)
		if got, want := observed.Draining[0], (providers.Draining{
			Prefix: old.Prefix, Gateway: old.Gateway, ID: made.SubnetIDs[old.Prefix], Users: observed.Draining[0].Users,
		}); !reflect.DeepEqual(got, want) {
			t.Errorf("it drains as %+v, want %+v", got, want)
		}
		if text, want := observed.Draining[0].Users.String(), named(t, h, id, "pod a", "pod b"); text != want {
			t.Errorf("its users are %s, want %s", text, want)
		}
		checkHeld(t, h, id, want, old)

		writes := h.Writes()
		if again := ensure(t, h, id, want); again.Changed || h.Writes() != writes {
			t.Error("it drains, and something is written")
		} else {
			checkDraining(t, again, first)
		}
		use(t, h, id, first, "pod b")
		if left := ensure(t, h, id, want); left.Draining[0].Users.String() != named(t, h, id, "pod b") {
			t.Errorf("one has gone, and the users are %s", left.Draining[0].Users)
		}
		use(t, h, id, first)
		if last := ensure(t, h, id, want); !last.Changed {
			t.Error("all have gone, and nothing has changed")
		} else {
			checkDraining(t, last)
		}
		checkHeld(t, h, id, want)
	},
	"one of several that is planned no longer drains alone": func(t *testing.T, h Harness) {
		knowsUsers(t, h)
		id, want := h.NewIdentity(t), with(t, first, third)
		before := ensure(t, h, id, with(t, first, second))
		old := held(t, h, id, second)
		use(t, h, id, first, "pod a")
		use(t, h, id, second, "pod a", "pod b")
		after := ensure(t, h, id, want)
		checkDraining(t, after, second)
		checkSame(t, before, after, want.Prefixes()...)
		checkHeld(t, h, id, want, old)
		use(t, h, id, second)
		checkDraining(t, ensure(t, h, id, want))
		checkHeld(t, h, id, want)
	},
	"nothing changes while what is used is in the way": func(t *testing.T, h Harness) {
		knowsUsers(t, h)
		id, before := h.NewIdentity(t), with(t, first, second)
		made := ensure(t, h, id, before)
		use(t, h, id, first, "pod b", "pod a")
		// One is in the way of the first of these; the second is free to go, the third
		// to come, and the MTU to change.
		want := with(t, aroundFirst, third)
		want.MTU = 1400
		writes := h.Writes()
		for range 2 {
			observed, err := h.Provider.Ensure(t.Context(), id, h.Class, want)
			checkReason(t, err, samplecrdv1.NetworkReasonInUse)
			if failure := providers.AsError(err); failure.Retry != providers.RetrySlowly || !strings.Contains(failure.Message, first+" is still used by "+named(t, h, id, "pod a", "pod b")) {
				t.Errorf("it says %q, retry %d", failure.Message, failure.Retry)
			}
			checkSame(t, made, observed)
			if observed.Changed || h.Writes() != writes {
				t.Error("something was changed")
			}
			checkHeld(t, h, id, before)
		}
		use(t, h, id, first)
		if !ensure(t, h, id, want).Changed {
			t.Error("all have gone, and nothing has changed")
		}
		checkHeld(t, h, id, want)
	},
	"what drains can be planned again": func(t *testing.T, h Harness) {
		knowsUsers(t, h)
		id, before, after := h.NewIdentity(t), with(t, first), with(t, second)
		made := ensure(t, h, id, before)
		use(t, h, id, first, "pod a")
		ensure(t, h, id, after)
		// The new one has its users by now: it is its turn to drain.
		use(t, h, id, second, "pod b")
		newer := held(t, h, id, second)
		back := ensure(t, h, id, before)
		checkDraining(t, back, second)
		checkSame(t, made, back, before.Prefixes()...)
		checkHeld(t, h, id, before, newer)
		use(t, h, id, second)
		checkDraining(t, ensure(t, h, id, before))
		checkHeld(t, h, id, before)
	},
	"several drain, each in its own time": func(t *testing.T, h Harness) {
		knowsUsers(t, h)
		id, want := h.NewIdentity(t), with(t, third)
		ensure(t, h, id, with(t, first))
		oldest := held(t, h, id, first)
		use(t, h, id, first, "pod a")
		ensure(t, h, id, with(t, second))
		old := held(t, h, id, second)
		use(t, h, id, second, "pod b")
		checkDraining(t, ensure(t, h, id, want), first, second)
		checkHeld(t, h, id, want, oldest, old)
		use(t, h, id, second)
		checkDraining(t, ensure(t, h, id, want), first)
		checkHeld(t, h, id, want, oldest)
		use(t, h, id, first)
		checkDraining(t, ensure(t, h, id, want))
		checkHeld(t, h, id, want)
	},
	"what drains can be in the way": func(t *testing.T, h Harness) {
		knowsUsers(t, h)
		id, now := h.NewIdentity(t), with(t, second)
		ensure(t, h, id, with(t, first))
		old := held(t, h, id, first)
		use(t, h, id, first, "pod a")
		ensure(t, h, id, now)
		_, err := h.Provider.Ensure(t.Context(), id, h.Class, with(t, "2001:db8:0:1::/65"))
		checkReason(t, err, samplecrdv1.NetworkReasonInUse)
		checkHeld(t, h, id, now, old)
	},
	"what drains is left as it is, whatever else changes": func(t *testing.T, h Harness) {
		knowsUsers(t, h)
		id := h.NewIdentity(t)
		ensure(t, h, id, with(t, first))
		old := held(t, h, id, first)
		use(t, h, id, first, "pod a")
		ensure(t, h, id, with(t, second))
		want := planOf(t, samplecrdv1.NetworkSpec{CIDR: second, Gateway: "2001:db8:0:2::fe", MTU: new(int32(1400))})
		observed := ensure(t, h, id, want)
		if !observed.Changed {
			t.Error("nothing has changed")
		}
		checkDraining(t, observed, first)
		checkHeld(t, h, id, want, old)
	},
	"all of a network drains when nothing is planned": func(t *testing.T, h Harness) {
		knowsUsers(t, h)
		id := h.NewIdentity(t)
		ensure(t, h, id, with(t, first, second))
		old := held(t, h, id, first)
		use(t, h, id, first, "pod a")
		none := addressing.Plan{}
		checkDraining(t, ensure(t, h, id, none), first)
		checkHeld(t, h, id, none, old)
	},
	"Delete waits for every user, also of what drains": func(t *testing.T, h Harness) {
		knowsUsers(t, h)
		id, want := h.NewIdentity(t), with(t, second)
		ensure(t, h, id, with(t, first))
		old := held(t, h, id, first)
		use(t, h, id, first, "pod a")
		ensure(t, h, id, want)
		use(t, h, id, second, "pod b")
		writes := h.Writes()
		err := h.Provider.Delete(t.Context(), id, h.Class)
		checkReason(t, err, samplecrdv1.NetworkReasonInUse)
		if got := providers.AsError(err).Message; got != "Still used by "+named(t, h, id, "pod a", "pod b") {
			t.Errorf("it says %q", got)
		}
		use(t, h, id, second)
		checkReason(t, h.Provider.Delete(t.Context(), id, h.Class), samplecrdv1.NetworkReasonInUse)
		checkHeld(t, h, id, want, old)
		if h.Writes() != writes {
			t.Error("something was changed")
		}
		use(t, h, id, first)
		if err := h.Provider.Delete(t.Context(), id, h.Class); err != nil {
			t.Errorf("all have gone: %v", err)
		}
		checkNothingHeld(t, h, id)
	},
	"Release waits for nobody": func(t *testing.T, h Harness) {
		knowsUsers(t, h)
		id, want := h.NewIdentity(t), with(t, second)
		ensure(t, h, id, with(t, first))
		old := held(t, h, id, first)
		use(t, h, id, first, "pod a")
		ensure(t, h, id, want)
		if err := h.Provider.Release(t.Context(), id, h.Class); err != nil {
			t.Fatal(err)
		}
		left := h.LeftBehind(t, id)
		if len(left) != 1 {
			t.Fatalf("%d networks are left behind, want one", len(left))
		}
		if err := compare(left[0], want, old); err != nil {
			t.Error(err)
		}
	},
}

// knowsUsers skips what can be asked only of a backend that knows who uses it.
func knowsUsers(t *testing.T, h Harness) {
	t.Helper()
	if h.SetUsers == nil {
		t.Skip("this backend does not know its users, who keep their addresses: it carries out every change at once")
	}
}

// checkDraining holds what drains to these ranges.
func checkDraining(t *testing.T, observed providers.Observed, prefixes ...string) {
	t.Helper()
	want := map[netip.Prefix]bool{}
	for _, prefix := range prefixes {
		want[netip.MustParsePrefix(prefix)] = true
	}
	for _, draining := range observed.Draining {
		if !want[draining.Prefix] {
			t.Errorf("%s drains", draining.Prefix)
		}
		if !draining.Users.Any() {
			t.Errorf("%s drains, and nobody uses it", draining.Prefix)
		}
		delete(want, draining.Prefix)
	}
	if len(want) > 0 {
		t.Fatalf("%v do not drain", want)
	}
}
