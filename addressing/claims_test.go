package addressing_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

var nobody types.NamespacedName

func TestScopeOf(t *testing.T) {
	for overlapScope, want := range map[samplecrdv1.OverlapScope]addressing.Scope{
		samplecrdv1.OverlapNamespace: {Class: "standard", Namespace: "shop"},
		"":                           {Class: "standard", Namespace: "shop"},
		samplecrdv1.OverlapClass:     {Class: "standard"},
		samplecrdv1.OverlapNone:      {},
	} {
		if got := addressing.ScopeOf("standard", overlapScope, "shop"); got != want {
			t.Errorf("%q: got %v, want %v", overlapScope, got, want)
		}
	}
}

func TestClaims(t *testing.T) {
	class := addressing.Scope{Class: "standard"}
	claimed, other := prefixes("10.0.0.0/24"), prefixes("10.0.1.0/24")
	for name, tc := range map[string]struct {
		change func(*addressing.Claims)
		free   []string
		taken  []string
	}{
		"an empty table is free":              {func(*addressing.Claims) {}, []string{"10.0.0.0/24", "::/1"}, nil},
		"what is held is taken":               {func(c *addressing.Claims) { c.Set(owner("a", 0), class, claimed, nil) }, []string{"10.0.1.0/24"}, []string{"10.0.0.0/24", "10.0.0.9/32", "10.0.0.0/8"}},
		"what is asked for is taken":          {func(c *addressing.Claims) { c.Set(owner("a", 0), class, nil, claimed) }, []string{"10.0.1.0/24"}, []string{"10.0.0.0/24"}},
		"all subnets count, of both families": {func(c *addressing.Claims) { c.Set(owner("a", 0), class, claimed, prefixes("2001:db8::/64")) }, nil, []string{"10.0.0.0/24", "2001:db8::/48"}},
		"another scope does not count":        {func(c *addressing.Claims) { c.Set(owner("a", 0), shop, claimed, nil) }, []string{"10.0.0.0/24"}, nil},
		"the zero scope does not count":       {func(c *addressing.Claims) { c.Set(owner("a", 0), addressing.Scope{}, claimed, nil) }, []string{"10.0.0.0/24"}, nil},
		"a later Set replaces all": {func(c *addressing.Claims) {
			c.Set(owner("a", 0), class, claimed, nil)
			c.Set(owner("a", 0), class, other, nil)
		}, []string{"10.0.0.0/24"}, []string{"10.0.1.0/24"}},
		"a later Set moves to another scope": {func(c *addressing.Claims) {
			c.Set(owner("a", 0), class, claimed, nil)
			c.Set(owner("a", 0), shop, claimed, nil)
		}, []string{"10.0.0.0/24"}, nil},
		"what is removed is free": {func(c *addressing.Claims) {
			c.Set(owner("a", 0), class, claimed, other)
			c.Remove("a")
		}, []string{"10.0.0.0/8"}, nil},
		"to remove what is not there does nothing": {func(c *addressing.Claims) {
			c.Set(owner("a", 0), class, claimed, nil)
			c.Remove("b")
		}, nil, []string{"10.0.0.0/24"}},
		"two may claim one prefix, and one goes": {func(c *addressing.Claims) {
			c.Set(owner("a", 0), class, claimed, nil)
			c.Set(owner("b", 0), class, nil, claimed)
			c.Remove("a")
		}, nil, []string{"10.0.0.0/24"}},
	} {
		t.Run(name, func(t *testing.T) {
			claims := addressing.NewClaims()
			tc.change(claims)
			for _, want := range []bool{true, false} {
				for _, text := range map[bool][]string{true: tc.free, false: tc.taken}[want] {
					if got := claims.Free(class, netip.MustParsePrefix(text), nobody); got != want {
						t.Errorf("%s: free is %t", text, got)
					}
				}
			}
		})
	}
}

// A prefix that its owner both holds and asks for is one claim, and held.
func TestClaimsHeldAndAskedIsOne(t *testing.T) {
	claims := addressing.NewClaims()
	claims.Set(owner("a", 0), shop, prefixes("10.0.0.0/24"), prefixes("10.0.0.0/24", "10.0.1.0/24"))
	got := slices.Collect(claims.Overlapping(shop, netip.MustParsePrefix("10.0.0.0/8"), nobody))
	if len(got) != 2 || !got[0].Recorded || got[1].Recorded {
		t.Errorf("got %v", got)
	}
}

// model is the table as a list.
type model map[types.UID][]addressing.Claim

func (m model) overlapping(prefix netip.Prefix, self types.NamespacedName) []string {
	var found []string
	for _, claims := range m {
		for _, claim := range claims {
			if claim.Owner.NamespacedName != self && claim.Prefix.Overlaps(prefix) {
				found = append(found, describe(claim))
			}
		}
	}
	slices.Sort(found)
	return found
}

func describe(claim addressing.Claim) string {
	return fmt.Sprintf("%s %s %t", claim.Owner.Name, claim.Prefix, claim.Recorded)
}

// somePrefix is one of few, so that many overlap.
func somePrefix(random *rand.Rand) netip.Prefix {
	if random.IntN(4) == 0 {
		return netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, byte(random.IntN(4))}), 1+random.IntN(24)).Masked()
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(random.IntN(4)), byte(random.IntN(4))}), 1+random.IntN(24)).Masked()
}

// After any sequence of changes the table says what a list would say.
func TestClaimsAgreeWithAList(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		claims, list := addressing.NewClaims(), model{}
		for range 60 {
			who := owner(fmt.Sprintf("n-%d", random.IntN(12)), 0)
			if random.IntN(4) == 0 {
				claims.Remove(who.UID)
				delete(list, who.UID)
			} else {
				var recorded, asked []netip.Prefix
				for range random.IntN(3) {
					recorded = append(recorded, somePrefix(random))
					asked = append(asked, somePrefix(random))
				}
				claims.Set(who, shop, recorded, asked)
				list[who.UID] = nil
				seen := map[netip.Prefix]bool{}
				for i, prefix := range append(recorded, asked...) {
					if !seen[prefix] {
						list[who.UID] = append(list[who.UID], addressing.Claim{Owner: who, Prefix: prefix, Recorded: i < len(recorded)})
					}
					seen[prefix] = true
				}
			}
			prefix, self := somePrefix(random), owner(fmt.Sprintf("n-%d", random.IntN(12)), 0).NamespacedName
			var got []string
			for claim := range claims.Overlapping(shop, prefix, self) {
				got = append(got, describe(claim))
			}
			slices.Sort(got)
			want := list.overlapping(prefix, self)
			if !slices.Equal(got, want) || claims.Free(shop, prefix, self) != (len(want) == 0) {
				t.Fatalf("seed %d: of %s\ngot  %s\nwant %s", seed, prefix, strings.Join(got, ", "), strings.Join(want, ", "))
			}
		}
	}
}

// Readers see a table as it was at one moment: a Network that moves between two
// prefixes is always in exactly one of them.
func TestClaimsAreReadAsTheyWere(t *testing.T) {
	claims := addressing.NewClaims()
	here, there := prefixes("10.0.0.0/24"), prefixes("10.0.1.0/24")
	claims.Set(owner("moving", 0), shop, here, nil)
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		defer close(done)
		for i := range 2000 {
			claims.Set(owner("moving", 0), shop, [][]netip.Prefix{there, here}[i%2], nil)
		}
	})
	for range 2 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				found := 0
				for range claims.Overlapping(shop, netip.MustParsePrefix("10.0.0.0/23"), nobody) {
					found++
				}
				if found != 1 {
					t.Errorf("the Network was seen in %d prefixes", found)
					return
				}
			}
		})
	}
	group.Wait()
}

func TestClaimsAreFreeWithoutAllocation(t *testing.T) {
	claims := crowd(1000)
	if got := testing.AllocsPerRun(100, func() {
		if !claims.Free(shop, netip.MustParsePrefix("192.0.2.0/24"), subject) {
			t.Fatal("it is taken")
		}
	}); got != 0 {
		t.Errorf("%v allocations", got)
	}
}
