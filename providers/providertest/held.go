package providertest

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"go4.org/netipx"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// Held is a network as a backend has it.
type Held struct {
	// ID is the backend's name for it.
	ID string
	// Subnets are its address ranges, in any order.
	Subnets []Subnet
	// DNSServers is for a backend that tells those of all subnets to everybody; its
	// Subnets have none.
	DNSServers []netip.Addr
	// MTU in bytes; not looked at where the plan leaves it to the backend.
	MTU int32
}

// Subnet is an address range of a Held.
type Subnet struct {
	// ID is the backend's name for it, where it has one.
	ID     string
	Prefix netip.Prefix
	// Gateway is the zero Addr without one.
	Gateway netip.Addr
	// Pools are what addresses are handed out from; none for every usable address.
	// The gateway may lie in one, since it is never handed out.
	Pools      []netipx.IPRange
	DNSServers []netip.Addr
	Routes     []addressing.Route
	// DHCP is not looked at where the plan leaves it to the backend.
	DHCP samplecrdv1.DHCPMode
}

// asked gives plan as a backend that holds it would show it.
func asked(plan addressing.Plan) Held {
	held := Held{MTU: plan.MTU}
	for _, subnet := range plan.Subnets {
		held.Subnets = append(held.Subnets, Subnet{
			Prefix: subnet.Prefix, Gateway: subnet.Gateway, Pools: subnet.Pools,
			DNSServers: subnet.DNSServers, Routes: subnet.Routes, DHCP: subnet.DHCP,
		})
	}
	return held
}

// compare finds everything in held that plan does not say, and the other way
// round. What drains is held beside the plan, as it was.
func compare(held Held, plan addressing.Plan, draining ...Subnet) error {
	want := asked(plan)
	if want.MTU == 0 {
		held.MTU = 0
	}
	if held.MTU != want.MTU {
		return fmt.Errorf("the MTU is %d, want %d", held.MTU, want.MTU)
	}
	want.Subnets = append(want.Subnets, draining...)
	if len(held.DNSServers) > 0 {
		want.DNSServers = together(&want)
	}
	if !slices.Equal(held.DNSServers, want.DNSServers) {
		return fmt.Errorf("the DNS servers are %v, want %v", held.DNSServers, want.DNSServers)
	}
	got, wanted := byPrefix(held.Subnets), byPrefix(want.Subnets)
	if len(got) != len(held.Subnets) {
		return fmt.Errorf("a range is there twice: %v", held.Subnets)
	}
	for prefix, subnet := range wanted {
		one, there := got[prefix]
		if !there {
			return fmt.Errorf("%s is missing; there is %v", prefix, held.Subnets)
		}
		if subnet.DHCP == "" {
			one.DHCP = ""
		}
		if !reflect.DeepEqual(one, subnet) {
			return fmt.Errorf("the subnet is %+v, want %+v", one, subnet)
		}
		delete(got, prefix)
	}
	if len(got) > 0 {
		return fmt.Errorf("nobody asked for %v", got)
	}
	return nil
}

// together takes the DNS servers from held's subnets, each once.
func together(held *Held) []netip.Addr {
	var all []netip.Addr
	for i := range held.Subnets {
		for _, server := range held.Subnets[i].DNSServers {
			if !slices.Contains(all, server) {
				all = append(all, server)
			}
		}
		held.Subnets[i].DNSServers = nil
	}
	return all
}

// byPrefix gives subnets in a form in which equal ones are deeply equal.
func byPrefix(subnets []Subnet) map[netip.Prefix]Subnet {
	all := map[netip.Prefix]Subnet{}
	for _, subnet := range subnets {
		normal := Subnet{Prefix: subnet.Prefix, Gateway: subnet.Gateway, DHCP: subnet.DHCP, Pools: allocatable(subnet)}
		normal.DNSServers = append(normal.DNSServers, subnet.DNSServers...)
		for _, route := range subnet.Routes {
			normal.Routes = append(normal.Routes, addressing.Route{Destination: route.Destination, NextHop: route.NextHop})
		}
		slices.SortFunc(normal.Routes, func(a, b addressing.Route) int { return a.Destination.Compare(b.Destination) })
		all[subnet.Prefix] = normal
	}
	return all
}

// allocatable gives the addresses of a subnet that can be handed out.
func allocatable(subnet Subnet) []netipx.IPRange {
	var set netipx.IPSetBuilder
	for _, pool := range subnet.Pools {
		set.AddRange(pool)
	}
	if len(subnet.Pools) == 0 {
		set.AddRange(addressing.Usable(subnet.Prefix))
	}
	if subnet.Gateway.IsValid() {
		set.Remove(subnet.Gateway)
	}
	all, err := set.IPSet()
	if err != nil {
		return subnet.Pools
	}
	return all.Ranges()
}

// checkHeld holds the backend to exactly one network of id, and to plan beside
// what drains.
func checkHeld(t *testing.T, h Harness, id providers.Identity, plan addressing.Plan, draining ...Subnet) {
	t.Helper()
	held := h.Held(t, id)
	if len(held) != 1 {
		t.Fatalf("the backend holds %d networks of %s, want one: %v", len(held), id, held)
	}
	if err := compare(held[0], plan, draining...); err != nil {
		t.Error(err)
	}
}

// held gives the subnet of that range, which has to be there.
func held(t *testing.T, h Harness, id providers.Identity, prefix string) Subnet {
	t.Helper()
	for _, network := range h.Held(t, id) {
		for _, subnet := range network.Subnets {
			if subnet.Prefix.String() == prefix {
				return subnet
			}
		}
	}
	t.Fatalf("the backend does not hold %s", prefix)
	return Subnet{}
}

func checkNothingHeld(t *testing.T, h Harness, id providers.Identity) {
	t.Helper()
	if held := h.Held(t, id); len(held) > 0 {
		t.Errorf("the backend holds %v, want nothing", held)
	}
}
