package addressing_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

var (
	shop    = addressing.Scope{Class: "standard", Namespace: "shop"}
	subject = types.NamespacedName{Namespace: "shop", Name: "subject"}
)

// owner is a Network of the namespace shop, or of one that is named before a slash.
func owner(name string, age time.Duration) addressing.Owner {
	namespace, short, found := strings.Cut(name, "/")
	if !found {
		namespace, short = "shop", name
	}
	return addressing.Owner{
		UID: types.UID(name), NamespacedName: types.NamespacedName{Namespace: namespace, Name: short},
		Created: time.Unix(1_000_000, 0).Add(-age),
	}
}

// held are claims that Networks of one age have, by their names.
func held(all map[string][]netip.Prefix) *addressing.Claims {
	claims := addressing.NewClaims()
	for name, prefixes := range all {
		claims.Set(owner(name, 0), shop, prefixes, nil)
	}
	return claims
}

func TestOverlaps(t *testing.T) {
	for name, tc := range map[string]struct {
		spec   *samplecrdv1.NetworkSpec
		rivals map[string][]netip.Prefix
		want   []fault
	}{
		"no rivals":                                      {subnets("10.0.0.0/24"), nil, nil},
		"a neighbour":                                    {subnets("10.0.0.0/24"), map[string][]netip.Prefix{"a": prefixes("10.0.1.0/24")}, nil},
		"the other family":                               {subnets("::/8"), map[string][]netip.Prefix{"a": prefixes("0.0.0.0/8")}, nil},
		"the same range":                                 {subnets("10.0.0.0/24"), map[string][]netip.Prefix{"a": prefixes("10.0.0.0/24")}, []fault{invalid("spec.cidr")}},
		"the same IPv6 range":                            {subnets("2001:db8::/64"), map[string][]netip.Prefix{"a": prefixes("2001:db8::/64")}, []fault{invalid("spec.cidr")}},
		"a range inside the rival's":                     {subnets("10.9.0.0/16"), map[string][]netip.Prefix{"a": prefixes("10.0.0.0/8")}, []fault{invalid("spec.cidr")}},
		"a range around the rival's":                     {subnets("10.0.0.0/8"), map[string][]netip.Prefix{"a": prefixes("10.9.0.0/16")}, []fault{invalid("spec.cidr")}},
		"host bits hide nothing":                         {subnets("10.161.0.0/8"), map[string][]netip.Prefix{"a": prefixes("10.0.0.0/8")}, []fault{invalid("spec.cidr")}},
		"a rival is named once, however often it hits":   {subnets("10.0.0.0/8"), map[string][]netip.Prefix{"a": prefixes("10.9.0.0/16", "10.8.0.0/16")}, []fault{invalid("spec.cidr")}},
		"two rivals are two faults":                      {subnets("10.0.0.0/8"), map[string][]netip.Prefix{"a": prefixes("10.9.0.0/16"), "b": prefixes("10.8.0.0/16")}, []fault{invalid("spec.cidr"), invalid("spec.cidr")}},
		"the subnet in the way has the fault":            {subnets("10.0.0.0/24", "10.0.1.0/24"), map[string][]netip.Prefix{"a": prefixes("10.0.1.0/24")}, []fault{invalid("spec.additionalSubnets[0].cidr")}},
		"a range that cannot be read is in nobody's way": {subnets("x"), map[string][]netip.Prefix{"a": prefixes("10.0.1.0/24")}, nil},
		"its own range is in nobody's way":               {subnets("10.0.0.0/24"), map[string][]netip.Prefix{"subject": prefixes("10.0.0.0/16")}, nil},
		"its own does not hide another's":                {subnets("10.0.0.0/24"), map[string][]netip.Prefix{"subject": prefixes("10.0.0.0/24"), "a": prefixes("10.0.0.0/24")}, []fault{invalid("spec.cidr")}},
	} {
		t.Run(name, func(t *testing.T) {
			plan, _ := addressing.Parse(tc.spec, specPath)
			checkFaults(t, held(tc.rivals).Overlaps(plan, shop, subject), tc.want)
		})
	}
}

func TestOverlapsNamesFive(t *testing.T) {
	for name, tc := range map[string]struct {
		rivals, want int
		more         bool
	}{
		"five of five":       {5, 5, false},
		"five of six":        {6, 5, true},
		"five of a thousand": {1000, 5, true},
	} {
		t.Run(name, func(t *testing.T) {
			rivals := map[string][]netip.Prefix{}
			for i := range tc.rivals {
				rivals[fmt.Sprintf("rival-%d", i)] = prefixes(fmt.Sprintf("10.%d.%d.0/24", i/256, i%256))
			}
			plan, _ := addressing.Parse(subnets("10.0.0.0/8"), specPath)
			errs := held(rivals).Overlaps(plan, shop, subject)
			if len(errs) != tc.want {
				t.Fatalf("%d conflicts are named, want %d", len(errs), tc.want)
			}
			if got := strings.Contains(errs[len(errs)-1].Detail, "there may be more"); got != tc.more {
				t.Errorf("the last one says %q", errs[len(errs)-1].Detail)
			}
		})
	}
}

// Five for one answer, not for each subnet.
func TestOverlapsNamesFiveOfAllSubnets(t *testing.T) {
	rivals := map[string][]netip.Prefix{}
	for i := range 6 {
		rivals[fmt.Sprintf("rival-%d", i)] = prefixes(fmt.Sprintf("10.%d.0.0/24", i/3))
	}
	plan, _ := addressing.Parse(subnets("10.0.0.0/16", "10.1.0.0/16"), specPath)
	errs := held(rivals).Overlaps(plan, shop, subject)
	if len(errs) != 5 || !strings.Contains(errs[4].Detail, "there may be more") {
		t.Errorf("got %v", errs)
	}
}

// What is held comes before what is asked for, the older before the younger, then
// it goes by namespace and name. A condition's message must not change with the
// order of arrival.
func TestOverlapsOrder(t *testing.T) {
	sets := []func(*addressing.Claims){
		func(c *addressing.Claims) { c.Set(owner("asks-old", time.Hour), shop, nil, prefixes("10.1.0.0/16")) },
		func(c *addressing.Claims) { c.Set(owner("b-young", 0), shop, prefixes("10.2.0.0/16"), nil) },
		func(c *addressing.Claims) { c.Set(owner("a-young", 0), shop, prefixes("10.3.0.0/16"), nil) },
		func(c *addressing.Claims) { c.Set(owner("z-old", time.Minute), shop, prefixes("10.4.0.0/16"), nil) },
	}
	plan, _ := addressing.Parse(subnets("10.0.0.0/8"), specPath)
	for range sets {
		sets = append(sets[1:], sets[0])
		claims := addressing.NewClaims()
		for _, set := range sets {
			set(claims)
		}
		var got []string
		for _, err := range claims.Overlaps(plan, shop, subject) {
			_, rest, _ := strings.Cut(err.Detail, `Network "`)
			name, _, _ := strings.Cut(rest, `"`)
			got = append(got, name)
		}
		if want := []string{"z-old", "a-young", "b-young", "asks-old"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func TestOverlapsExplains(t *testing.T) {
	plan, _ := addressing.Parse(subnets("10.0.0.77/24"), specPath)
	got := text(held(map[string][]netip.Prefix{"neighbour": prefixes("10.0.0.0/16")}).Overlaps(plan, shop, subject))
	for _, want := range []string{`"10.0.0.77/24"`, "10.0.0.0/16", `"neighbour"`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q does not name %s", got, want)
		}
	}
}

// What a Network asks for that the controller has refused is in nobody's way; what it
// holds is.
func TestOverlapsWithARefusedNetwork(t *testing.T) {
	refused := owner("refused", time.Hour)
	refused.Refused = true
	claims := addressing.NewClaims()
	claims.Set(refused, shop, prefixes("10.0.0.0/24"), prefixes("10.0.1.0/24"))
	for cidr, want := range map[string][]fault{"10.0.0.0/24": {invalid("spec.cidr")}, "10.0.1.0/24": nil, "10.0.0.0/23": {invalid("spec.cidr")}} {
		plan, _ := addressing.Parse(subnets(cidr), specPath)
		checkFaults(t, claims.Overlaps(plan, shop, subject), want)
	}
	// It may be had again by whoever decides.
	if claims.Free(shop, netip.MustParsePrefix("10.0.1.0/24"), subject) {
		t.Error("what it asks for is not in the table")
	}
}

func TestOwnerOf(t *testing.T) {
	for name, tc := range map[string]struct {
		condition metav1.Condition
		want      bool
	}{
		"refused as it stands":    {metav1.Condition{Type: "Accepted", Status: "False", ObservedGeneration: 2}, true},
		"refused as it was":       {metav1.Condition{Type: "Accepted", Status: "False", ObservedGeneration: 1}, false},
		"accepted":                {metav1.Condition{Type: "Accepted", Status: "True", ObservedGeneration: 2}, false},
		"nobody knows":            {metav1.Condition{Type: "Accepted", Status: "Unknown", ObservedGeneration: 2}, false},
		"another condition fails": {metav1.Condition{Type: "Ready", Status: "False", ObservedGeneration: 2}, false},
	} {
		t.Run(name, func(t *testing.T) {
			network := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1", Generation: 2}}
			network.Status.Conditions = []metav1.Condition{tc.condition}
			want := addressing.Owner{UID: "1", NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}, Refused: tc.want}
			if got := addressing.OwnerOf(network); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

// The range alone is told of another tenant's Network.
func TestOverlapsNamesNoOtherTenant(t *testing.T) {
	plan, _ := addressing.Parse(subnets("10.0.0.0/24"), specPath)
	got := text(held(map[string][]netip.Prefix{"rival-corp/secret": prefixes("10.0.0.0/16")}).Overlaps(plan, shop, subject))
	if !strings.Contains(got, "10.0.0.0/16") || strings.Contains(got, "secret") || strings.Contains(got, "rival-corp") {
		t.Errorf("got %q", got)
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
