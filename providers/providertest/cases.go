package providertest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// prompt is how soon a call with a cancelled context returns; generous, for a
// loaded machine.
const prompt = 20 * time.Second

var ensuring = map[string]func(*testing.T, Harness){
	"Ensure makes exactly what is planned": func(t *testing.T, h Harness) {
		for _, tc := range []struct{ cidr, gateway string }{
			{"192.168.1.0/16", "192.168.1.1"},
			{"10.20.30.64/27", ""},
			{"10.20.31.0/24", samplecrdv1.GatewayNone},
			{"2001:db8:0:1a::/64", ""},
		} {
			id, want := h.NewIdentity(t), plan(t, tc.cidr, tc.gateway)
			observed := ensure(t, h, id, want)
			if !observed.Changed {
				t.Errorf("%s was made, and nothing has changed", tc.cidr)
			}
			checkHeld(t, h, id, want)
			if held := h.Held(t, id); held[0].ID != observed.ID {
				t.Errorf("Ensure gives the id %q, the backend has %q", observed.ID, held[0].ID)
			}
		}
	},
	"a second Ensure writes nothing": func(t *testing.T, h Harness) {
		id, want := h.NewIdentity(t), plan(t, "10.0.0.0/24", "")
		first := ensure(t, h, id, want)
		writes := h.Writes()
		if writes == 0 {
			t.Fatal("the first Ensure was not counted as a write")
		}
		for range 5 {
			again := ensure(t, h, id, want)
			if again.Changed {
				t.Error("it says that something has changed")
			}
			if again.ID != first.ID {
				t.Errorf("the id was %q and is %q", first.ID, again.ID)
			}
		}
		// A call that the backend refuses, since its object is there, is none.
		if got := h.Writes(); got != writes {
			t.Errorf("%d more writes", got-writes)
		}
	},
	"changes reach the backend, in the same network": func(t *testing.T, h Harness) {
		id := h.NewIdentity(t)
		first := ensure(t, h, id, plan(t, "10.0.0.0/24", ""))
		// The seed's update, a gateway alone, a range apart, one that overlaps the old
		// one, another family, no gateway any more.
		for _, tc := range []struct{ cidr, gateway string }{
			{"10.0.0.0/24", "10.0.0.254"},
			{"192.168.0.0/16", "192.168.0.1"},
			{"192.168.1.0/16", "192.168.1.1"},
			{"192.168.1.0/24", ""},
			{"2001:db8::/64", ""},
			{"2001:db8::/64", samplecrdv1.GatewayNone},
		} {
			want := plan(t, tc.cidr, tc.gateway)
			observed := ensure(t, h, id, want)
			if !observed.Changed {
				t.Errorf("%s by %q: nothing has changed", tc.cidr, tc.gateway)
			}
			if observed.ID != first.ID {
				t.Errorf("%s by %q: the id was %q and is %q", tc.cidr, tc.gateway, first.ID, observed.ID)
			}
			if len(observed.Draining) > 0 {
				t.Errorf("%s by %q: nobody uses anything, and %v drains", tc.cidr, tc.gateway, observed.Draining)
			}
			checkHeld(t, h, id, want)
		}
	},
	"what somebody changed is put right": func(t *testing.T, h Harness) {
		id, want := h.NewIdentity(t), plan(t, "10.0.0.0/24", "")
		ensure(t, h, id, want)
		h.Tamper(t, id)
		if held := h.Held(t, id); len(held) == 1 && compare(held[0], want) == nil {
			t.Fatal("nothing was tampered with")
		}
		if !ensure(t, h, id, want).Changed {
			t.Error("nothing has changed")
		}
		checkHeld(t, h, id, want)
	},
	"what somebody removed is made again": func(t *testing.T, h Harness) {
		id, want := h.NewIdentity(t), plan(t, "10.0.0.0/24", "")
		ensure(t, h, id, want)
		h.Remove(t, id)
		checkNothingHeld(t, h, id)
		if !ensure(t, h, id, want).Changed {
			t.Error("nothing has changed")
		}
		checkHeld(t, h, id, want)
	},
	"calls at once leave one network": func(t *testing.T, h Harness) {
		id, want := h.NewIdentity(t), plan(t, "10.0.0.0/24", "")
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				if _, err := h.Provider.Ensure(t.Context(), id, h.Class, want); err != nil {
					t.Errorf("Ensure: %v", err)
				}
			})
		}
		calls.Wait()
		checkHeld(t, h, id, want)
	},
	"Networks side by side do not disturb each other": func(t *testing.T, h Harness) {
		ids := make([]providers.Identity, 4)
		var calls sync.WaitGroup
		for i := range ids {
			ids[i] = h.NewIdentity(t)
			want := plan(t, fmt.Sprintf("10.%d.0.0/16", i), "")
			calls.Go(func() {
				if _, err := h.Provider.Ensure(t.Context(), ids[i], h.Class, want); err != nil {
					t.Errorf("Ensure: %v", err)
				}
			})
		}
		calls.Wait()
		if err := h.Provider.Delete(t.Context(), ids[0], h.Class); err != nil {
			t.Fatal(err)
		}
		checkNothingHeld(t, h, ids[0])
		for i, id := range ids[1:] {
			checkHeld(t, h, id, plan(t, fmt.Sprintf("10.%d.0.0/16", i+1), ""))
		}
	},
}

var deleting = map[string]func(*testing.T, Harness){
	"Delete removes the network, once and for all": func(t *testing.T, h Harness) {
		id := h.NewIdentity(t)
		ensure(t, h, id, plan(t, "10.0.0.0/24", ""))
		for range 3 {
			if err := h.Provider.Delete(t.Context(), id, h.Class); err != nil {
				t.Fatalf("Delete: %v", err)
			}
			checkNothingHeld(t, h, id)
			if left := h.LeftBehind(t, id); len(left) > 0 {
				t.Errorf("%v is left behind", left)
			}
		}
	},
	"Delete of what was never made does nothing": func(t *testing.T, h Harness) {
		id, writes := h.NewIdentity(t), h.Writes()
		if err := h.Provider.Delete(t.Context(), id, h.Class); err != nil {
			t.Fatalf("Delete: %v", err)
		}
		if got := h.Writes(); got != writes {
			t.Errorf("%d writes", got-writes)
		}
	},
	"Delete of what somebody removed succeeds": func(t *testing.T, h Harness) {
		id := h.NewIdentity(t)
		ensure(t, h, id, plan(t, "10.0.0.0/24", ""))
		h.Remove(t, id)
		if err := h.Provider.Delete(t.Context(), id, h.Class); err != nil {
			t.Fatalf("Delete: %v", err)
		}
	},
	"Release leaves the network behind, and nobody's": func(t *testing.T, h Harness) {
		id, want := h.NewIdentity(t), plan(t, "10.0.0.0/24", "")
		ensure(t, h, id, want)
		// Release is repeated after a crash, and a Delete may follow by mistake.
		for i, call := range []func(context.Context, providers.Identity, *samplecrdv1.NetworkClassSpec) error{h.Provider.Release, h.Provider.Release, h.Provider.Delete} {
			if err := call(t.Context(), id, h.Class); err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
			checkNothingHeld(t, h, id)
			left := h.LeftBehind(t, id)
			if len(left) != 1 {
				t.Fatalf("after call %d %d networks are left behind, want one", i, len(left))
			}
			if err := compare(left[0], want); err != nil {
				t.Error(err)
			}
		}
	},
	"Release of what was never made does nothing": func(t *testing.T, h Harness) {
		id, writes := h.NewIdentity(t), h.Writes()
		if err := h.Provider.Release(t.Context(), id, h.Class); err != nil {
			t.Fatalf("Release: %v", err)
		}
		if got := h.Writes(); got != writes {
			t.Errorf("%d writes", got-writes)
		}
	},
}

var keepingApart = map[string]func(*testing.T, Harness){
	"a foreign network in the way is a conflict, and is not touched": func(t *testing.T, h Harness) {
		id, want := h.NewIdentity(t), plan(t, "10.0.0.0/24", "")
		h.SetForeign(t, id, true)
		if h.SharesNames {
			ensure(t, h, id, want)
			checkHeld(t, h, id, want)
			if err := h.Provider.Delete(t.Context(), id, h.Class); err != nil || !h.ForeignIntact(t, id) {
				t.Errorf("beside a network of its name: %v", err)
			}
			return
		}
		_, err := h.Provider.Ensure(t.Context(), id, h.Class, want)
		checkReason(t, err, samplecrdv1.NetworkReasonConflict)
		if got := providers.AsError(err).Retry; got != providers.RetrySlowly {
			t.Errorf("it is retried soon")
		}
		for _, call := range []func(context.Context, providers.Identity, *samplecrdv1.NetworkClassSpec) error{h.Provider.Release, h.Provider.Delete} {
			if err := call(t.Context(), id, h.Class); err != nil {
				t.Errorf("there is nothing of ours to let go: %v", err)
			}
		}
		checkNothingHeld(t, h, id)
		if !h.ForeignIntact(t, id) {
			t.Error("the foreign network was touched")
		}
		h.SetForeign(t, id, false)
		ensure(t, h, id, want)
		checkHeld(t, h, id, want)
	},
	"a Network made anew does not inherit the old one's network": func(t *testing.T, h Harness) {
		old, before := h.NewIdentity(t), plan(t, "10.0.0.0/24", "")
		anew, after := providers.Identity{UID: old.UID + "-anew", NamespacedName: old.NamespacedName}, plan(t, "10.0.1.0/24", "")
		ensure(t, h, old, before)

		// The old one has not gone: its name may be taken, its network is not.
		if _, err := h.Provider.Ensure(t.Context(), anew, h.Class, after); err != nil {
			checkReason(t, err, samplecrdv1.NetworkReasonConflict)
			checkNothingHeld(t, h, anew)
		}
		checkHeld(t, h, old, before)
		if err := h.Provider.Delete(t.Context(), anew, h.Class); err != nil {
			t.Fatalf("Delete of the new one: %v", err)
		}
		checkHeld(t, h, old, before)

		if err := h.Provider.Delete(t.Context(), old, h.Class); err != nil {
			t.Fatalf("Delete of the old one: %v", err)
		}
		ensure(t, h, anew, after)
		if err := h.Provider.Delete(t.Context(), old, h.Class); err != nil {
			t.Fatalf("second Delete of the old one: %v", err)
		}
		checkHeld(t, h, anew, after)
	},
	"a network is known by its mark, not by its name": func(t *testing.T, h Harness) {
		one, want := h.NewIdentity(t), plan(t, "10.0.0.0/24", "")
		ensure(t, h, one, want)
		stranger := providers.Identity{UID: types.UID("00000000-0000-4000-8000-000000000000"), NamespacedName: one.NamespacedName}
		for _, call := range []func(context.Context, providers.Identity, *samplecrdv1.NetworkClassSpec) error{h.Provider.Release, h.Provider.Delete} {
			if err := call(t.Context(), stranger, h.Class); err != nil {
				t.Errorf("there is nothing of it to let go: %v", err)
			}
			checkHeld(t, h, one, want)
		}
	},
}

var failing = map[string]func(*testing.T, Harness){
	"a cancelled context ends every call": func(t *testing.T, h Harness) {
		made, missing, want := h.NewIdentity(t), h.NewIdentity(t), plan(t, "10.0.0.0/24", "")
		ensure(t, h, made, want)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for name, call := range map[string]func() error{
			"Ensure": func() error {
				_, err := h.Provider.Ensure(ctx, missing, h.Class, want)
				return err
			},
			"Delete":  func() error { return h.Provider.Delete(ctx, made, h.Class) },
			"Release": func() error { return h.Provider.Release(ctx, made, h.Class) },
		} {
			ended := make(chan error, 1)
			go func() { ended <- call() }()
			select {
			case err := <-ended:
				if err == nil {
					t.Errorf("%s succeeds", name)
				}
			case <-time.After(prompt):
				t.Errorf("%s does not end", name)
			}
		}
		checkHeld(t, h, made, want)
		checkNothingHeld(t, h, missing)
	},
}
