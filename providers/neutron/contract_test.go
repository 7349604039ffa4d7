package neutron

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/providers/providertest"
)

func TestContract(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness { return newBackend(t, nil).harness() })
}

func shown(all []held) []providertest.Held {
	var shown []providertest.Held
	for _, h := range all {
		one := providertest.Held{ID: h.ID, MTU: h.MTU}
		for _, s := range h.subnets {
			one.Subnets = append(one.Subnets, providertest.Subnet{
				ID: s.id, Prefix: s.Prefix, Gateway: s.Gateway, Pools: s.Pools, DNSServers: s.DNSServers, Routes: s.Routes, DHCP: s.DHCP,
			})
		}
		shown = append(shown, one)
	}
	return shown
}

// port makes a port with an address of a subnet.
func (b *backend) port(t *testing.T, networkID, subnetID, user string) string {
	t.Helper()
	made, err := ports.Create(t.Context(), b.eye, ports.CreateOpts{
		NetworkID: networkID, Name: user, DeviceID: user, FixedIPs: []ports.IP{{SubnetID: subnetID}},
	}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// portsOf gives the ids of a user's ports.
func (b *backend) portsOf(t *testing.T, user, networkID string) []string {
	t.Helper()
	found, err := list[port](t.Context(), &session{ServiceClient: b.eye}, "ports", "device_id", user, portFields+" network_id")
	if err != nil {
		t.Fatal(err)
	}
	of, err := (&session{ServiceClient: b.eye}).portsOf(t.Context(), networkID)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, p := range found {
		if slices.ContainsFunc(of, func(o port) bool { return o.ID == p.ID }) {
			ids = append(ids, p.ID)
		}
	}
	return ids
}

// setUsers gives a subnet those users and no others.
func (b *backend) setUsers(t *testing.T, id providers.Identity, prefix netip.Prefix, users ...string) {
	t.Helper()
	network := b.ours(t, id)[0]
	at := slices.IndexFunc(network.subnets, func(s subnet) bool { return s.Prefix == prefix })
	if at < 0 {
		t.Fatalf("there is no %s", prefix)
	}
	there, err := (&session{ServiceClient: b.eye}).portsOf(t.Context(), network.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range there {
		if len(p.FixedIPs) == 1 && p.FixedIPs[0].SubnetID == network.subnets[at].id {
			if err := ports.Delete(t.Context(), b.eye, p.ID).ExtractErr(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, user := range users {
		b.port(t, network.ID, network.subnets[at].id, user)
	}
}

func (b *backend) harness() providertest.Harness {
	foreign := map[string]string{}
	return providertest.Harness{
		Provider: b, Class: class(), NewIdentity: func(t *testing.T) providers.Identity { return b.identity(t) }, SharesNames: true,
		Held: func(t *testing.T, id providers.Identity) []providertest.Held { return shown(b.ours(t, id)) },
		LeftBehind: func(t *testing.T, id providers.Identity) []providertest.Held {
			return shown(b.networks(t, id, ""))
		},
		SetForeign: func(t *testing.T, id providers.Identity, _ bool) {
			made, err := networks.Create(t.Context(), b.eye, networks.CreateOpts{Name: nameOf(id)}).Extract()
			if err != nil {
				t.Fatal(err)
			}
			foreign[nameOf(id)] = made.ID
		},
		ForeignIntact: func(t *testing.T, id providers.Identity) bool {
			left := b.networks(t, id, "")
			return len(left) == 1 && left[0].ID == foreign[nameOf(id)] && left[0].Revision == 1
		},
		Tamper: func(t *testing.T, id providers.Identity) {
			s := b.ours(t, id)[0].subnets[0]
			change := subnets.UpdateOpts{GatewayIP: new(""), DNSNameservers: &[]string{"203.0.113.53"}}
			if err := subnets.Update(t.Context(), b.eye, s.id, change).Err; err != nil {
				t.Fatal(err)
			}
			b.sees(t)
		},
		Remove: func(t *testing.T, id providers.Identity) {
			for _, n := range b.ours(t, id) {
				if err := networks.Delete(t.Context(), b.eye, n.ID).ExtractErr(); err != nil {
					t.Fatal(err)
				}
			}
			b.sees(t)
		},
		SetUsers: b.setUsers,
		Named: func(t *testing.T, id providers.Identity, user string) string {
			ids := b.portsOf(t, user, b.ours(t, id)[0].ID)
			if len(ids) != 1 {
				t.Fatalf("%s has the ports %v", user, ids)
			}
			return "port " + ids[0]
		},
		Writes: b.writes,
	}
}
