package addressing_test

import (
	"testing"

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
