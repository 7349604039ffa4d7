package addressing_test

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// BenchmarkParse judges the seed's Network, and the largest one there can be.
func BenchmarkParse(b *testing.B) {
	small := subnets("192.168.0.0/16")
	small.Gateway = "192.168.0.1"
	for name, spec := range map[string]*samplecrdv1.NetworkSpec{"seed": small, "largest": longest()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, errs := addressing.Parse(spec, specPath); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
		})
	}
}

// crowd are the claims of n Networks of one scope that lie side by side, a third of
// them IPv6.
func crowd(n int) *addressing.Claims {
	claims := addressing.NewClaims()
	for i := range n {
		claims.Set(owner(fmt.Sprintf("n-%d", i), 0), shop, []netip.Prefix{crowdPrefix(i)}, nil)
	}
	return claims
}

func crowdPrefix(i int) netip.Prefix {
	if i%3 == 0 {
		address := [16]byte{0x20, 0x01, 0x0d, 0xb8}
		binary.BigEndian.PutUint32(address[4:], uint32(i))
		return netip.PrefixFrom(netip.AddrFrom16(address), 64)
	}
	address := [4]byte{10}
	binary.BigEndian.PutUint32(address[:], 10<<24|uint32(i)<<6)
	return netip.PrefixFrom(netip.AddrFrom4(address), 26)
}

var sizes = []int{10, 100, 1000, 10_000, 100_000}

// BenchmarkClaims asks of a free prefix whether it is, which is what nearly every
// request comes to, by the table and by looking at every claim in turn; then who
// has a taken one, and what a change costs.
func BenchmarkClaims(b *testing.B) {
	// Gaps between two Networks: the crowd's IPv6 ones leave them.
	free, freeToo := netip.MustParsePrefix("10.0.0.0/26"), netip.MustParsePrefix("10.0.0.192/26")
	for _, n := range sizes {
		claims := crowd(n)
		b.Run(fmt.Sprintf("free/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !claims.Free(shop, free, subject) {
					b.Fatal("it is taken")
				}
			}
		})
		all := make([]addressing.Claim, n)
		for i := range all {
			all[i] = addressing.Claim{Owner: owner(fmt.Sprintf("n-%d", i), 0), Prefix: crowdPrefix(i)}
		}
		b.Run(fmt.Sprintf("free-by-scan/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !freeByScan(all, free, subject) {
					b.Fatal("it is taken")
				}
			}
		})
		wide := &samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/8"}
		plan, _ := addressing.Parse(wide, specPath)
		b.Run(fmt.Sprintf("conflicts/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if len(claims.Overlaps(plan, shop, subject)) == 0 {
					b.Fatal("it is free")
				}
			}
		})
		b.Run(fmt.Sprintf("change/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			places := [][]netip.Prefix{{free}, {freeToo}}
			for i := 0; b.Loop(); i++ {
				claims.Set(owner("moving", 0), shop, places[i%2], nil)
			}
		})
	}
}

func freeByScan(all []addressing.Claim, prefix netip.Prefix, self types.NamespacedName) bool {
	for i := range all {
		if all[i].Owner.NamespacedName != self && all[i].Prefix.Overlaps(prefix) {
			return false
		}
	}
	return true
}
