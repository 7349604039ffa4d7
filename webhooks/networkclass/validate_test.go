package networkclass

import (
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// change edits a spec.
type change func(*samplecrdv1.NetworkClassSpec)

// class is the class of config/samples, changed.
func class(changes ...change) *samplecrdv1.NetworkClass {
	c := &samplecrdv1.NetworkClass{}
	c.Name = "standard"
	c.Spec = samplecrdv1.NetworkClassSpec{
		Provider:       samplecrdv1.ProviderMultus,
		Multus:         &samplecrdv1.MultusSpec{Type: samplecrdv1.MultusBridge, IPAM: samplecrdv1.IPAMHostLocal},
		OverlapScope:   samplecrdv1.OverlapNamespace,
		ClusterRanges:  samplecrdv1.ClusterRangesWarn,
		Import:         samplecrdv1.ImportForbidden,
		DeletionPolicy: samplecrdv1.DeletionDelete,
	}
	for _, change := range changes {
		change(&c.Spec)
	}
	return c
}

func provider(p samplecrdv1.ProviderType) change {
	return func(s *samplecrdv1.NetworkClassSpec) { s.Provider = p }
}

func policy(p samplecrdv1.DeletionPolicy) change {
	return func(s *samplecrdv1.NetworkClassSpec) { s.DeletionPolicy = p }
}

func scope(o samplecrdv1.OverlapScope) change {
	return func(s *samplecrdv1.NetworkClassSpec) { s.OverlapScope = o }
}

func clusterRanges(c samplecrdv1.ClusterRangesPolicy) change {
	return func(s *samplecrdv1.NetworkClassSpec) { s.ClusterRanges = c }
}

func imports(i samplecrdv1.ImportPolicy) change {
	return func(s *samplecrdv1.NetworkClassSpec) { s.Import = i }
}

func allows(cidrs ...string) change {
	return func(s *samplecrdv1.NetworkClassSpec) { s.AllowedCIDRs = cidrs }
}

func reserves(cidrs ...string) change {
	return func(s *samplecrdv1.NetworkClassSpec) { s.ReservedCIDRs = cidrs }
}

// longest bounds the prefix lengths of both families.
func longest(ipv4, ipv6 int32) change {
	return func(s *samplecrdv1.NetworkClassSpec) {
		s.PrefixLengths = &samplecrdv1.PrefixLengths{IPv4: &samplecrdv1.PrefixLengthRange{Max: &ipv4}, IPv6: &samplecrdv1.PrefixLengthRange{Max: &ipv6}}
	}
}

func selects(key, value string) change {
	return func(s *samplecrdv1.NetworkClassSpec) {
		s.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
}

func multus(change func(*samplecrdv1.MultusSpec)) change {
	return func(s *samplecrdv1.NetworkClassSpec) { change(s.Multus) }
}

func noMultus(s *samplecrdv1.NetworkClassSpec) { s.Multus = nil }

func vlan(id int32) change { return multus(func(m *samplecrdv1.MultusSpec) { m.VLANID = &id }) }

// fault is what a test compares of a field.Error.
type fault struct {
	Type  field.ErrorType
	Field string
}

func invalid(path string) fault   { return fault{field.ErrorTypeInvalid, path} }
func unknown(path string) fault   { return fault{field.ErrorTypeNotSupported, path} }
func required(path string) fault  { return fault{field.ErrorTypeRequired, path} }
func forbidden(path string) fault { return fault{field.ErrorTypeForbidden, path} }

func check(t *testing.T, errs field.ErrorList, want []fault) {
	t.Helper()
	var got []fault
	for _, err := range errs {
		got = append(got, fault{err.Type, err.Field})
		if len(err.Error()) > 400 {
			t.Errorf("a message of %d characters", len(err.Error()))
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", errs, want)
	}
}

func TestValidate(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	for name, tc := range map[string]struct {
		object *samplecrdv1.NetworkClass
		want   []fault
	}{
		"the sample":                    {class(), nil},
		"a VLAN":                        {class(vlan(100)), nil},
		"the first VLAN":                {class(vlan(1)), nil},
		"the last VLAN":                 {class(vlan(4094)), nil},
		"Retain":                        {class(policy(samplecrdv1.DeletionRetain)), nil},
		"no provider":                   {class(provider("")), []fault{required("spec.provider")}},
		"a provider that is not there":  {class(provider("Carrier"), noMultus), []fault{unknown("spec.provider")}},
		"a provider in lower case":      {class(provider("multus")), []fault{unknown("spec.provider")}},
		"a huge provider":               {class(provider(samplecrdv1.ProviderType(huge))), []fault{unknown("spec.provider")}},
		"Multus without its part":       {class(noMultus), []fault{required("spec.multus")}},
		"no type":                       {class(multus(func(m *samplecrdv1.MultusSpec) { m.Type = "" })), []fault{required("spec.multus.type")}},
		"a type that is not there yet":  {class(multus(func(m *samplecrdv1.MultusSpec) { m.Type = "Macvlan" })), []fault{unknown("spec.multus.type")}},
		"an IPAM that is not there":     {class(multus(func(m *samplecrdv1.MultusSpec) { m.IPAM = "Whereabouts" })), []fault{unknown("spec.multus.ipam")}},
		"VLAN 0":                        {class(vlan(0)), []fault{invalid("spec.multus.vlanID")}},
		"VLAN 4095":                     {class(vlan(4095)), []fault{invalid("spec.multus.vlanID")}},
		"a policy of no known name":     {class(policy("Keep")), []fault{unknown("spec.deletionPolicy")}},
		"every scope: Class":            {class(scope(samplecrdv1.OverlapClass)), nil},
		"every scope: None":             {class(scope(samplecrdv1.OverlapNone)), nil},
		"a scope of no known name":      {class(scope("Cluster")), []fault{unknown("spec.overlapScope")}},
		"an empty scope":                {class(scope("")), []fault{unknown("spec.overlapScope")}},
		"a huge scope":                  {class(scope(samplecrdv1.OverlapScope(huge))), []fault{unknown("spec.overlapScope")}},
		"Forbid":                        {class(clusterRanges(samplecrdv1.ClusterRangesForbid)), nil},
		"Ignore":                        {class(clusterRanges(samplecrdv1.ClusterRangesIgnore)), nil},
		"ranges of no known policy":     {class(clusterRanges("Refuse")), []fault{unknown("spec.clusterRanges")}},
		"no policy for ranges":          {class(clusterRanges("")), []fault{unknown("spec.clusterRanges")}},
		"Allowed":                       {class(imports(samplecrdv1.ImportAllowed)), nil},
		"an import of no known policy":  {class(imports("Always")), []fault{unknown("spec.import")}},
		"no policy for imports":         {class(imports("")), []fault{unknown("spec.import")}},
		"a whole policy":                {class(allows("10.0.0.0/8", "2001:db8::/32"), reserves("10.96.0.0/12"), longest(28, 64), selects("team", "a")), nil},
		"an allowed range that is none": {class(allows("10.0.0.0")), []fault{invalid("spec.allowedCIDRs[0]")}},
		"nothing that is left":          {class(allows("10.0.0.0/8"), reserves("10.0.0.0/8")), []fault{invalid("spec.allowedCIDRs[0]")}},
		"a huge label":                  {class(selects("team", huge)), []fault{invalid("spec.namespaceSelector.matchLabels")}},
		"every fault at once": {
			class(policy("Keep"), multus(func(m *samplecrdv1.MultusSpec) { m.Type, m.IPAM, m.VLANID = "x", "y", new(int32(-1)) }),
				scope("x"), allows("x"), reserves("y"), longest(33, 129), selects("team", "?"), clusterRanges("x"), imports("x")),
			[]fault{
				unknown("spec.multus.type"), invalid("spec.multus.vlanID"), unknown("spec.multus.ipam"), unknown("spec.overlapScope"),
				invalid("spec.allowedCIDRs[0]"), invalid("spec.reservedCIDRs[0]"), invalid("spec.prefixLengths.ipv4.max"), invalid("spec.prefixLengths.ipv6.max"),
				invalid("spec.namespaceSelector.matchLabels"), unknown("spec.clusterRanges"), unknown("spec.import"), unknown("spec.deletionPolicy"),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, errs := (&webhook{}).Validate(tc.object, nil, facts{})
			check(t, errs, tc.want)
			if len(warnings) > 0 {
				t.Errorf("got %q", warnings)
			}
		})
	}
}

// The backend is held fast, the policy is not.
func TestValidateUpdate(t *testing.T) {
	long := strings.Repeat("x", 64)
	for name, tc := range map[string]struct {
		old, object *samplecrdv1.NetworkClass
		want        []fault
	}{
		"the policy may change":                      {class(), class(policy(samplecrdv1.DeletionRetain)), nil},
		"the provider may not":                       {class(), class(provider("Carrier")), []fault{unknown("spec.provider"), invalid("spec.provider")}},
		"a VLAN may not be added":                    {class(), class(vlan(100)), []fault{forbidden("spec.multus")}},
		"a VLAN may not be changed":                  {class(vlan(100)), class(vlan(101)), []fault{forbidden("spec.multus")}},
		"a VLAN may not be taken off":                {class(vlan(100)), class(), []fault{forbidden("spec.multus")}},
		"the part of Multus may not be taken off":    {class(), class(noMultus), []fault{required("spec.multus"), forbidden("spec.multus")}},
		"what was missing may be put right":          {class(noMultus), class(), nil},
		"what is missing may stay so":                {class(noMultus), class(noMultus, policy(samplecrdv1.DeletionRetain)), nil},
		"a bad VLAN stays while the policy changes":  {class(vlan(5000)), class(vlan(5000), policy(samplecrdv1.DeletionRetain)), nil},
		"a bad VLAN hides no new fault":              {class(vlan(5000)), class(vlan(5000), policy("Keep")), []fault{unknown("spec.deletionPolicy")}},
		"a bad policy may not become another":        {class(policy("Keep")), class(policy("Hold")), []fault{unknown("spec.deletionPolicy")}},
		"a long bad policy is judged by all of it":   {class(policy(samplecrdv1.DeletionPolicy(long + "a"))), class(policy(samplecrdv1.DeletionPolicy(long + "b"))), []fault{unknown("spec.deletionPolicy")}},
		"a huge provider is not echoed":              {class(), class(provider(samplecrdv1.ProviderType(strings.Repeat(long, 1000))), noMultus), []fault{unknown("spec.provider"), invalid("spec.provider"), forbidden("spec.multus")}},
		"the scope may not be changed":               {class(), class(scope(samplecrdv1.OverlapClass)), []fault{invalid("spec.overlapScope")}},
		"nor taken off":                              {class(scope(samplecrdv1.OverlapNone)), class(scope("")), []fault{unknown("spec.overlapScope"), invalid("spec.overlapScope")}},
		"nor be huge":                                {class(), class(scope(samplecrdv1.OverlapScope(strings.Repeat(long, 1000)))), []fault{unknown("spec.overlapScope"), invalid("spec.overlapScope")}},
		"a scope that was missing may be set":        {class(scope("")), class(scope(samplecrdv1.OverlapClass)), nil},
		"a bad scope stays while the policy changes": {class(scope("x")), class(scope("x"), allows("10.0.0.0/8")), nil},
		"every policy may change": {
			class(allows("10.0.0.0/8"), reserves("10.1.0.0/16"), longest(28, 64), selects("team", "a")),
			class(allows("172.16.0.0/12"), reserves("10.0.0.0/8"), longest(24, 56), selects("team", "b"), clusterRanges(samplecrdv1.ClusterRangesForbid), imports(samplecrdv1.ImportAllowed)), nil,
		},
		"every policy may be taken off":                   {class(allows("10.0.0.0/8"), reserves("10.1.0.0/16"), longest(28, 64), selects("team", "a")), class(), nil},
		"a bad range stays while another field changes":   {class(allows("x")), class(allows("x"), reserves("10.0.0.0/8"), longest(28, 64), selects("team", "a")), nil},
		"a list counts as one field":                      {class(allows("x")), class(allows("x", "10.0.0.0/8")), []fault{invalid("spec.allowedCIDRs[0]")}},
		"a reservation is read by two rules":              {class(allows("10.0.0.0/8"), reserves("10.0.0.0/7")), class(allows("10.0.0.0/8"), reserves("10.0.0.0/6")), []fault{invalid("spec.allowedCIDRs[0]")}},
		"a range wholly reserved stays while that stays":  {class(allows("10.0.0.0/8"), reserves("10.0.0.0/7")), class(allows("10.0.0.0/8"), reserves("10.0.0.0/7"), policy(samplecrdv1.DeletionRetain)), nil},
		"a bad length stays while the other one changes":  {class(longest(33, 64)), class(longest(33, 56)), nil},
		"a bad length may not become another":             {class(longest(33, 64)), class(longest(34, 64)), []fault{invalid("spec.prefixLengths.ipv4.max")}},
		"a bad selector stays while ranges change":        {class(selects("team", "?")), class(selects("team", "?"), clusterRanges(samplecrdv1.ClusterRangesIgnore)), nil},
		"bad ranges of the cluster stay while others do":  {class(clusterRanges("x")), class(clusterRanges("x"), allows("10.0.0.0/8")), nil},
		"bad ranges of the cluster may not become others": {class(clusterRanges("x")), class(clusterRanges("y")), []fault{unknown("spec.clusterRanges")}},
		"a bad import stays while ranges change":          {class(imports("x")), class(imports("x"), allows("10.0.0.0/8")), nil},
		"a bad import may not become another":             {class(imports("x")), class(imports("y")), []fault{unknown("spec.import")}},
		"one bad field hides no fault of another":         {class(allows("x")), class(allows("x"), reserves("y")), []fault{invalid("spec.reservedCIDRs[0]")}},
		"an unknown provider stays while policy changes":  {class(provider("Carrier")), class(provider("Carrier"), policy(samplecrdv1.DeletionRetain)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := (&webhook{}).Validate(tc.object, tc.old, facts{})
			check(t, errs, tc.want)
		})
	}
}

// Host bits are warned of on create, and on every update that changes the spec.
func TestWarnings(t *testing.T) {
	object := class(allows("192.168.1.0/16"), reserves("10.0.0.1/8"))
	for name, old := range map[string]*samplecrdv1.NetworkClass{"a create": nil, "an update of something else": class(allows("192.168.1.0/16"))} {
		t.Run(name, func(t *testing.T) {
			warnings, errs := (&webhook{}).Validate(object, old, facts{})
			check(t, errs, nil)
			if len(warnings) != 2 || !strings.HasPrefix(warnings[0], "spec.allowedCIDRs[0]: ") || !strings.Contains(warnings[1], "write 10.0.0.0/8") {
				t.Errorf("got %q", warnings)
			}
		})
	}
}

// The schema has all defaults of a class; the webhook must not have others.
func TestDefault(t *testing.T) {
	object := &samplecrdv1.NetworkClass{}
	(&webhook{}).Default(object, nil, facts{})
	if !reflect.DeepEqual(object, &samplecrdv1.NetworkClass{}) {
		t.Errorf("got %+v", object)
	}
}

func TestSameSpec(t *testing.T) {
	marked := class()
	marked.Annotations = map[string]string{samplecrdv1.AnnotationIsDefaultClass: "true"}
	if !(&webhook{}).SameSpec(class(vlan(1)), class(vlan(1))) || !(&webhook{}).SameSpec(class(), marked) {
		t.Error("the same spec is another")
	}
	if (&webhook{}).SameSpec(class(), class(vlan(1))) {
		t.Error("another spec is the same")
	}
}
