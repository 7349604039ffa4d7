package addressing_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

func forbidden(path string) fault { return fault{field.ErrorTypeForbidden, path} }

// limit edits the policy of a class.
type limit func(*samplecrdv1.NetworkClassSpec)

func allows(cidrs ...string) limit {
	return func(s *samplecrdv1.NetworkClassSpec) { s.AllowedCIDRs = cidrs }
}

func reserves(cidrs ...string) limit {
	return func(s *samplecrdv1.NetworkClassSpec) { s.ReservedCIDRs = cidrs }
}

// between bounds prefix lengths; 0 leaves a bound out.
func between(least, most int32) *samplecrdv1.PrefixLengthRange {
	bounds := &samplecrdv1.PrefixLengthRange{}
	if least != 0 {
		bounds.Min = &least
	}
	if most != 0 {
		bounds.Max = &most
	}
	return bounds
}

func lengths4(bounds *samplecrdv1.PrefixLengthRange) limit {
	return func(s *samplecrdv1.NetworkClassSpec) { s.PrefixLengths = &samplecrdv1.PrefixLengths{IPv4: bounds} }
}

func lengths6(bounds *samplecrdv1.PrefixLengthRange) limit {
	return func(s *samplecrdv1.NetworkClassSpec) { s.PrefixLengths = &samplecrdv1.PrefixLengths{IPv6: bounds} }
}

func selects(selector *metav1.LabelSelector) limit {
	return func(s *samplecrdv1.NetworkClassSpec) { s.NamespaceSelector = selector }
}

func matchLabels(pairs map[string]string) limit {
	return selects(&metav1.LabelSelector{MatchLabels: pairs})
}

func requires(requirements ...metav1.LabelSelectorRequirement) limit {
	return selects(&metav1.LabelSelector{MatchExpressions: requirements})
}

func classWith(limits ...limit) *samplecrdv1.NetworkClass {
	class := &samplecrdv1.NetworkClass{}
	class.Name = "tenants"
	for _, limit := range limits {
		limit(&class.Spec)
	}
	return class
}

// numbered gives n different ranges.
func numbered(n int) []string {
	var cidrs []string
	for i := range n {
		cidrs = append(cidrs, fmt.Sprintf("10.%d.0.0/16", i))
	}
	return cidrs
}

func numberedLabels(n int) map[string]string {
	pairs := map[string]string{}
	for i := range n {
		pairs[fmt.Sprintf("key-%d", i)] = "x"
	}
	return pairs
}

func TestParsePolicyAccepts(t *testing.T) {
	for name, limits := range map[string][]limit{
		"no policy at all":                        nil,
		"empty lists and an empty selector":       {allows(), reserves(), selects(&metav1.LabelSelector{}), lengths4(nil)},
		"ranges of both families":                 {allows("10.0.0.0/8", "2001:db8::/32"), reserves("10.96.0.0/12", "2001:db8:ffff::/48")},
		"as many ranges as there may be":          {allows(numbered(64)...)},
		"an allowed range inside another":         {allows("10.0.0.0/8", "10.1.0.0/16")},
		"all but one address reserved":            {allows("10.0.0.0/30"), reserves("10.0.0.0/31", "10.0.0.2/32")},
		"reserved around an allowed one":          {allows("10.1.0.0/16"), reserves("10.0.0.0/16", "10.2.0.0/16")},
		"a reservation of the other family":       {allows("10.0.0.0/8"), reserves("::/1", "8000::/1")},
		"the widest lengths of IPv4":              {lengths4(between(1, 32))},
		"the widest lengths of IPv6":              {lengths6(between(1, 128))},
		"one length alone":                        {lengths4(between(24, 24))},
		"a shortest length alone":                 {lengths4(between(32, 0))},
		"a longest length alone":                  {lengths6(between(0, 1))},
		"labels":                                  {matchLabels(map[string]string{"team": "a", "example.org/tier": ""})},
		"every operator":                          {requires(metav1.LabelSelectorRequirement{Key: "a", Operator: "In", Values: []string{"x"}}, metav1.LabelSelectorRequirement{Key: "b", Operator: "NotIn", Values: []string{"x", "y"}}, metav1.LabelSelectorRequirement{Key: "c", Operator: "Exists"}, metav1.LabelSelectorRequirement{Key: "d", Operator: "DoesNotExist"})},
		"as many requirements as there may be":    {matchLabels(numberedLabels(16))},
		"as many values as there may be, of each": {requires(metav1.LabelSelectorRequirement{Key: "a", Operator: "In", Values: numberedValues(64)}, metav1.LabelSelectorRequirement{Key: "b", Operator: "In", Values: numberedValues(64)})},
	} {
		t.Run(name, func(t *testing.T) {
			policy, errs := addressing.ParsePolicy(classWith(limits...))
			checkFaults(t, errs, nil)
			if got := policy.Warnings(); len(got) > 0 {
				t.Errorf("warns %q", got)
			}
		})
	}
}

func numberedValues(n int) []string {
	var values []string
	for i := range n {
		values = append(values, fmt.Sprintf("v%d", i))
	}
	return values
}

func TestParsePolicyRefuses(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	for name, tc := range map[string]struct {
		limits []limit
		want   []fault
	}{
		"an allowed range that is none":        {[]limit{allows("10.0.0.0/8", "ten/8")}, []fault{invalid("spec.allowedCIDRs[1]")}},
		"a reserved range that is none":        {[]limit{reserves("010.0.0.0/8")}, []fault{invalid("spec.reservedCIDRs[0]")}},
		"AN-44: a missing prefix length":       {[]limit{allows("10.0.11.254")}, []fault{invalid("spec.allowedCIDRs[0]")}},
		"AN-48: the whole address space":       {[]limit{allows("0.0.0.0/0"), reserves("::/0")}, []fault{invalid("spec.allowedCIDRs[0]"), invalid("spec.reservedCIDRs[0]")}},
		"an empty range":                       {[]limit{allows(""), reserves("")}, []fault{required("spec.allowedCIDRs[0]"), required("spec.reservedCIDRs[0]")}},
		"a range of a megabyte":                {[]limit{allows(huge)}, []fault{tooLong("spec.allowedCIDRs[0]")}},
		"a range twice":                        {[]limit{allows("10.0.0.0/8", "172.16.0.0/12", "10.0.0.0/8")}, []fault{twice("spec.allowedCIDRs[2]")}},
		"a range twice, spelt otherwise":       {[]limit{reserves("2001:db8::/32", "2001:0DB8:0::/32")}, []fault{twice("spec.reservedCIDRs[1]")}},
		"a range twice but for its host bits":  {[]limit{allows("10.0.0.0/8", "10.1.2.3/8")}, []fault{twice("spec.allowedCIDRs[1]")}},
		"nonsense twice is nonsense":           {[]limit{allows("x", "x")}, []fault{invalid("spec.allowedCIDRs[0]"), invalid("spec.allowedCIDRs[1]")}},
		"too many ranges":                      {[]limit{allows(numbered(65)...)}, []fault{tooMany("spec.allowedCIDRs")}},
		"too many reserved ranges, one bad":    {[]limit{reserves(append([]string{"x"}, numbered(64)...)...)}, []fault{tooMany("spec.reservedCIDRs"), invalid("spec.reservedCIDRs[0]")}},
		"an allowed range that is reserved":    {[]limit{allows("10.0.0.0/8", "10.96.0.0/12"), reserves("10.96.0.0/12")}, []fault{invalid("spec.allowedCIDRs[1]")}},
		"an allowed range inside a reserved":   {[]limit{allows("10.97.0.0/16"), reserves("10.96.0.0/12")}, []fault{invalid("spec.allowedCIDRs[0]")}},
		"an allowed range in two reserved":     {[]limit{allows("10.0.0.0/8"), reserves("10.128.0.0/9", "10.0.0.0/9")}, []fault{invalid("spec.allowedCIDRs[0]")}},
		"the same of IPv6":                     {[]limit{allows("2001:db8::/32"), reserves("2001:db8::/33", "2001:db8:8000::/33")}, []fault{invalid("spec.allowedCIDRs[0]")}},
		"a length below the least":             {[]limit{lengths4(between(-1, 24))}, []fault{invalid("spec.prefixLengths.ipv4.min")}},
		"a length of 0":                        {[]limit{lengths4(&samplecrdv1.PrefixLengthRange{Min: new(int32(0)), Max: new(int32(0))})}, []fault{invalid("spec.prefixLengths.ipv4.min"), invalid("spec.prefixLengths.ipv4.max")}},
		"a length that only IPv6 has":          {[]limit{lengths4(between(33, 64))}, []fault{invalid("spec.prefixLengths.ipv4.min"), invalid("spec.prefixLengths.ipv4.max")}},
		"a length that no family has":          {[]limit{lengths6(between(64, 129))}, []fault{invalid("spec.prefixLengths.ipv6.max")}},
		"min above max":                        {[]limit{lengths4(between(28, 16))}, []fault{invalid("spec.prefixLengths.ipv4.min")}},
		"min above max by one":                 {[]limit{lengths6(between(65, 64))}, []fault{invalid("spec.prefixLengths.ipv6.min")}},
		"a label key that is none":             {[]limit{matchLabels(map[string]string{"-": "x"})}, []fault{invalid("spec.namespaceSelector.matchLabels")}},
		"a label value that is none":           {[]limit{matchLabels(map[string]string{"a": "x y"})}, []fault{invalid("spec.namespaceSelector.matchLabels")}},
		"a label value of a megabyte":          {[]limit{matchLabels(map[string]string{"a": huge})}, []fault{invalid("spec.namespaceSelector.matchLabels")}},
		"an operator that is none":             {[]limit{requires(metav1.LabelSelectorRequirement{Key: "a", Operator: "Is"})}, []fault{unknown("spec.namespaceSelector.matchExpressions[0].operator")}},
		"an operator without its values":       {[]limit{requires(metav1.LabelSelectorRequirement{Key: "a", Operator: "In"})}, []fault{required("spec.namespaceSelector.matchExpressions[0].values")}},
		"an operator with values it has not":   {[]limit{requires(metav1.LabelSelectorRequirement{Key: "a", Operator: "Exists", Values: []string{"x"}})}, []fault{forbidden("spec.namespaceSelector.matchExpressions[0].values")}},
		"a requirement of no key":              {[]limit{requires(metav1.LabelSelectorRequirement{Operator: "Exists"})}, []fault{invalid("spec.namespaceSelector.matchExpressions[0].key"), invalid("spec.namespaceSelector.matchExpressions[0].key")}},
		"too many requirements, of both kinds": {[]limit{selects(&metav1.LabelSelector{MatchLabels: numberedLabels(16), MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Exists"}}})}, []fault{tooMany("spec.namespaceSelector")}},
		"too many values":                      {[]limit{requires(metav1.LabelSelectorRequirement{Key: "a", Operator: "Exists"}, metav1.LabelSelectorRequirement{Key: "b", Operator: "In", Values: numberedValues(65)})}, []fault{tooMany("spec.namespaceSelector.matchExpressions[1].values")}},
		"every field at once": {
			[]limit{allows("x"), reserves("y"), lengths4(between(9, 8)), matchLabels(map[string]string{"a": "?"})},
			[]fault{invalid("spec.allowedCIDRs[0]"), invalid("spec.reservedCIDRs[0]"), invalid("spec.prefixLengths.ipv4.min"), invalid("spec.namespaceSelector.matchLabels")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			class := classWith(tc.limits...)
			_, errs := addressing.ParsePolicy(class)
			checkFaults(t, errs, tc.want)
			for _, err := range errs {
				if !addressing.PolicyUnchanged(err, &class.Spec, class.Spec.DeepCopy()) {
					t.Errorf("nothing changed, and yet it did: %v, by %q", err, err.Origin)
				}
				if got := len(err.Error()); got > 512 {
					t.Errorf("a message of %d characters: %v", got, err)
				}
			}
		})
	}
}

// The text is what these cases are about: it says what would have been right.
func TestParsePolicyExplains(t *testing.T) {
	for name, tc := range map[string]struct {
		limit limit
		want  string
	}{
		"what reserves an allowed range":       {func(s *samplecrdv1.NetworkClassSpec) { allows("10.0.0.0/8")(s); reserves("10.0.0.0/7")(s) }, `"10.0.0.0/8": nothing of it is left`},
		"the lengths of IPv4":                  {lengths4(between(16, 64)), "from 1 to 32"},
		"the lengths of IPv6":                  {lengths6(between(129, 0)), "from 1 to 128"},
		"which bound is above which":           {lengths4(between(28, 16)), "28: must not be above max 16"},
		"how many ranges there may be":         {allows(numbered(65)...), "at most 64"},
		"how many requirements there may be":   {matchLabels(numberedLabels(17)), "at most 16"},
		"a range without its length, in a way": {reserves("10.0.11.254"), "write 10.0.11.254/32"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := addressing.ParsePolicy(classWith(tc.limit))
			if got := text(errs); !strings.Contains(got, tc.want) {
				t.Errorf("%q does not say %q", got, tc.want)
			}
		})
	}
}

// A condition's message must not change with the order of a map.
func TestParsePolicyReadsTheSameEveryTime(t *testing.T) {
	class := classWith(matchLabels(map[string]string{"a": "?", "b": "!", "-": "x", "c": "y z", "_": "", "d": "/"}), lengths4(between(40, 50)))
	_, errs := addressing.ParsePolicy(class)
	for range 50 {
		if _, again := addressing.ParsePolicy(class); text(again) != text(errs) {
			t.Fatalf("got\n%s\nand\n%s", text(errs), text(again))
		}
	}
}

func TestPolicyWarnings(t *testing.T) {
	policy, errs := addressing.ParsePolicy(classWith(allows("10.0.0.0/8", "192.168.1.0/16"), reserves("2001:db8::1/64")))
	checkFaults(t, errs, nil)
	want := []string{
		"spec.allowedCIDRs[1]: 192.168.1.0/16 has host bits set and is treated as 192.168.0.0/16; write 192.168.0.0/16",
		"spec.reservedCIDRs[0]: 2001:db8::1/64 has host bits set and is treated as 2001:db8::/64; write 2001:db8::/64",
	}
	if got := policy.Warnings(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A fault is forgiven as long as no field that its rule reads has changed; a test
// for every rule, and for every field.
func TestPolicyUnchanged(t *testing.T) {
	changes := map[string]limit{
		"allowedCIDRs":       allows("10.0.0.0/9"),
		"reservedCIDRs":      reserves("10.0.0.0/7"),
		"prefixLengths.ipv4": func(s *samplecrdv1.NetworkClassSpec) { s.PrefixLengths.IPv4 = between(1, 2) },
		"prefixLengths.ipv6": func(s *samplecrdv1.NetworkClassSpec) { s.PrefixLengths.IPv6 = between(1, 2) },
		"prefixLengths":      func(s *samplecrdv1.NetworkClassSpec) { s.PrefixLengths = nil },
		"namespaceSelector":  selects(nil),
		"deletionPolicy":     func(s *samplecrdv1.NetworkClassSpec) { s.DeletionPolicy = samplecrdv1.DeletionRetain },
		"clusterRanges":      func(s *samplecrdv1.NetworkClassSpec) { s.ClusterRanges = samplecrdv1.ClusterRangesForbid },
	}
	faulty := func(limits ...limit) *samplecrdv1.NetworkClass {
		class := classWith(allows("10.0.0.0/8"), reserves("172.16.0.0/12"), matchLabels(map[string]string{"a": "b"}))
		class.Spec.PrefixLengths = &samplecrdv1.PrefixLengths{IPv4: between(16, 28), IPv6: between(48, 64)}
		for _, limit := range limits {
			limit(&class.Spec)
		}
		return class
	}
	for name, tc := range map[string]struct {
		limit limit
		reads []string
	}{
		"an allowed range that is none":     {allows("x"), []string{"allowedCIDRs"}},
		"too many allowed ranges":           {allows(numbered(65)...), []string{"allowedCIDRs"}},
		"a reserved range that is none":     {reserves("x"), []string{"reservedCIDRs"}},
		"an allowed range that is reserved": {reserves("10.0.0.0/8"), []string{"allowedCIDRs", "reservedCIDRs"}},
		"a length that only IPv6 has":       {func(s *samplecrdv1.NetworkClassSpec) { s.PrefixLengths.IPv4 = between(16, 64) }, []string{"prefixLengths.ipv4", "prefixLengths"}},
		"a length that no family has":       {func(s *samplecrdv1.NetworkClassSpec) { s.PrefixLengths.IPv6 = between(200, 0) }, []string{"prefixLengths.ipv6", "prefixLengths"}},
		"a selector that is none":           {matchLabels(map[string]string{"a": "?"}), []string{"namespaceSelector"}},
		"a selector that is too large":      {matchLabels(numberedLabels(17)), []string{"namespaceSelector"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := faulty(tc.limit)
			_, errs := addressing.ParsePolicy(before)
			if len(errs) != 1 {
				t.Fatalf("got %v, want one fault", errs)
			}
			for name, change := range changes {
				after := before.DeepCopy()
				change(&after.Spec)
				if got := addressing.PolicyUnchanged(errs[0], &before.Spec, &after.Spec); got == slices.Contains(tc.reads, name) {
					t.Errorf("with another %s unchanged is %t", name, got)
				}
			}
		})
	}
	t.Run("a fault of another rule", func(t *testing.T) {
		spec := &faulty().Spec
		if addressing.PolicyUnchanged(field.Invalid(field.NewPath("spec", "allowedCIDRs"), "x", ""), spec, spec) {
			t.Error("it is forgiven")
		}
	})
	t.Run("the API server stores an empty list and none alike", func(t *testing.T) {
		before, after := faulty(allows("10.0.0.0/9"), reserves("x")), faulty(allows("10.0.0.0/9"), reserves("x"))
		before.Spec.PrefixLengths, after.Spec.PrefixLengths = nil, &samplecrdv1.PrefixLengths{}
		_, errs := addressing.ParsePolicy(before)
		if !addressing.PolicyUnchanged(errs[0], &before.Spec, &after.Spec) {
			t.Error("nothing changed, and yet it did")
		}
	})
}
