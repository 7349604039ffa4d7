package network

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// block gives that many ranges, in canonical form.
func block(of, count int) []string {
	var all []string
	for i := range count {
		all = append(all, fmt.Sprintf("10.%d.%d.0/24", of, i))
	}
	return all
}

// specOf asks for ranges, of which the first is spec's own.
func specOf(cidrs []string) samplecrdv1.NetworkSpec {
	spec := samplecrdv1.NetworkSpec{CIDR: cidrs[0]}
	for _, cidr := range cidrs[1:] {
		spec.AdditionalSubnets = append(spec.AdditionalSubnets, samplecrdv1.SubnetSpec{CIDR: cidr})
	}
	return spec
}

func planOf(t *testing.T, cidrs []string) addressing.Plan {
	t.Helper()
	spec := specOf(cidrs)
	plan, errs := addressing.Parse(&spec, field.NewPath("spec"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	plan.MTU = 1400
	return plan
}

func prefixes(cidrs []string) []netip.Prefix {
	var all []netip.Prefix
	for _, cidr := range cidrs {
		all = append(all, netip.MustParsePrefix(cidr))
	}
	return all
}

func TestFitting(t *testing.T) {
	for name, tc := range map[string]struct {
		planned, recorded, want []string
	}{
		"all of the first plan":                         {block(1, 8), nil, block(1, 8)},
		"all that is recorded":                          {block(1, 8), block(1, 8), block(1, 8)},
		"all of a second plan":                          {block(2, 8), block(1, 8), block(2, 8)},
		"nothing of a third":                            {block(3, 8), slices.Concat(block(1, 8), block(2, 8)), nil},
		"the first of a third, where one has gone":      {block(3, 8), slices.Concat(block(1, 7), block(2, 8)), block(3, 1)},
		"what is recorded takes no room":                {slices.Concat(block(3, 4), block(1, 4)), slices.Concat(block(1, 8), block(2, 7)), slices.Concat(block(3, 1), block(1, 4))},
		"what is recorded, where there is no room":      {slices.Concat(block(3, 4), block(2, 4)), slices.Concat(block(1, 8), block(2, 8)), block(2, 4)},
		"no more where more is recorded than there may": {block(3, 1), slices.Concat(block(1, 8), block(2, 9)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planOf(t, tc.planned)
			got := fitting(plan, prefixes(tc.recorded))
			if !slices.Equal(got.Prefixes(), prefixes(tc.want)) {
				t.Errorf("got %v, want %v", got.Prefixes(), tc.want)
			}
			if got.MTU != plan.MTU {
				t.Error("the rest of the plan is lost")
			}
			if !slices.Equal(plan.Prefixes(), prefixes(tc.planned)) {
				t.Error("the plan itself was changed")
			}
			p := pass{plan: got, network: &samplecrdv1.Network{Spec: specOf(tc.planned)}}
			if want := len(tc.want) < len(tc.planned); p.partial() != want {
				t.Errorf("it is a part: %t, want %t", !want, want)
			}
		})
	}
}

// shown writes subnets as "10.0.0.0/24 Draining pod a".
func shown(subnets []samplecrdv1.SubnetStatus) []string {
	var all []string
	for _, subnet := range subnets {
		text := []string{subnet.CIDR, string(subnet.State)}
		if len(subnet.Users) > 0 {
			text = append(text, strings.Join(subnet.Users, ", "))
		}
		if subnet.ProviderID != nil {
			text = append(text, "as "+*subnet.ProviderID)
		}
		all = append(all, strings.Join(text, " "))
	}
	return all
}

func recordedAs(state samplecrdv1.SubnetState, cidrs ...string) []samplecrdv1.SubnetStatus {
	var all []samplecrdv1.SubnetStatus
	for _, cidr := range cidrs {
		all = append(all, samplecrdv1.SubnetStatus{CIDR: cidr, State: state})
	}
	return all
}

func drainingOf(cidrs ...string) []providers.Draining {
	var all []providers.Draining
	for _, cidr := range cidrs {
		all = append(all, providers.Draining{
			Prefix: netip.MustParsePrefix(cidr), ID: "id", Users: providers.Users{Named: []string{"pod b", "pod a"}},
		})
	}
	return all
}

func TestDrainingSubnets(t *testing.T) {
	const users = " Draining pod a, pod b as id"
	for name, tc := range map[string]struct {
		recorded []string
		draining []providers.Draining
		room     int
		want     []string
	}{
		"none":                              {block(1, 2), nil, 8, nil},
		"in order, whatever the backend's":  {block(1, 2), drainingOf("10.1.1.0/24", "10.1.0.0/24"), 8, []string{"10.1.0.0/24" + users, "10.1.1.0/24" + users}},
		"what was never claimed comes last": {block(1, 2), drainingOf("10.0.0.0/24", "10.1.0.0/24"), 8, []string{"10.1.0.0/24" + users, "10.0.0.0/24" + users}},
		"and is left out first":             {block(1, 2), drainingOf("10.0.0.0/24", "10.1.0.0/24", "10.1.1.0/24"), 2, []string{"10.1.0.0/24" + users, "10.1.1.0/24" + users}},
	} {
		t.Run(name, func(t *testing.T) {
			got := drainingSubnets(recordedAs(samplecrdv1.SubnetActive, tc.recorded...), providers.Observed{Draining: tc.draining}, tc.room)
			if !slices.Equal(shown(got), tc.want) {
				t.Errorf("got %q, want %q", shown(got), tc.want)
			}
		})
	}
}

// Beside an error the claims stay, and what the backend told is not lost.
func TestLearn(t *testing.T) {
	before, after := netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("10.1.0.0/24")
	for name, tc := range map[string]struct {
		observed providers.Observed
		want     []string
	}{
		"nothing":                         {providers.Observed{}, []string{"10.0.0.0/24 Active", "10.1.0.0/24 Pending"}},
		"ids":                             {providers.Observed{SubnetIDs: map[netip.Prefix]string{before: "one", after: "two"}}, []string{"10.0.0.0/24 Active as one", "10.1.0.0/24 Pending as two"}},
		"who is in the way":               {providers.Observed{SubnetIDs: map[netip.Prefix]string{before: "id"}, Draining: drainingOf("10.0.0.0/24")}, []string{"10.0.0.0/24 Draining pod a, pod b as id", "10.1.0.0/24 Pending"}},
		"of what is not recorded nothing": {providers.Observed{SubnetIDs: map[netip.Prefix]string{netip.MustParsePrefix("10.2.0.0/24"): "three"}, Draining: drainingOf("10.2.0.0/24")}, []string{"10.0.0.0/24 Active", "10.1.0.0/24 Pending"}},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := append(recordedAs(samplecrdv1.SubnetActive, "10.0.0.0/24"), recordedAs(samplecrdv1.SubnetPending, "10.1.0.0/24")...)
			learn(recorded, tc.observed)
			if !slices.Equal(shown(recorded), tc.want) {
				t.Errorf("got %q, want %q", shown(recorded), tc.want)
			}
		})
	}
}
