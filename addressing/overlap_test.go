package addressing_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

func TestOverlaps(t *testing.T) {
	for name, tc := range map[string]struct {
		spec   *samplecrdv1.NetworkSpec
		rivals []addressing.Rival
		want   []fault
	}{
		"no rivals":                                      {subnets("10.0.0.0/24"), nil, nil},
		"a neighbour":                                    {subnets("10.0.0.0/24"), []addressing.Rival{{Name: "a", Prefixes: prefixes("10.0.1.0/24")}}, nil},
		"the other family":                               {subnets("::/8"), []addressing.Rival{{Name: "a", Prefixes: prefixes("0.0.0.0/8")}}, nil},
		"the same range":                                 {subnets("10.0.0.0/24"), []addressing.Rival{{Name: "a", Prefixes: prefixes("10.0.0.0/24")}}, []fault{invalid("spec.cidr")}},
		"a range inside the rival's":                     {subnets("10.9.0.0/16"), []addressing.Rival{{Name: "a", Prefixes: prefixes("10.0.0.0/8")}}, []fault{invalid("spec.cidr")}},
		"a range around the rival's":                     {subnets("10.0.0.0/8"), []addressing.Rival{{Name: "a", Prefixes: prefixes("10.9.0.0/16")}}, []fault{invalid("spec.cidr")}},
		"host bits hide nothing":                         {subnets("10.161.0.0/8"), []addressing.Rival{{Name: "a", Prefixes: prefixes("10.0.0.0/8")}}, []fault{invalid("spec.cidr")}},
		"a rival is named once, however often it hits":   {subnets("10.0.0.0/8"), []addressing.Rival{{Name: "a", Prefixes: prefixes("10.9.0.0/16", "10.8.0.0/16")}}, []fault{invalid("spec.cidr")}},
		"two rivals are two faults":                      {subnets("10.0.0.0/8"), []addressing.Rival{{Name: "a", Prefixes: prefixes("10.9.0.0/16")}, {Name: "b", Prefixes: prefixes("10.8.0.0/16")}}, []fault{invalid("spec.cidr"), invalid("spec.cidr")}},
		"the subnet in the way has the fault":            {subnets("10.0.0.0/24", "10.0.1.0/24"), []addressing.Rival{{Name: "a", Prefixes: prefixes("10.0.1.0/24")}}, []fault{invalid("spec.additionalSubnets[0].cidr")}},
		"a range that cannot be read is in nobody's way": {subnets("x"), []addressing.Rival{{Name: "a", Prefixes: prefixes("10.0.1.0/24")}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			plan, _ := addressing.Parse(tc.spec, specPath)
			checkFaults(t, addressing.Overlaps(plan, tc.rivals), tc.want)
		})
	}
}

func TestOverlapsNamesFive(t *testing.T) {
	var rivals []addressing.Rival
	for i := range 100 {
		rivals = append(rivals, addressing.Rival{Name: fmt.Sprintf("rival-%d", i), Prefixes: prefixes(fmt.Sprintf("10.%d.0.0/16", i))})
	}
	plan, _ := addressing.Parse(subnets("10.0.0.0/8"), specPath)
	if got := len(addressing.Overlaps(plan, rivals)); got != 5 {
		t.Errorf("%d conflicts are named, want 5", got)
	}
}

// A condition's message must not change with the order of a map.
func TestOverlapsReadTheSameInAnyOrder(t *testing.T) {
	rivals := []addressing.Rival{
		{Name: "c", Prefixes: prefixes("10.3.0.0/16")}, {Name: "a", Prefixes: prefixes("10.1.0.0/16")}, {Name: "b", Prefixes: prefixes("10.2.0.0/16")},
	}
	plan, _ := addressing.Parse(subnets("10.0.0.0/8"), specPath)
	want := text(addressing.Overlaps(plan, rivals))
	slices.Reverse(rivals)
	if got := text(addressing.Overlaps(plan, rivals)); got != want {
		t.Errorf("got %q in one order and %q in the other", got, want)
	}
}

func TestOverlapsExplains(t *testing.T) {
	plan, _ := addressing.Parse(subnets("10.0.0.77/24"), specPath)
	got := text(addressing.Overlaps(plan, []addressing.Rival{{Name: "neighbour", Prefixes: prefixes("10.0.0.0/16")}}))
	for _, want := range []string{`"10.0.0.77/24"`, "10.0.0.0/16", `"neighbour"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not name %s", got, want)
		}
	}
}

func TestAsked(t *testing.T) {
	for name, tc := range map[string]struct {
		spec *samplecrdv1.NetworkSpec
		want []netip.Prefix
	}{
		"one subnet":                    {subnets("10.0.0.0/24"), prefixes("10.0.0.0/24")},
		"several, in order":             {subnets("10.0.1.0/24", "2001:db8::/64", "10.0.0.0/24"), prefixes("10.0.1.0/24", "2001:db8::/64", "10.0.0.0/24")},
		"host bits are cleared":         {subnets("192.168.1.0/16"), prefixes("192.168.0.0/16")},
		"what cannot be read is no ask": {subnets("x", "10.0.0.0/24", ""), prefixes("10.0.0.0/24")},
		"nothing":                       {subnets(""), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := addressing.Asked(tc.spec); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestRecorded(t *testing.T) {
	for name, tc := range map[string]struct {
		status samplecrdv1.NetworkStatus
		want   []netip.Prefix
	}{
		"an empty status": {samplecrdv1.NetworkStatus{}, nil},
		"every state counts": {samplecrdv1.NetworkStatus{Subnets: []samplecrdv1.SubnetStatus{
			{CIDR: "10.0.0.0/24", State: samplecrdv1.SubnetActive}, {CIDR: "2001:db8::/64", State: samplecrdv1.SubnetPending},
		}}, prefixes("10.0.0.0/24", "2001:db8::/64")},
		"what cannot be read is left out": {samplecrdv1.NetworkStatus{Subnets: []samplecrdv1.SubnetStatus{{CIDR: "x"}, {CIDR: "10.0.0.0/24"}}}, prefixes("10.0.0.0/24")},
	} {
		t.Run(name, func(t *testing.T) {
			if got := addressing.Recorded(&tc.status); !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
