package memory

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/providers/providertest"
)

func TestContract(t *testing.T) {
	providertest.Run(t, func(*testing.T) providertest.Harness {
		p, serial := New(), 0
		return providertest.Harness{
			Provider: p,
			Class:    &samplecrdv1.NetworkClassSpec{Provider: samplecrdv1.ProviderMultus},
			NewIdentity: func(*testing.T) providers.Identity {
				serial++
				return identity(fmt.Sprintf("network-%d", serial))
			},
			Held: func(_ *testing.T, id providers.Identity) []providertest.Held {
				var all []providertest.Held
				for uid, network := range p.Networks() {
					if uid == id.UID {
						all = append(all, held(network))
					}
				}
				return all
			},
			LeftBehind: func(_ *testing.T, id providers.Identity) []providertest.Held {
				var all []providertest.Held
				for _, network := range p.Released() {
					if network.Owner.NamespacedName == id.NamespacedName {
						all = append(all, held(network))
					}
				}
				return all
			},
			SetForeign:    func(_ *testing.T, id providers.Identity, there bool) { p.SetForeign(id.NamespacedName, there) },
			ForeignIntact: func(_ *testing.T, id providers.Identity) bool { return p.foreign[id.NamespacedName] },
			Tamper: func(_ *testing.T, id providers.Identity) {
				p.Tamper(id.UID, func(n *Network) { n.Subnets = []Subnet{{Prefix: netip.MustParsePrefix("203.0.113.0/24")}} })
			},
			Remove: func(_ *testing.T, id providers.Identity) { p.Tamper(id.UID, func(n *Network) { n.ID = "" }) },
			Writes: p.Writes,
		}
	})
}

func held(network Network) providertest.Held {
	h := providertest.Held{ID: network.ID}
	for _, subnet := range network.Subnets {
		h.Subnets = append(h.Subnets, providertest.Subnet{Prefix: subnet.Prefix, Gateway: subnet.Gateway})
	}
	return h
}

func identity(name string) providers.Identity {
	return providers.Identity{UID: types.UID("uid-of-" + name), NamespacedName: types.NamespacedName{Namespace: "default", Name: name}}
}

func planOf(t *testing.T, cidr string) addressing.Plan {
	t.Helper()
	plan, errs := addressing.Parse(&samplecrdv1.NetworkSpec{CIDR: cidr}, field.NewPath("spec"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return plan
}

func TestFail(t *testing.T) {
	p, id := New(), identity("x")
	first, second := providers.QuotaExceeded(errors.New("full")), errors.New("reset")
	p.Fail(first, second)
	if _, err := p.Ensure(t.Context(), id, nil, planOf(t, "10.0.0.0/24")); !errors.Is(err, first) {
		t.Errorf("the first call gives %v", err)
	}
	if err := p.Delete(t.Context(), id); !errors.Is(err, second) {
		t.Errorf("the second call gives %v", err)
	}
	if len(p.Networks()) > 0 || p.Writes() > 0 {
		t.Error("a call that failed has done something")
	}
	if _, err := p.Ensure(t.Context(), id, nil, planOf(t, "10.0.0.0/24")); err != nil {
		t.Errorf("the third call gives %v", err)
	}
	if p.Calls("Ensure") != 2 || p.Calls("Delete") != 1 || p.Calls("Release") != 0 {
		t.Error("calls are not counted")
	}
}

func TestBlock(t *testing.T) {
	p, id := New(), identity("x")
	unblock := p.Block()
	ended := make(chan error, 1)
	go func() {
		_, err := p.Ensure(t.Context(), id, nil, planOf(t, "10.0.0.0/24"))
		ended <- err
	}()
	// Whoever waits can still be told to stop.
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := p.Delete(short, id); providers.AsError(err).Reason != samplecrdv1.NetworkReasonBackendUnavailable {
		t.Errorf("a call that waited too long gives %v", err)
	}
	select {
	case err := <-ended:
		t.Fatalf("Ensure came through: %v", err)
	default:
	}
	unblock()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(p.Networks()) != 1 {
		t.Error("nothing was made")
	}
	if err := p.Delete(t.Context(), id); err != nil {
		t.Errorf("calls are still held: %v", err)
	}
}

func TestSetUsers(t *testing.T) {
	p, id := New(), identity("x")
	if _, err := p.Ensure(t.Context(), id, nil, planOf(t, "10.0.0.0/24")); err != nil {
		t.Fatal(err)
	}
	p.SetUsers(id.UID, "pod b", "pod a")
	err := providers.AsError(p.Delete(t.Context(), id))
	if err.Reason != samplecrdv1.NetworkReasonInUse || err.Message != "Still used by pod a, pod b" {
		t.Errorf("got %s: %s", err.Reason, err.Message)
	}
	if len(p.Networks()) != 1 {
		t.Error("a network in use was removed")
	}
	p.SetUsers(id.UID)
	if err := p.Delete(t.Context(), id); err != nil {
		t.Errorf("a network that is free again gives %v", err)
	}
}

func TestSetLimits(t *testing.T) {
	p, limits := New(), addressing.Limits{Backend: "memory", LongestIPv4: 30}
	if got := p.Limits(nil); got != (addressing.Limits{}) {
		t.Errorf("there are limits at first: %v", got)
	}
	p.SetLimits(limits)
	if got := p.Limits(nil); got != limits {
		t.Errorf("got %v, want %v", got, limits)
	}
}

// Every change from outside is told to who watches.
func TestSource(t *testing.T) {
	p, id := New(), identity("x")
	if _, err := p.Ensure(t.Context(), id, nil, planOf(t, "10.0.0.0/24")); err != nil {
		t.Fatal(err)
	}
	watch, err := p.Source()
	if err != nil {
		t.Fatal(err)
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := watch.Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	// In this order: what was removed has no name any more.
	for _, tc := range []struct {
		name   string
		change func()
	}{
		{"users", func() { p.SetUsers(id.UID, "pod a") }},
		{"a foreign network", func() { p.SetForeign(id.NamespacedName, true) }},
		{"tampering", func() { p.Tamper(id.UID, func(n *Network) { n.MTU = 1 }) }},
		{"a removal", func() { p.Tamper(id.UID, func(n *Network) { n.ID = "" }) }},
	} {
		tc.change()
		request, _ := queue.Get()
		queue.Done(request)
		if request.NamespacedName != id.NamespacedName {
			t.Errorf("%s: the request is for %s", tc.name, request)
		}
	}
}
