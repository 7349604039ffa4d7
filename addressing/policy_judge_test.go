package addressing_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

var teamA = addressing.Tenant{Namespace: "one", Labels: labels.Set{"team": "a", "kubernetes.io/metadata.name": "one"}}

// judged is what a class of these limits says of subnets of a tenant.
func judged(limits []limit, tenant addressing.Tenant, cidrs ...string) (addressing.Policy, string, []fault) {
	policy, _ := addressing.ParsePolicy(classWith(limits...))
	plan, _ := addressing.Parse(subnets(cidrs...), specPath)
	errs := policy.Judge(plan, tenant)
	return policy, text(errs), faultsOf(errs)
}

func TestJudgeRanges(t *testing.T) {
	first, second := []fault{invalid("spec.cidr")}, []fault{invalid("spec.additionalSubnets[0].cidr")}
	for name, tc := range map[string]struct {
		limits  []limit
		subnets []string
		want    []fault
	}{
		"no policy allows any range":                      {nil, []string{"10.0.0.0/24", "2001:db8::/64"}, nil},
		"empty lists allow any range":                     {[]limit{allows(), reserves()}, []string{"203.0.113.7/32"}, nil},
		"inside the allowed range":                        {[]limit{allows("10.0.0.0/8")}, []string{"10.255.255.0/24"}, nil},
		"the allowed range itself":                        {[]limit{allows("10.0.0.0/8")}, []string{"10.0.0.0/8"}, nil},
		"the first address of it":                         {[]limit{allows("10.0.0.0/8")}, []string{"10.0.0.0/32"}, nil},
		"the last address of it":                          {[]limit{allows("10.0.0.0/8")}, []string{"10.255.255.255/32"}, nil},
		"inside it but for host bits, which do not count": {[]limit{allows("10.0.0.0/16")}, []string{"10.0.9.9/16"}, nil},
		"an allowed range with host bits":                 {[]limit{allows("10.0.9.9/16")}, []string{"10.0.200.0/24"}, nil},
		"inside the second allowed range":                 {[]limit{allows("10.0.0.0/8", "172.16.0.0/12")}, []string{"172.31.0.0/16"}, nil},
		"one bit larger than the allowed range":           {[]limit{allows("10.0.0.0/8")}, []string{"10.0.0.0/7"}, first},
		"the address before it":                           {[]limit{allows("10.0.0.0/8")}, []string{"9.255.255.255/32"}, first},
		"the address after it":                            {[]limit{allows("10.0.0.0/8")}, []string{"11.0.0.0/32"}, first},
		"across two allowed ranges, side by side":         {[]limit{allows("10.0.0.0/9", "10.128.0.0/9")}, []string{"10.0.0.0/8"}, first},
		"an additional subnet outside":                    {[]limit{allows("10.0.0.0/8")}, []string{"10.0.0.0/24", "172.16.0.0/24"}, second},
		"every subnet outside":                            {[]limit{allows("10.0.0.0/8")}, []string{"172.16.0.0/24", "172.17.0.0/24"}, append(first, second...)},
		"IPv6 inside":                                     {[]limit{allows("2001:db8::/32")}, []string{"2001:DB8:ffff::/48"}, nil},
		"IPv6 outside":                                    {[]limit{allows("2001:db8::/32")}, []string{"2001:db9::/48"}, first},
		"IPv6 where only IPv4 is allowed":                 {[]limit{allows("10.0.0.0/8")}, []string{"2001:db8::/64"}, first},
		"IPv4 where only IPv6 is allowed":                 {[]limit{allows("2001:db8::/32")}, []string{"10.0.0.0/24"}, first},

		"apart from the reserved range":          {[]limit{reserves("10.96.0.0/12")}, []string{"10.95.0.0/16", "10.112.0.0/16"}, nil},
		"the reserved range itself":              {[]limit{reserves("10.96.0.0/12")}, []string{"10.96.0.0/12"}, first},
		"inside the reserved range":              {[]limit{reserves("10.96.0.0/12")}, []string{"10.111.255.255/32"}, first},
		"around the reserved range":              {[]limit{reserves("10.96.0.0/12")}, []string{"10.0.0.0/8"}, first},
		"a reserved range of the other family":   {[]limit{reserves("::/1")}, []string{"10.0.0.0/8"}, nil},
		"IPv6 that is reserved":                  {[]limit{reserves("10.0.0.0/8", "2001:db8::/48")}, []string{"172.16.0.0/12", "2001:db8::/64"}, second},
		"in an allowed range, but reserved":      {[]limit{allows("10.0.0.0/8"), reserves("10.96.0.0/12")}, []string{"10.100.0.0/16"}, first},
		"neither allowed nor left, both is said": {[]limit{allows("10.0.0.0/8"), reserves("172.16.0.0/12")}, []string{"172.16.0.0/24"}, append(first, first...)},
		"what cannot be read is not judged":      {[]limit{allows("10.0.0.0/8"), lengths4(between(9, 9))}, []string{"x", "172.16.0.0/9"}, second},
	} {
		t.Run(name, func(t *testing.T) {
			if _, said, got := judged(tc.limits, teamA, tc.subnets...); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v: %s", got, tc.want, said)
			}
		})
	}
}

func TestJudgeLengths(t *testing.T) {
	for name, tc := range map[string]struct {
		limit   limit
		good    []string
		refused []string
	}{
		"both bounds":                 {lengths4(between(16, 28)), []string{"10.0.0.0/16", "10.0.0.0/28", "10.0.0.0/24", "2001:db8::/64"}, []string{"10.0.0.0/15", "10.0.0.0/29"}},
		"both bounds of IPv6":         {lengths6(between(48, 64)), []string{"2001:db8::/48", "2001:db8::/64", "10.0.0.0/8"}, []string{"2001:db8::/47", "2001:db8::/65"}},
		"the shortest alone":          {lengths4(between(24, 0)), []string{"10.0.0.0/24", "10.0.0.0/32"}, []string{"10.0.0.0/23", "0.0.0.0/1"}},
		"the longest alone":           {lengths6(between(0, 64)), []string{"2001:db8::/64", "::/1"}, []string{"2001:db8::/65", "2001:db8::/128"}},
		"one length":                  {lengths4(between(24, 24)), []string{"10.0.0.0/24"}, []string{"10.0.0.0/23", "10.0.0.0/25"}},
		"no bounds in it":             {lengths4(between(0, 0)), []string{"0.0.0.0/1", "10.0.0.0/32"}, nil},
		"the widest bounds":           {lengths6(between(1, 128)), []string{"::/1", "2001:db8::/128"}, nil},
		"a range of host bits counts": {lengths4(between(24, 28)), []string{"10.0.0.9/24"}, []string{"10.0.0.9/16"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, cidr := range tc.good {
				if _, said, got := judged([]limit{tc.limit}, teamA, cidr); len(got) > 0 {
					t.Errorf("%s is refused: %s", cidr, said)
				}
			}
			for _, cidr := range tc.refused {
				if _, said, got := judged([]limit{tc.limit}, teamA, "192.0.2.0/24", cidr); !slices.Contains(got, invalid("spec.additionalSubnets[0].cidr")) {
					t.Errorf("%s is not refused: %s", cidr, said)
				}
			}
		})
	}
}

func TestJudgeNamespace(t *testing.T) {
	in := func(key string, values ...string) limit {
		return requires(metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values})
	}
	for name, tc := range map[string]struct {
		limit       limit
		tenant      addressing.Tenant
		refused     bool
		needsLabels bool
	}{
		"no selector selects every namespace":      {selects(nil), addressing.Tenant{Namespace: "one"}, false, false},
		"an empty selector does so, too":           {selects(&metav1.LabelSelector{}), addressing.Tenant{Namespace: "one"}, false, false},
		"one that has the label":                   {matchLabels(map[string]string{"team": "a"}), teamA, false, true},
		"one that has another value":               {matchLabels(map[string]string{"team": "b"}), teamA, true, true},
		"one that has one label of two":            {matchLabels(map[string]string{"team": "a", "tier": "gold"}), teamA, true, true},
		"one that has no labels":                   {matchLabels(map[string]string{"team": "a"}), addressing.Tenant{Namespace: "one"}, true, true},
		"one of those named":                       {in("kubernetes.io/metadata.name", "second", "one"), teamA, false, true},
		"none of those named":                      {in("kubernetes.io/metadata.name", "second", "third"), teamA, true, true},
		"one without a label, where none is asked": {requires(metav1.LabelSelectorRequirement{Key: "shared", Operator: metav1.LabelSelectorOpDoesNotExist}), addressing.Tenant{Namespace: "one"}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			var want []fault
			if tc.refused {
				want = []fault{invalid("spec.networkClassName")}
			}
			policy, said, got := judged([]limit{tc.limit}, tc.tenant, "10.0.0.0/24", "2001:db8::/64")
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", said, want)
			}
			if policy.NeedsLabels() != tc.needsLabels {
				t.Errorf("needs labels is %t", policy.NeedsLabels())
			}
			for _, secret := range []string{"second", "third", "gold"} {
				if strings.Contains(said, secret) {
					t.Errorf("%q names %s", said, secret)
				}
			}
		})
	}
}

// A class that is being deleted takes no new Networks, whatever its policy.
func TestJudgeByAClassThatIsGoing(t *testing.T) {
	class := classWith(allows("10.0.0.0/8"), matchLabels(map[string]string{"team": "b"}))
	class.DeletionTimestamp = &metav1.Time{}
	policy, _ := addressing.ParsePolicy(class)
	plan, _ := addressing.Parse(subnets("10.0.0.0/24"), specPath)
	errs := policy.Judge(plan, teamA)
	checkFaults(t, errs, []fault{invalid("spec.networkClassName"), invalid("spec.networkClassName")})
	if got := text(errs); !strings.Contains(got, `NetworkClass "tenants" is being deleted; create the Network in another class`) {
		t.Errorf("got %q", got)
	}
}

// A namespace that a class is not for is told nothing else of it; what is wrong with
// the Network itself it is.
func TestDiscreet(t *testing.T) {
	fault := func(origin string) *field.Error { return field.Invalid(specPath, "", "").WithOrigin(origin) }
	own, foreign := fault("addressing/cidr"), fault(addressing.RuleNamespace)
	ofClass := field.ErrorList{
		fault(addressing.RuleAllowedCIDRs), fault(addressing.RuleReservedCIDRs), fault(addressing.RulePrefixLengths), fault(addressing.RuleImport),
		fault(addressing.RuleOverlap), fault(addressing.RuleOverlapAsked), fault(addressing.RuleClusterRanges),
	}
	if got := addressing.Discreet(append(field.ErrorList{own}, ofClass...)); len(got) != 1+len(ofClass) {
		t.Errorf("to a namespace that it is for it says %v", got)
	}
	got := addressing.Discreet(append(field.ErrorList{own, foreign}, ofClass...))
	if len(got) != 2 || got[0] != own || got[1] != foreign {
		t.Errorf("to another one it says %v", got)
	}
}

// A policy that was stored with faults must never turn into one that allows all.
func TestJudgeFailsClosed(t *testing.T) {
	reserving := func(cidrs ...string) []limit { return []limit{reserves(cidrs...)} }
	for name, tc := range map[string]struct {
		limits []limit
		tenant addressing.Tenant
		subnet string
		want   []fault
	}{
		"an allowed list of nonsense allows nothing":       {[]limit{allows("x")}, teamA, "10.0.0.0/24", []fault{invalid("spec.cidr")}},
		"what can be read of an allowed list is allowed":   {[]limit{allows("x", "10.0.0.0/8")}, teamA, "10.0.0.0/24", nil},
		"and nothing else is":                              {[]limit{allows("x", "10.0.0.0/8")}, teamA, "172.16.0.0/24", []fault{invalid("spec.cidr")}},
		"what is beyond the bound is not allowed":          {[]limit{allows(numbered(65)...)}, teamA, "10.64.0.0/24", []fault{invalid("spec.cidr")}},
		"what is within the bound is":                      {[]limit{allows(numbered(65)...)}, teamA, "10.63.0.0/24", nil},
		"a reserved range of nonsense may be any":          {reserving("x"), teamA, "10.0.0.0/24", []fault{invalid("spec.cidr")}},
		"one that can be read is named beside it":          {reserving("x", "10.0.0.0/8"), teamA, "10.0.0.0/24", []fault{invalid("spec.cidr")}},
		"so may one beyond the bound":                      {reserving(numbered(65)...), teamA, "172.16.0.0/24", []fault{invalid("spec.cidr")}},
		"a reserved range twice is known":                  {reserving("10.0.0.0/8", "10.0.0.0/8"), teamA, "172.16.0.0/24", nil},
		"an allowed range wholly reserved allows nothing":  {[]limit{allows("10.0.0.0/8"), reserves("10.0.0.0/8")}, teamA, "10.0.0.0/24", []fault{invalid("spec.cidr")}},
		"min above max allows no length":                   {[]limit{lengths4(between(28, 16))}, teamA, "10.0.0.0/24", []fault{invalid("spec.cidr")}},
		"a bound that is none allows no length":            {[]limit{lengths4(between(16, 64))}, teamA, "10.0.0.0/24", []fault{invalid("spec.cidr")}},
		"but every one of the other family":                {[]limit{lengths4(between(16, 64))}, teamA, "2001:db8::/64", nil},
		"a selector that is none selects no namespace":     {[]limit{matchLabels(map[string]string{"team": "?"})}, teamA, "10.0.0.0/24", []fault{invalid("spec.networkClassName")}},
		"one that is too large selects none either":        {[]limit{matchLabels(numberedLabels(17))}, addressing.Tenant{Namespace: "one", Labels: numberedLabels(17)}, "10.0.0.0/24", []fault{invalid("spec.networkClassName")}},
		"nor does one of an unknown operator":              {[]limit{requires(metav1.LabelSelectorRequirement{Key: "team", Operator: "Is"})}, teamA, "10.0.0.0/24", []fault{invalid("spec.networkClassName")}},
		"a fault of one rule does not switch off the rest": {[]limit{allows("10.0.0.0/8"), lengths4(between(28, 16))}, teamA, "172.16.0.0/24", []fault{invalid("spec.cidr"), invalid("spec.cidr")}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, said, got := judged(tc.limits, tc.tenant, tc.subnet); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v: %s", got, tc.want, said)
			}
		})
	}
}

// The text is what these cases are about: who reads it must know what to do next.
func TestJudgeExplains(t *testing.T) {
	for name, tc := range map[string]struct {
		limits []limit
		subnet string
		want   []string
	}{
		"which ranges are allowed":              {[]limit{allows("10.0.0.0/8", "172.16.0.0/12")}, "192.168.1.0/16", []string{`"192.168.1.0/16"`, `"tenants"`, "use a part of 10.0.0.0/8, 172.16.0.0/12"}},
		"only some of many":                     {[]limit{allows(numbered(64)...)}, "192.168.0.0/16", []string{"10.0.0.0/16, 10.1.0.0/16, 10.2.0.0/16, 10.3.0.0/16 and others"}},
		"those of the family":                   {[]limit{allows("2001:db8::/32", "10.0.0.0/8")}, "192.168.0.0/16", []string{"use a part of 10.0.0.0/8"}},
		"that there is none of the family":      {[]limit{allows("2001:db8::/32")}, "192.168.0.0/16", []string{"no IPv4 range", "2001:db8::/32"}},
		"which range is reserved":               {[]limit{reserves("172.16.0.0/12", "10.96.0.0/12")}, "10.96.0.0/16", []string{"overlaps 10.96.0.0/12", `"tenants"`, "apart from it"}},
		"every reserved range that is touched":  {[]limit{reserves("10.1.0.0/16", "10.96.0.0/12")}, "10.0.0.0/8", []string{"10.1.0.0/16, 10.96.0.0/12"}},
		"which lengths are allowed":             {[]limit{lengths4(between(16, 28))}, "10.0.0.0/29", []string{"from 16 to 28", "IPv4", `"tenants"`}},
		"that a bound that is absent is none":   {[]limit{lengths6(between(48, 0))}, "2001:db8::/32", []string{"from 48 to 128", "IPv6"}},
		"the only length":                       {[]limit{lengths4(between(24, 24))}, "10.0.0.0/25", []string{"prefix length 24"}},
		"whose class it is not":                 {[]limit{matchLabels(map[string]string{"team": "b"})}, "10.0.0.0/24", []string{`spec.networkClassName: Invalid value: "tenants"`, `namespace "one"`, "another class"}},
		"that the class itself is to be mended": {[]limit{allows("x"), reserves("y"), lengths4(between(2, 1))}, "10.0.0.0/24", []string{"allowedCIDRs cannot be read", "reservedCIDRs cannot be read", "prefixLengths cannot be read"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, said, _ := judged(tc.limits, teamA, tc.subnet)
			for _, want := range tc.want {
				if !strings.Contains(said, want) {
					t.Errorf("%q does not say %q", said, want)
				}
			}
		})
	}
}

// The zero Policy is that of a class without one.
func TestJudgeByNoPolicy(t *testing.T) {
	plan, _ := addressing.Parse(subnets("10.0.0.0/24", "2001:db8::/64"), specPath)
	if errs := (addressing.Policy{}).Judge(plan, addressing.Tenant{}); len(errs) > 0 {
		t.Errorf("got %v", errs)
	}
}

// FuzzPolicy holds two things for any class: what is refused as a fault allows
// nothing more than what is sound, and a subnet that passes is where the class
// wants it.
func FuzzPolicy(f *testing.F) {
	f.Add("10.0.0.0/8", "10.96.0.0/12", int32(16), int32(28), "team", "a", "10.1.0.0/16")
	f.Add("10.0.0.9/8", "x", int32(0), int32(129), "-", "?", "10.1.0.0/16")
	f.Add("2001:db8::/32", "2001:db8:ffff::/48", int32(64), int32(48), "", "", "2001:db8::/64")
	f.Fuzz(func(t *testing.T, allowed, reserved string, least, most int32, key, value, cidr string) {
		class := classWith(allows(allowed), reserves(reserved), matchLabels(map[string]string{key: value}))
		bounds := &samplecrdv1.PrefixLengthRange{Min: &least, Max: &most}
		class.Spec.PrefixLengths = &samplecrdv1.PrefixLengths{IPv4: bounds, IPv6: bounds}
		policy, errs := addressing.ParsePolicy(class)
		for _, err := range errs {
			if !addressing.PolicyUnchanged(err, &class.Spec, &class.Spec) || len(err.Error()) > 1024 {
				t.Errorf("%v, by %q", err, err.Origin)
			}
		}
		plan, faults := addressing.Parse(subnets(cidr), specPath)
		if len(faults) > 0 || len(policy.Judge(plan, addressing.Tenant{Namespace: "one", Labels: labels.Set{key: value}})) > 0 {
			return
		}
		prefix := plan.Subnets[0].Prefix
		inside, apart := addressing.ParsePrefix(allowed), addressing.ParsePrefix(reserved)
		if !inside.Contains(prefix.Addr()) || inside.Bits() > prefix.Bits() || !apart.IsValid() || apart.Overlaps(prefix) || prefix.Bits() < int(least) || prefix.Bits() > int(most) {
			t.Errorf("%s passes %+v", prefix, class.Spec)
		}
	})
}

// BenchmarkJudge judges the largest Network by the largest policy.
func BenchmarkJudge(b *testing.B) {
	policy, _ := addressing.ParsePolicy(classWith(allows(numbered(64)...), reserves("172.16.0.0/12"), lengths4(between(8, 30))))
	plan, _ := addressing.Parse(subnets("10.63.0.0/24", "10.63.1.0/24", "10.63.2.0/24", "10.63.3.0/24", "10.63.4.0/24", "10.63.5.0/24", "10.63.6.0/24", "10.63.7.0/24"), specPath)
	for b.Loop() {
		if errs := policy.Judge(plan, teamA); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
