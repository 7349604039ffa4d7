package neutron

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/provider"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	servers "github.com/samplecrd/samplecrd/test/openstack"
)

// TestFamilies: what Neutron makes of subnets of each family and size, DHCP left open,
// asked for and refused.
func TestFamilies(t *testing.T) {
	b := newBackend(t, nil)
	const stateful = "dhcpv6-stateful"
	on, off := new(samplecrdv1.DHCPEnabled), new(samplecrdv1.DHCPDisabled)
	for name, tc := range map[string]struct {
		spec samplecrdv1.NetworkSpec
		dhcp bool
		mode string
	}{
		"IPv6":                        {samplecrdv1.NetworkSpec{CIDR: "2001:db8:7::/64"}, true, stateful},
		"IPv6 of a site's own":        {samplecrdv1.NetworkSpec{CIDR: "fd12:3456:789a:1::/64"}, true, stateful},
		"IPv6 with DHCP":              {samplecrdv1.NetworkSpec{CIDR: "2001:db8:7::/64", DHCP: on}, true, stateful},
		"IPv6 without DHCP":           {samplecrdv1.NetworkSpec{CIDR: "2001:db8:7::/64", DHCP: off}, false, ""},
		"IPv6 wider than a /64":       {samplecrdv1.NetworkSpec{CIDR: "2001:db8:8::/48"}, true, stateful},
		"IPv6 narrower than a /64":    {samplecrdv1.NetworkSpec{CIDR: "2001:db8:7::/80"}, true, stateful},
		"IPv6 /126":                   {samplecrdv1.NetworkSpec{CIDR: "2001:db8:7::4/126"}, true, stateful},
		"IPv6 /127":                   {samplecrdv1.NetworkSpec{CIDR: "2001:db8:7::4/127"}, false, ""},
		"IPv6 /128 without a gateway": {samplecrdv1.NetworkSpec{CIDR: "2001:db8:7::4/128", Gateway: "None"}, false, ""},
		"IPv4 /30":                    {samplecrdv1.NetworkSpec{CIDR: "10.0.0.4/30"}, true, ""},
		"IPv4 /31 without a gateway":  {samplecrdv1.NetworkSpec{CIDR: "10.0.0.4/31", Gateway: "None"}, false, ""},
		"IPv4 /32 without a gateway":  {samplecrdv1.NetworkSpec{CIDR: "10.0.0.4/32", Gateway: "None"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			id, plan := b.new(t), planOf(t, tc.spec)
			if forbidden := b.Limits(class()).Forbids(plan); len(forbidden) > 0 {
				t.Fatalf("it is forbidden: %q", forbidden)
			}
			seen := b.ensures(t, id, plan)
			now, err := subnets.Get(t.Context(), b.eye, seen.SubnetIDs[plan.Subnets[0].Prefix]).Extract()
			if err != nil {
				t.Fatal(err)
			}
			if now.EnableDHCP != tc.dhcp || now.IPv6AddressMode != tc.mode || now.IPv6RAMode != tc.mode || now.GatewayIP != text(plan.Subnets[0].Gateway) {
				t.Errorf("it is %+v", now)
			}
			id.New = false
			b.sees(t)
			writes := b.writes()
			if b.restarted(nil).ensures(t, id, plan).Changed || b.ensures(t, id, plan).Changed || b.writes() != writes {
				t.Errorf("it is written again: %+v", now)
			}
		})
	}
}

// TestDHCPOfIPv6IsSwitched: Neutron has no way to change the modes of a subnet; of one
// with modes it refuses to switch DHCP off, one without them gets DHCP that tells nobody
// an address. Neither is begun.
func TestDHCPOfIPv6IsSwitched(t *testing.T) {
	b := newBackend(t, nil)
	for is, asked := range map[samplecrdv1.DHCPMode]samplecrdv1.DHCPMode{
		samplecrdv1.DHCPEnabled: samplecrdv1.DHCPDisabled, samplecrdv1.DHCPDisabled: samplecrdv1.DHCPEnabled,
	} {
		with := func(mode samplecrdv1.DHCPMode) addressing.Plan {
			return planOf(t, samplecrdv1.NetworkSpec{CIDR: "2001:db8:7::/64", DHCP: &mode, MTU: new(int32(1280 + len(mode)))})
		}
		id := b.new(t)
		b.ensures(t, id, with(is))
		id.New = false
		writes := b.writes()
		_, err := b.Ensure(t.Context(), id, class(), with(asked))
		checkFails(t, err, samplecrdv1.NetworkReasonRejected, providers.RetrySlowly, "2001:db8:7::/64", "leave dhcp "+string(is))
		if b.writes() != writes {
			t.Errorf("from %s to %s: %d writes", is, asked, b.writes()-writes)
		}
		b.ensures(t, id, with(is))
		// The remedy that it names.
		b.ensures(t, id, planOf(t, samplecrdv1.NetworkSpec{CIDR: "2001:db8:9::/64"}))
		b.ensures(t, id, with(asked))
	}
}

// TestAdministratorsClass: a class with an administrator's credentials makes networks
// for another project, on a segment of a physical network.
func TestAdministratorsClass(t *testing.T) {
	b, admin := newBackend(t, nil), dial(t, servers.Admin)
	spec := class()
	spec.Neutron.Cloud, spec.Neutron.ProjectID = servers.Admin, b.project(t)
	spec.Neutron.NetworkType, spec.Neutron.PhysicalNetwork = samplecrdv1.NeutronVLAN, "physnet1"
	spec.Neutron.SegmentationID = new(int32(100 + rand.IntN(100)))
	id := b.new(t)
	seen, err := b.Ensure(t.Context(), id, spec, planOf(t, seed))
	if err != nil {
		t.Fatal(err)
	}
	id.New = false
	var made struct {
		networks.Network
		provider.NetworkProviderExt
	}
	if err := networks.Get(t.Context(), admin, seen.ID).ExtractInto(&made); err != nil {
		t.Fatal(err)
	}
	if made.NetworkType != "vlan" || made.PhysicalNetwork != "physnet1" || made.SegmentationID != strconv.Itoa(int(*spec.Neutron.SegmentationID)) || made.ProjectID != spec.Neutron.ProjectID {
		t.Errorf("it is %+v", made)
	}
	if ours := b.ours(t, id); len(ours) != 1 || len(ours[0].subnets) != 1 { // As the project's member sees it.
		t.Errorf("the project has %+v", ours)
	}
	again := b.restarted(nil)
	if seen, err := again.Ensure(t.Context(), id, spec, planOf(t, seed)); err != nil || seen.Changed || again.reads() != 2 {
		t.Errorf("after a restart it is %+v, %v, after %d reads", seen, err, again.reads())
	}
	if err := b.Delete(t.Context(), id, spec); err != nil {
		t.Error(err)
	}

	// A member may not say any of that.
	spec.Neutron.Cloud, spec.Neutron.ProjectID = servers.Member, ""
	_, err = b.Ensure(t.Context(), b.new(t), spec, planOf(t, seed))
	if failure := providers.AsError(err); failure.Reason != samplecrdv1.NetworkReasonCredentialsMissing || failure.Retry != providers.RetrySlowly || !strings.Contains(failure.Message, "HTTP 403") {
		t.Errorf("a member is told %+v", failure)
	}
	// Nor does it keep others of the same credentials from theirs.
	b.ensures(t, b.new(t), planOf(t, seed))
}

// project is the one of the member.
func (b *backend) project(t *testing.T) string {
	t.Helper()
	project := ""
	err := b.in(t.Context(), sweeper, class().Neutron, func(s *session) error {
		project = s.project
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return project
}
