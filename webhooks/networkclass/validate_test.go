package networkclass

import (
	"reflect"
	"strings"
	"testing"

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
		"the sample":                   {class(), nil},
		"a VLAN":                       {class(vlan(100)), nil},
		"the first VLAN":               {class(vlan(1)), nil},
		"the last VLAN":                {class(vlan(4094)), nil},
		"Retain":                       {class(policy(samplecrdv1.DeletionRetain)), nil},
		"no provider":                  {class(provider("")), []fault{required("spec.provider")}},
		"a provider that is not there": {class(provider("Neutron"), noMultus), []fault{unknown("spec.provider")}},
		"a provider in lower case":     {class(provider("multus")), []fault{unknown("spec.provider")}},
		"a huge provider":              {class(provider(samplecrdv1.ProviderType(huge))), []fault{unknown("spec.provider")}},
		"Multus without its part":      {class(noMultus), []fault{required("spec.multus")}},
		"no type":                      {class(multus(func(m *samplecrdv1.MultusSpec) { m.Type = "" })), []fault{required("spec.multus.type")}},
		"a type that is not there yet": {class(multus(func(m *samplecrdv1.MultusSpec) { m.Type = "Macvlan" })), []fault{unknown("spec.multus.type")}},
		"an IPAM that is not there":    {class(multus(func(m *samplecrdv1.MultusSpec) { m.IPAM = "Whereabouts" })), []fault{unknown("spec.multus.ipam")}},
		"VLAN 0":                       {class(vlan(0)), []fault{invalid("spec.multus.vlanID")}},
		"VLAN 4095":                    {class(vlan(4095)), []fault{invalid("spec.multus.vlanID")}},
		"a policy of no known name":    {class(policy("Keep")), []fault{unknown("spec.deletionPolicy")}},
		"every fault at once": {
			class(policy("Keep"), multus(func(m *samplecrdv1.MultusSpec) { m.Type, m.IPAM, m.VLANID = "x", "y", new(int32(-1)) })),
			[]fault{unknown("spec.multus.type"), invalid("spec.multus.vlanID"), unknown("spec.multus.ipam"), unknown("spec.deletionPolicy")},
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
		"the policy may change":                          {class(), class(policy(samplecrdv1.DeletionRetain)), nil},
		"the provider may not":                           {class(), class(provider("Neutron")), []fault{unknown("spec.provider"), invalid("spec.provider")}},
		"a VLAN may not be added":                        {class(), class(vlan(100)), []fault{forbidden("spec.multus")}},
		"a VLAN may not be changed":                      {class(vlan(100)), class(vlan(101)), []fault{forbidden("spec.multus")}},
		"a VLAN may not be taken off":                    {class(vlan(100)), class(), []fault{forbidden("spec.multus")}},
		"the part of Multus may not be taken off":        {class(), class(noMultus), []fault{required("spec.multus"), forbidden("spec.multus")}},
		"what was missing may be put right":              {class(noMultus), class(), nil},
		"what is missing may stay so":                    {class(noMultus), class(noMultus, policy(samplecrdv1.DeletionRetain)), nil},
		"a bad VLAN stays while the policy changes":      {class(vlan(5000)), class(vlan(5000), policy(samplecrdv1.DeletionRetain)), nil},
		"a bad VLAN hides no new fault":                  {class(vlan(5000)), class(vlan(5000), policy("Keep")), []fault{unknown("spec.deletionPolicy")}},
		"a bad policy may not become another":            {class(policy("Keep")), class(policy("Hold")), []fault{unknown("spec.deletionPolicy")}},
		"a long bad policy is judged by all of it":       {class(policy(samplecrdv1.DeletionPolicy(long + "a"))), class(policy(samplecrdv1.DeletionPolicy(long + "b"))), []fault{unknown("spec.deletionPolicy")}},
		"an unknown provider stays while policy changes": {class(provider("Neutron")), class(provider("Neutron"), policy(samplecrdv1.DeletionRetain)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := (&webhook{}).Validate(tc.object, tc.old, facts{})
			check(t, errs, tc.want)
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
