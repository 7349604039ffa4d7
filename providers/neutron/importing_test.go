package neutron

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/test/faults"
	servers "github.com/samplecrd/samplecrd/test/openstack"
)

// theirs makes a network as somebody made it before, with subnets of these ranges.
func (b *backend) theirs(t *testing.T, description string, cidrs ...string) string {
	t.Helper()
	made, err := networks.Create(t.Context(), b.eye, networks.CreateOpts{Name: b.namespace + " theirs", Description: description}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	for i, cidr := range cidrs {
		version := 4 + 2*strings.Count(cidr, "::")
		opts := subnets.CreateOpts{NetworkID: made.ID, CIDR: cidr, Name: fmt.Sprintf("theirs %d", i), Description: "as it was", IPVersion: gophercloud.IPVersion(version)}
		if version == 6 { // Left to Neutron it is the network's own address, which is no host's.
			opts.GatewayIP = new(strings.Replace(cidr, "::/64", "::1", 1))
		}
		if err := subnets.Create(t.Context(), b.eye, opts).Err; err != nil {
			t.Fatal(err)
		}
	}
	return made.ID
}

// whole gives a network with its subnets, by id.
func (b *backend) whole(t *testing.T, id string) held {
	t.Helper()
	s := &session{ServiceClient: b.eye}
	n, err := s.network(t.Context(), id)
	if err != nil || n == nil {
		t.Fatalf("network %s: %v", id, err)
	}
	on, err := s.subnetsOn(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return sorted(held{network: *n, subnets: on})
}

// unmarked is a network without what marks it, and without its revisions.
func unmarked(h held) held {
	h = h.timeless()
	h.Description = ""
	for i := range h.subnets {
		h.subnets[i].description = ""
	}
	return h
}

func importing(t *testing.T, id string, spec samplecrdv1.NetworkSpec) addressing.Plan {
	t.Helper()
	spec.ImportID = id
	return planOf(t, spec)
}

func TestImport(t *testing.T) {
	b := newBackend(t, nil)
	network := b.theirs(t, "as it was", "10.0.0.0/24", "fd00:1::/64")
	before := b.whole(t, network)
	plan := importing(t, network, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", AdditionalSubnets: []samplecrdv1.SubnetSpec{{CIDR: "fd00:1::/64"}}})
	id := b.new(t)
	seen := providers.Observed{}
	b.checkAsks(t, "an import", func() { seen = b.ensures(t, id, plan) }, "GET networks", "GET subnets", "PUT networks", "PUT subnets", "PUT subnets")
	id.New, id.Recorded = false, seen.ID
	if seen.ID != network || !seen.Changed || len(seen.SubnetIDs) != 2 {
		t.Errorf("it has learned %+v", seen)
	}
	now := b.whole(t, network)
	if !reflect.DeepEqual(unmarked(now), unmarked(before)) {
		t.Errorf("more has changed than the mark: it was\n%+v and is\n%+v", before, now)
	}
	cluster, err := b.clusterUID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, description := range []string{now.Description, now.subnets[0].description, now.subnets[1].description} {
		if description != mark(cluster, id.UID) {
			t.Errorf("a description is %q", description)
		}
	}
	b.checkAsks(t, "the same again", func() { b.ensures(t, id, plan) })
	b.sees(t)
	b.checkAsks(t, "after a sweep", func() { b.ensures(t, id, plan) })
	if err := b.Release(t.Context(), id, class()); err != nil {
		t.Fatal(err)
	}
	if now := b.whole(t, network); !reflect.DeepEqual(unmarked(now), unmarked(before)) || now.Description != "" {
		t.Errorf("released it is %+v", now)
	}
}

// TestImportThatIsBrokenOff: the network is marked and a subnet is not; whoever goes on
// finds both.
func TestImportThatIsBrokenOff(t *testing.T) {
	b := newBackend(t, nil)
	network := b.theirs(t, "", "10.0.0.0/24")
	plan := importing(t, network, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24"})
	id := b.new(t)
	end := b.calls.Add(faults.Rule{Method: http.MethodPut, Path: "/subnets"}, faults.Reset())
	if _, err := b.Ensure(t.Context(), id, class(), plan); err == nil {
		t.Fatal("it succeeds")
	}
	end()
	id.New = false
	again := b.restarted(nil)
	if seen := again.ensures(t, id, plan); seen.ID != network {
		t.Errorf("it is now %s", seen.ID)
	}
	if now := b.whole(t, network); now.Description == "" || now.subnets[0].description != now.Description {
		t.Errorf("it is marked as %+v", now)
	}
}

// TestImportThatIsBrokenOffIsDeleted: what was taken over goes with all that it had then,
// marked or not; what came later is a stranger's.
func TestImportThatIsBrokenOffIsDeleted(t *testing.T) {
	b := newBackend(t, nil)
	network := b.theirs(t, "", "10.0.0.0/24", "10.0.1.0/24")
	id := b.new(t)
	id.Imported = importing(t, network, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", AdditionalSubnets: []samplecrdv1.SubnetSpec{{CIDR: "10.0.1.0/24"}}})
	b.calls.Add(faults.Rule{Method: http.MethodPut, Path: "/subnets", Times: 1}, faults.Reset())
	seen, err := b.Ensure(t.Context(), id, class(), id.Imported)
	if err == nil || seen.ID != network {
		t.Fatalf("it has learned %+v, with %v", seen, err)
	}
	id.New, id.Recorded = false, seen.ID
	stranger, err := subnets.Create(t.Context(), b.eye, subnets.CreateOpts{NetworkID: network, CIDR: "10.0.2.0/24", IPVersion: 4}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	checkFails(t, b.Delete(t.Context(), id, class()), samplecrdv1.NetworkReasonInUse, providers.RetrySlowly, "subnet "+stranger.ID)
	if err := subnets.Delete(t.Context(), b.eye, stranger.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), id, class()); err != nil {
		t.Error(err)
	}
	if err := networks.Get(t.Context(), b.eye, network).Err; !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Errorf("it is deleted, and there: %v", err)
	}
}

func TestImportThatIsRefused(t *testing.T) {
	b := newBackend(t, nil)
	network, missing := b.theirs(t, "as it was", "10.0.0.0/24"), string(uuid.NewUUID())
	taken, twice := b.theirs(t, mark("another-cluster", "another-network"), "10.0.0.0/24"), b.theirs(t, "", "10.0.0.0/24", "10.0.1.0/24")
	halfTaken := b.theirs(t, "", "10.0.0.0/24")
	part := b.whole(t, halfTaken).subnets[0].id
	if err := subnets.Update(t.Context(), b.eye, part, subnets.UpdateOpts{Description: new(mark("another-cluster", "another-network"))}).Err; err != nil {
		t.Fatal(err)
	}
	same := func(change func(*samplecrdv1.NetworkSpec)) samplecrdv1.NetworkSpec {
		spec := samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24"}
		if change != nil {
			change(&spec)
		}
		return spec
	}
	for name, tc := range map[string]struct {
		network string
		spec    samplecrdv1.NetworkSpec
		says    string
	}{
		"there is none":          {missing, same(nil), "There is no network " + missing + " to take over in the class's project"},
		"it is marked":           {taken, same(nil), "belongs to a Network, of this cluster or another"},
		"a part of it is marked": {halfTaken, same(nil), "Subnet " + part + " on network " + halfTaken + " belongs to a Network"},
		"another range":          {network, same(func(s *samplecrdv1.NetworkSpec) { s.CIDR = "10.0.0.0/25" }), "it has 10.0.0.0/24 besides; it does not have 10.0.0.0/25"},
		"one range more":         {twice, same(nil), "it has 10.0.1.0/24 besides"},
		"one range less": {network, same(func(s *samplecrdv1.NetworkSpec) {
			s.AdditionalSubnets = []samplecrdv1.SubnetSpec{{CIDR: "10.0.1.0/24"}}
		}), "it does not have 10.0.1.0/24"},
		"another gateway": {network, same(func(s *samplecrdv1.NetworkSpec) { s.Gateway = "10.0.0.254" }), "10.0.0.0/24 has gateway 10.0.0.1"},
		"no gateway":      {network, same(func(s *samplecrdv1.NetworkSpec) { s.Gateway = "None" }), "10.0.0.0/24 has gateway 10.0.0.1"},
		"other pools": {network, same(func(s *samplecrdv1.NetworkSpec) {
			s.AllocationPools = []samplecrdv1.AddressRange{{Start: "10.0.0.10", End: "10.0.0.19"}}
		}), "10.0.0.0/24 has other allocation pools"},
		"other DNS servers": {network, same(func(s *samplecrdv1.NetworkSpec) { s.DNSServers = []string{"192.0.2.53"} }), "10.0.0.0/24 has other DNS servers"},
		"other routes": {network, same(func(s *samplecrdv1.NetworkSpec) {
			s.Routes = []samplecrdv1.Route{{Destination: "172.16.0.0/12", NextHop: "10.0.0.9"}}
		}), "10.0.0.0/24 has other routes"},
		"no DHCP":                {network, same(func(s *samplecrdv1.NetworkSpec) { s.DHCP = new(samplecrdv1.DHCPDisabled) }), "10.0.0.0/24 has DHCP Enabled"},
		"another MTU":            {network, same(func(s *samplecrdv1.NetworkSpec) { s.MTU = new(int32(1280)) }), "its MTU is"},
		"nothing like it at all": {network, samplecrdv1.NetworkSpec{CIDR: "fd00:1::/64"}, "it has 10.0.0.0/24 besides"},
	} {
		t.Run(name, func(t *testing.T) {
			before := held{}
			if tc.network != missing {
				before = b.whole(t, tc.network)
			}
			writes, id := b.writes(), b.new(t)
			_, err := b.Ensure(t.Context(), id, class(), importing(t, tc.network, tc.spec))
			failure := providers.AsError(err)
			if failure.Reason != samplecrdv1.NetworkReasonConflict || failure.Retry != providers.RetrySlowly || !strings.Contains(failure.Message, tc.says) {
				t.Errorf("it is %+v, want %q", failure, tc.says)
			}
			if b.writes() != writes || tc.network != missing && !reflect.DeepEqual(b.whole(t, tc.network), before) {
				t.Error("something is written")
			}
			// What was not taken over is not removed.
			id.New = false
			if err := b.Delete(t.Context(), id, class()); err != nil || b.writes() != writes {
				t.Errorf("Delete after it: %v, %d writes", err, b.writes()-writes)
			}
		})
	}
}

// TestImportTellsNothingOfOtherProjects: an administrator's credentials see the networks
// of all projects, and who asks must not learn which there are.
func TestImportTellsNothingOfOtherProjects(t *testing.T) {
	b := newBackend(t, nil)
	spec := class()
	spec.Neutron.Cloud = servers.Admin
	network, missing := b.theirs(t, "", "10.0.0.0/24"), string(uuid.NewUUID())
	var said []string
	for _, which := range []string{network, missing} {
		_, err := b.Ensure(t.Context(), b.new(t), spec, importing(t, which, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24"}))
		failure := providers.AsError(err)
		said = append(said, failure.Reason+" "+strings.ReplaceAll(failure.Message, which, "it"))
	}
	if said[0] != said[1] || !strings.HasPrefix(said[0], samplecrdv1.NetworkReasonConflict) {
		t.Errorf("of another project's it says %q, of none %q", said[0], said[1])
	}
}

func TestTwoImportTheSame(t *testing.T) {
	b := newBackend(t, nil)
	network := b.theirs(t, "", "10.0.0.0/24")
	plan := importing(t, network, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24"})
	var all sync.WaitGroup
	errs, ids := make([]error, 4), make([]providers.Identity, 4)
	for i := range errs {
		ids[i] = b.new(t)
		all.Go(func() { _, errs[i] = b.Ensure(t.Context(), ids[i], class(), plan) })
	}
	all.Wait()
	won := -1
	for i, err := range errs {
		if err == nil && won >= 0 {
			t.Errorf("both %d and %d have won", won, i)
		}
		if err == nil {
			won = i
		} else if failure := providers.AsError(err); failure.Reason != samplecrdv1.NetworkReasonConflict {
			t.Errorf("who lost is told %+v", failure)
		}
	}
	if won < 0 {
		t.Fatal("nobody has won")
	}
	if now := b.whole(t, network); !strings.HasSuffix(now.Description, string(ids[won].UID)) || now.subnets[0].description != now.Description {
		t.Errorf("%s has won, and it is marked as %q and %q", ids[won].UID, now.Description, now.subnets[0].description)
	}
	if err := b.Delete(t.Context(), ids[(won+1)%4], class()); err != nil {
		t.Errorf("who lost lets go: %v", err)
	}
	b.whole(t, network) // It is still there.
}
