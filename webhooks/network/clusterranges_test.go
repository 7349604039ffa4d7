package network

import (
	"net/netip"
	"reflect"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// Rule 6: overlap with the cluster's own ranges warns unless the class says
// otherwise.
func TestClusterRanges(t *testing.T) {
	cluster := addressing.NewClusterRanges()
	cluster.Set("services", addressing.ServiceRange, []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12")})
	const says = "10.100.0.0/24 overlaps 10.96.0.0/12, a Service range of the cluster; Pods would not reach one of the two; use a range apart from it"
	inside, outside := network(className("standard"), cidr("10.100.0.0/24"), gateway("None")), network(className("standard"))
	entry := network(className("standard"), entries("10.100.0.0/24 by None"))
	for name, tc := range map[string]struct {
		policy       samplecrdv1.ClusterRangesPolicy
		object, old  *samplecrdv1.Network
		warned       []string
		refused      []string
		withoutClass bool
	}{
		"Warn, apart":                        {policy: samplecrdv1.ClusterRangesWarn, object: outside},
		"Warn, inside":                       {policy: samplecrdv1.ClusterRangesWarn, object: inside, warned: []string{"spec.cidr: " + says}},
		"Warn, an entry inside":              {policy: samplecrdv1.ClusterRangesWarn, object: entry, warned: []string{"spec.additionalSubnets[0].cidr: " + says}},
		"Warn, an update that moves it":      {policy: samplecrdv1.ClusterRangesWarn, object: inside, old: outside, warned: []string{"spec.cidr: " + says}},
		"not said is Warn":                   {object: inside, warned: []string{"spec.cidr: " + says}},
		"Forbid, apart":                      {policy: samplecrdv1.ClusterRangesForbid, object: outside},
		"Forbid, inside":                     {policy: samplecrdv1.ClusterRangesForbid, object: inside, refused: []string{"spec.cidr"}},
		"Forbid, an entry inside":            {policy: samplecrdv1.ClusterRangesForbid, object: entry, refused: []string{"spec.additionalSubnets[0].cidr"}},
		"Forbid, an update that moves it in": {policy: samplecrdv1.ClusterRangesForbid, object: inside, old: outside, refused: []string{"spec.cidr"}},
		"Forbid, an update that leaves it": {policy: samplecrdv1.ClusterRangesForbid, old: inside,
			object: network(className("standard"), cidr("10.100.0.0/24"), gateway("None"), mtu(1400)), warned: []string{"spec.cidr: " + says}},
		"Forbid, an update that adds another entry": {policy: samplecrdv1.ClusterRangesForbid, old: entry,
			object: network(className("standard"), entries("10.100.0.0/24 by None", "10.1.0.0/24 by None")), refused: []string{"spec.additionalSubnets[0].cidr"}},
		"Forbid, an update that moves it out": {policy: samplecrdv1.ClusterRangesForbid, object: outside, old: inside},
		"Ignore, inside":                      {policy: samplecrdv1.ClusterRangesIgnore, object: inside},
		"no class, inside":                    {object: network(cidr("10.100.0.0/24"), gateway("None")), withoutClass: true},
	} {
		t.Run(name, func(t *testing.T) {
			standard := class("standard", "")
			standard.Spec.ClusterRanges = tc.policy
			objects := fake.NewClientBuilder().WithScheme(newScheme(t))
			if !tc.withoutClass {
				objects.WithObjects(standard)
			}
			w := &webhook{reader: objects.Build(), space: addressing.Space{Claims: addressing.NewClaims(), Cluster: cluster}}
			known, err := w.Gather(t.Context(), tc.object, tc.old)
			if err != nil {
				t.Fatal(err)
			}
			warned, errs := w.Validate(tc.object, tc.old, known)
			var refused []string
			for _, fault := range errs {
				refused = append(refused, fault.Field)
			}
			if !reflect.DeepEqual(warned, tc.warned) || !reflect.DeepEqual(refused, tc.refused) {
				t.Errorf("warned of %q and refused for %q, want %q and %q: %v", warned, refused, tc.warned, tc.refused, errs)
			}
		})
	}
}
