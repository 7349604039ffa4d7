package providertest

import (
	"net/netip"
	"testing"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// Three ranges that lie apart, and one that holds the first. They are IPv6, of
// which every backend has several.
const (
	first, second, third = "2001:db8:0:1::/64", "2001:db8:0:2::/64", "2001:db8:0:3::/64"
	aroundFirst          = "2001:db8::/63"
)

var changing = map[string]func(*testing.T, Harness){
	"what else is said of a subnet is changed in place, whoever uses it": func(t *testing.T, h Harness) {
		id, before := h.NewIdentity(t), plan(t, "10.0.0.0/24", "")
		made := ensure(t, h, id, before)
		prefix := before.Subnets[0].Prefix
		use(t, h, id, prefix.String(), "pod a")
		for _, spec := range []samplecrdv1.NetworkSpec{
			{AllocationPools: []samplecrdv1.AddressRange{{Start: "10.0.0.10", End: "10.0.0.19"}}},
			{AllocationPools: []samplecrdv1.AddressRange{{Start: "10.0.0.10", End: "10.0.0.29"}, {Start: "10.0.0.40", End: "10.0.0.49"}}},
			{DNSServers: []string{"192.0.2.53", "192.0.2.54"}},
			{DNSServers: []string{"192.0.2.54", "192.0.2.53"}},
			{Routes: []samplecrdv1.Route{{Destination: "172.16.0.0/12", NextHop: "10.0.0.9"}}},
			{Routes: []samplecrdv1.Route{{Destination: "172.16.0.0/12", NextHop: "10.0.0.10"}}},
			{Gateway: "10.0.0.254"},
			{Gateway: samplecrdv1.GatewayNone},
			{DHCP: new(samplecrdv1.DHCPEnabled)},
			{MTU: new(int32(1400))},
			{MTU: new(int32(1300))},
		} {
			spec.CIDR = "10.0.0.0/24"
			want := planOf(t, spec)
			if !serves(t, h, want) {
				continue
			}
			observed := ensure(t, h, id, want)
			if !observed.Changed || len(observed.Draining) > 0 {
				t.Errorf("%+v: changed is %t, and %v drains", spec, observed.Changed, observed.Draining)
			}
			checkSame(t, made, observed, prefix)
			checkHeld(t, h, id, want)
		}
	},
	"subnets come and go, and the others stay what they are": func(t *testing.T, h Harness) {
		id := h.NewIdentity(t)
		before := ensure(t, h, id, with(t, first))
		for _, cidrs := range [][]string{{first, second}, {first, second, third}, {first, third, second}, {second, first}, {second, third}, {third}} {
			want := with(t, cidrs...)
			after := ensure(t, h, id, want)
			if len(after.Draining) > 0 {
				t.Errorf("%v: nobody uses anything, and %v drains", cidrs, after.Draining)
			}
			checkSame(t, before, after, want.Prefixes()...)
			checkHeld(t, h, id, want)
			before = after
		}
	},
	"other host bits in a range or a destination change nothing": func(t *testing.T, h Harness) {
		written := func(cidr, destination string) addressing.Plan {
			return planOf(t, samplecrdv1.NetworkSpec{CIDR: cidr, Routes: []samplecrdv1.Route{{Destination: destination, NextHop: "10.0.0.9"}}})
		}
		id := h.NewIdentity(t)
		ensure(t, h, id, written("10.0.0.0/8", "172.16.0.0/12"))
		writes := h.Writes()
		if ensure(t, h, id, written("10.161.0.0/8", "172.16.9.9/12")).Changed || h.Writes() != writes {
			t.Error("there was something to write")
		}
	},
	"a plan without subnets lets go of all": func(t *testing.T, h Harness) {
		id, whole := h.NewIdentity(t), with(t, first, second)
		ensure(t, h, id, whole)
		none := addressing.Plan{}
		ensure(t, h, id, none)
		checkHeld(t, h, id, none)
		ensure(t, h, id, whole)
		checkHeld(t, h, id, whole)
	},
}

// use makes a subnet used where the backend knows its users. Where it does not, the
// case is about a subnet that nobody is known to use.
func use(t *testing.T, h Harness, id providers.Identity, prefix string, users ...string) {
	t.Helper()
	if h.SetUsers != nil {
		h.SetUsers(t, id, netip.MustParsePrefix(prefix), users...)
	}
}

// named gives users as a sentence names them.
func named(t *testing.T, h Harness, id providers.Identity, users ...string) string {
	t.Helper()
	var all providers.Users
	for _, user := range users {
		if h.Named != nil {
			user = h.Named(t, id, user)
		}
		all.Named = append(all.Named, user)
	}
	return all.String()
}

// checkSame: the network, and every subnet that was there and is, have the ids that
// they had.
func checkSame(t *testing.T, before, after providers.Observed, prefixes ...netip.Prefix) {
	t.Helper()
	if before.ID != after.ID {
		t.Errorf("the id was %q and is %q", before.ID, after.ID)
	}
	for _, prefix := range prefixes {
		if was, there := before.SubnetIDs[prefix]; there && after.SubnetIDs[prefix] != was {
			t.Errorf("the id of %s was %q and is %q", prefix, was, after.SubnetIDs[prefix])
		}
	}
}
