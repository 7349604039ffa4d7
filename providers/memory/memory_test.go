package memory

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go4.org/netipx"
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
				p.Tamper(id.UID, func(n *Network) { n.Subnets[0].Prefix = netip.MustParsePrefix("203.0.113.0/24") })
			},
			Remove: func(_ *testing.T, id providers.Identity) { p.Tamper(id.UID, func(n *Network) { n.ID = "" }) },
			Writes: p.Writes,
			SetUsers: func(t *testing.T, id providers.Identity, prefix netip.Prefix, users ...string) {
				if err := p.SetUsers(id.UID, prefix, users...); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

func held(network Network) providertest.Held {
	h := providertest.Held{ID: network.ID, MTU: network.MTU}
	for _, subnet := range network.Subnets {
		h.Subnets = append(h.Subnets, providertest.Subnet{
			ID: subnet.ID, Prefix: subnet.Prefix, Gateway: subnet.Gateway, Pools: subnet.Pools,
			DNSServers: subnet.DNSServers, Routes: subnet.Routes, DHCP: subnet.DHCP,
		})
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
	if err := p.Delete(t.Context(), id, nil); !errors.Is(err, second) {
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
	if err := p.Delete(short, id, nil); providers.AsError(err).Reason != samplecrdv1.NetworkReasonBackendUnavailable {
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
	if err := p.Delete(t.Context(), id, nil); err != nil {
		t.Errorf("calls are still held: %v", err)
	}
}

// inUse is a network of that range with a user.
func inUse(t *testing.T, cidr string) (*Provider, providers.Identity, netip.Prefix) {
	t.Helper()
	p, id, plan := New(), identity("x"), planOf(t, cidr)
	if _, err := p.Ensure(t.Context(), id, nil, plan); err != nil {
		t.Fatal(err)
	}
	prefix := plan.Subnets[0].Prefix
	if err := p.SetUsers(id.UID, prefix, "pod a"); err != nil {
		t.Fatal(err)
	}
	return p, id, prefix
}

func TestSetUsersOfNothing(t *testing.T) {
	p, id, prefix := inUse(t, "10.0.0.0/24")
	for name, err := range map[string]error{
		"a subnet that is not there":  p.SetUsers(id.UID, netip.MustParsePrefix("10.0.1.0/24"), "pod a"),
		"a network that is not there": p.SetUsers("nobody", prefix, "pod a"),
		"others, where there is none": p.SetOthers("nobody", prefix, true),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if len(p.Networks()) != 1 {
		t.Errorf("a network has come: %v", p.Networks())
	}
}

// Those who must not be named hold a subnet as well as others do.
func TestSetOthers(t *testing.T) {
	p, id, prefix := inUse(t, "10.0.0.0/24")
	if err := errors.Join(p.SetUsers(id.UID, prefix), p.SetOthers(id.UID, prefix, true)); err != nil {
		t.Fatal(err)
	}
	const nameless = "still used by others, who may not be named here"
	if err := p.Delete(t.Context(), id, nil); err == nil || !strings.EqualFold(err.Error(), nameless) {
		t.Errorf("Delete gives %v", err)
	}
	if _, err := p.Ensure(t.Context(), id, nil, planOf(t, "10.0.0.0/16")); err == nil || !strings.Contains(err.Error(), "10.0.0.0/24 is "+nameless) {
		t.Errorf("Ensure gives %v", err)
	}
	observed, err := p.Ensure(t.Context(), id, nil, planOf(t, "10.1.0.0/24"))
	if err != nil || len(observed.Draining) != 1 || !observed.Draining[0].Users.Others {
		t.Errorf("Ensure gives %+v, %v", observed, err)
	}
	if err := errors.Join(p.SetOthers(id.UID, prefix, false), p.Delete(t.Context(), id, nil)); err != nil {
		t.Error(err)
	}
}

// What a test does to what it was given stays with the test.
func TestCopies(t *testing.T) {
	p, id, _ := inUse(t, "10.0.0.0/24")
	spec := &samplecrdv1.NetworkSpec{
		CIDR: "10.0.0.0/24", DNSServers: []string{"192.0.2.53"},
		AllocationPools: []samplecrdv1.AddressRange{{Start: "10.0.0.10", End: "10.0.0.19"}},
		Routes:          []samplecrdv1.Route{{Destination: "172.16.0.0/12", NextHop: "10.0.0.9"}},
	}
	plan, errs := addressing.Parse(spec, field.NewPath("spec"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if _, err := p.Ensure(t.Context(), id, nil, plan); err != nil {
		t.Fatal(err)
	}
	spoil := func(network Network) {
		subnet := &network.Subnets[0]
		subnet.DNSServers[0], subnet.Routes[0].NextHop = netip.Addr{}, netip.Addr{}
		subnet.Pools[0], subnet.Users.Named[0] = netipx.IPRange{}, "somebody"
		subnet.Prefix = netip.Prefix{}
	}
	before := fmt.Sprint(p.Networks())
	spoil(p.Networks()[id.UID])
	spoil(Network{Subnets: []Subnet{{Subnet: plan.Subnets[0], Users: providers.Users{Named: []string{""}}}}})
	if after := fmt.Sprint(p.Networks()); after != before {
		t.Errorf("the provider holds %s, and held %s", after, before)
	}
	if err := p.Release(t.Context(), id, nil); err != nil {
		t.Fatal(err)
	}
	before = fmt.Sprint(p.Released())
	spoil(p.Released()[0])
	if after := fmt.Sprint(p.Released()); after != before {
		t.Errorf("%s is left behind, and was %s", after, before)
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
	p, id, prefix := inUse(t, "10.0.0.0/24")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
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
	next := func() reconcile.Request {
		request, _ := queue.Get()
		queue.Done(request)
		return request
	}
	next() // of the user that is there already
	// In this order: what was removed has no name any more.
	for _, tc := range []struct {
		name   string
		change func()
	}{
		{"users", func() { check(p.SetUsers(id.UID, prefix, "pod a")) }},
		{"others", func() { check(p.SetOthers(id.UID, prefix, true)) }},
		{"the end of both", func() { check(errors.Join(p.SetUsers(id.UID, prefix), p.SetOthers(id.UID, prefix, false))) }},
		{"a foreign network", func() { p.SetForeign(id.NamespacedName, true) }},
		{"tampering", func() { p.Tamper(id.UID, func(n *Network) { n.MTU = 1 }) }},
		{"a removal", func() { p.Tamper(id.UID, func(n *Network) { n.ID = "" }) }},
	} {
		tc.change()
		if request := next(); request.NamespacedName != id.NamespacedName {
			t.Errorf("%s: the request is for %s", tc.name, request)
		}
	}
}
