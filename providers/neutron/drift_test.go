package neutron

import (
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// watched gives the Networks that the provider asks for another look at, since it was
// last called.
func (b *backend) watched(t *testing.T) (woken func() []string) {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	source, err := b.Source()
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	return func() []string {
		var all []string
		for queue.Len() > 0 {
			request, _ := queue.Get()
			queue.Done(request)
			all = append(all, request.Name)
		}
		slices.Sort(all)
		return all
	}
}

// drifts are what somebody may do to our network behind our back.
var drifts = map[string]func(*testing.T, *backend, held) error{
	"the network is renamed": func(t *testing.T, b *backend, h held) error {
		return networks.Update(t.Context(), b.eye, h.ID, networkUpdate{Name: new(b.namespace + "/renamed")}).Err
	},
	"the MTU is changed": func(t *testing.T, b *backend, h held) error {
		return networks.Update(t.Context(), b.eye, h.ID, networkUpdate{MTU: new(int32(1280))}).Err
	},
	"the subnet is renamed": func(t *testing.T, b *backend, h held) error {
		return subnets.Update(t.Context(), b.eye, h.subnets[0].id, subnets.UpdateOpts{Name: new("renamed")}).Err
	},
	"the gateway is gone": func(t *testing.T, b *backend, h held) error {
		return subnets.Update(t.Context(), b.eye, h.subnets[0].id, subnets.UpdateOpts{GatewayIP: new("")}).Err
	},
	"the DNS servers are others": func(t *testing.T, b *backend, h held) error {
		return subnets.Update(t.Context(), b.eye, h.subnets[0].id, subnets.UpdateOpts{DNSNameservers: &[]string{"203.0.113.53"}}).Err
	},
	"the routes are others": func(t *testing.T, b *backend, h held) error {
		return subnets.Update(t.Context(), b.eye, h.subnets[0].id, subnets.UpdateOpts{HostRoutes: &[]subnets.HostRoute{{DestinationCIDR: "203.0.113.0/24", NextHop: "10.0.0.7"}}}).Err
	},
	"the pools are others": func(t *testing.T, b *backend, h held) error {
		return subnets.Update(t.Context(), b.eye, h.subnets[0].id, subnets.UpdateOpts{AllocationPools: []subnets.AllocationPool{{Start: "10.0.0.50", End: "10.0.0.59"}}}).Err
	},
	"DHCP is off": func(t *testing.T, b *backend, h held) error {
		return subnets.Update(t.Context(), b.eye, h.subnets[0].id, subnets.UpdateOpts{EnableDHCP: new(false)}).Err
	},
	"the subnet is gone": func(t *testing.T, b *backend, h held) error {
		return subnets.Delete(t.Context(), b.eye, h.subnets[0].id).ExtractErr()
	},
	"the network is gone": func(t *testing.T, b *backend, h held) error {
		return networks.Delete(t.Context(), b.eye, h.ID).ExtractErr()
	},
}

func TestDriftIsSeenAndRepaired(t *testing.T) {
	b := newBackend(t, nil)
	woken := b.watched(t)
	plan := planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", MTU: new(int32(1400)), DHCP: new(samplecrdv1.DHCPEnabled)})
	ids, want := map[string]providers.Identity{}, []string{}
	for what := range drifts {
		id := b.new(t)
		id.Recorded = b.ensures(t, id, plan).ID
		id.New = false
		ids[what] = id
		want = append(want, id.Name)
	}
	slices.Sort(want)
	left := b.new(t) // Of which nothing drifts.
	b.ensures(t, left, plan)
	if b.sees(t); len(woken()) > 0 {
		t.Fatal("nothing has drifted, and somebody is woken")
	}
	for what, id := range ids {
		if err := drifts[what](t, b, b.ours(t, id)[0]); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	b.sees(t)
	if got := woken(); !slices.Equal(got, want) {
		t.Errorf("%v are woken, want %v", got, want)
	}
	for what, id := range ids {
		if !b.ensures(t, id, plan).Changed {
			t.Errorf("%s, and nothing is changed", what)
		}
		ours := b.ours(t, id)
		w := wanted{Plan: plan, class: class().Neutron, name: nameOf(id), mark: ours[0].Description}
		if len(ours) != 1 || !w.is(ours[0]) {
			t.Errorf("%s, and it is now %+v", what, ours)
		}
	}
	if b.sees(t); len(woken()) > 0 {
		t.Error("all is repaired, and somebody is woken")
	}
	b.checkAsks(t, "one that did not drift", func() { b.ensures(t, left, plan) })
}

// A network without its mark is nobody's: neither is it taken, nor is another made.
func TestDriftOfTheMark(t *testing.T) {
	b := newBackend(t, nil)
	woken := b.watched(t)
	id := b.new(t)
	made := b.ensures(t, id, planOf(t, seed))
	id.New, id.Recorded = false, made.ID
	marked := b.ours(t, id)[0]
	if err := networks.Update(t.Context(), b.eye, made.ID, networkUpdate{Description: new("mine")}).Err; err != nil {
		t.Fatal(err)
	}
	if b.sees(t); !slices.Equal(woken(), []string{id.Name}) {
		t.Error("it is not woken")
	}
	writes := b.writes()
	for range 2 {
		_, err := b.Ensure(t.Context(), id, class(), planOf(t, seed))
		failure := providers.AsError(err)
		if failure.Reason != samplecrdv1.NetworkReasonConflict || failure.Retry != providers.RetrySlowly || !strings.Contains(failure.Message, made.ID) {
			t.Fatalf("it is %+v", failure)
		}
	}
	// Nor does it go without a word: somebody may need it.
	checkFails(t, b.Delete(t.Context(), id, class()), samplecrdv1.NetworkReasonConflict, providers.RetrySlowly, made.ID, "deletionPolicy Retain")
	if err := b.Release(t.Context(), id, class()); err != nil {
		t.Errorf("it is to stay behind: %v", err)
	}
	if b.writes() != writes || len(b.ours(t, id)) != 0 {
		t.Error("something is written")
	}
	if err := networks.Update(t.Context(), b.eye, made.ID, networkUpdate{Description: &marked.Description}).Err; err != nil {
		t.Fatal(err)
	}
	if again := b.ensures(t, id, planOf(t, seed)); again.ID != made.ID {
		t.Errorf("marked again it is %s, and was %s", again.ID, made.ID)
	}
}

// TestStrangers: what is not ours is not touched, whatever its name and wherever it is.
func TestStrangers(t *testing.T) {
	b := newBackend(t, nil)
	id := b.new(t)
	plan := planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24"})
	stranger, err := networks.Create(t.Context(), b.eye, networks.CreateOpts{Name: nameOf(id)}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	made := b.ensures(t, id, plan)
	id.New, id.Recorded = false, made.ID
	theirs, err := subnets.Create(t.Context(), b.eye, subnets.CreateOpts{NetworkID: made.ID, CIDR: "10.9.0.0/24", IPVersion: 4, Name: nameOf(id)}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	b.sees(t)
	writes := b.writes()
	seen := b.ensures(t, id, plan)
	if seen.Changed || b.writes() != writes || len(seen.Draining) > 0 {
		t.Errorf("a stranger's subnet came, and it is %+v after %d writes", seen, b.writes()-writes)
	}
	if _, tells := seen.SubnetIDs[planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.9.0.0/24"}).Subnets[0].Prefix]; tells {
		t.Error("a stranger's subnet is told of as ours")
	}
	_, err = b.Ensure(t.Context(), id, class(), planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/8"}))
	if failure := providers.AsError(err); failure.Reason != samplecrdv1.NetworkReasonConflict || !strings.Contains(failure.Message, theirs.ID) {
		t.Errorf("a stranger's subnet is in the way: %v", err)
	}
	err = b.Delete(t.Context(), id, class())
	if failure := providers.AsError(err); failure.Reason != samplecrdv1.NetworkReasonInUse || !strings.Contains(failure.Message, "subnet "+theirs.ID) || failure.After <= 0 {
		t.Errorf("a stranger's subnet is on it: %+v", failure)
	}
	if b.writes() != writes {
		t.Errorf("%d writes", b.writes()-writes)
	}
	now, err := subnets.Get(t.Context(), b.eye, theirs.ID).Extract()
	if err != nil || now.RevisionNumber != theirs.RevisionNumber {
		t.Errorf("the stranger's subnet was touched: %v", err)
	}
	if err := subnets.Delete(t.Context(), b.eye, theirs.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), id, class()); err != nil {
		t.Errorf("it is free: %v", err)
	}
	if left, err := networks.Get(t.Context(), b.eye, stranger.ID).Extract(); err != nil || left.RevisionNumber != stranger.RevisionNumber {
		t.Errorf("the stranger's network was touched: %v", err)
	}
}
