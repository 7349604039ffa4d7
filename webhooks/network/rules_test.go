package network

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// change edits a spec.
type change func(*samplecrdv1.NetworkSpec)

// network is a Network of 10.0.0.0/24 by 10.0.0.1, changed.
func network(changes ...change) *samplecrdv1.Network {
	n := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x"}}
	n.Spec.CIDR, n.Spec.Gateway = "10.0.0.0/24", "10.0.0.1"
	for _, change := range changes {
		change(&n.Spec)
	}
	return n
}

func cidr(text string) change    { return func(s *samplecrdv1.NetworkSpec) { s.CIDR = text } }
func gateway(text string) change { return func(s *samplecrdv1.NetworkSpec) { s.Gateway = text } }
func className(text string) change {
	return func(s *samplecrdv1.NetworkSpec) { s.NetworkClassName = text }
}
func mtu(bytes int32) change       { return func(s *samplecrdv1.NetworkSpec) { s.MTU = &bytes } }
func servers(all ...string) change { return func(s *samplecrdv1.NetworkSpec) { s.DNSServers = all } }

func policy(p samplecrdv1.DeletionPolicy) change {
	return func(s *samplecrdv1.NetworkSpec) { s.DeletionPolicy = &p }
}

// pools reads "start-end".
func pools(all ...string) change {
	return func(s *samplecrdv1.NetworkSpec) {
		s.AllocationPools = nil
		for _, text := range all {
			start, end, _ := strings.Cut(text, "-")
			s.AllocationPools = append(s.AllocationPools, samplecrdv1.AddressRange{Start: start, End: end})
		}
	}
}

// entries reads "cidr by gateway".
func entries(all ...string) change {
	return func(s *samplecrdv1.NetworkSpec) {
		s.AdditionalSubnets = nil
		for _, text := range all {
			cidr, gateway, _ := strings.Cut(text, " by ")
			s.AdditionalSubnets = append(s.AdditionalSubnets, samplecrdv1.SubnetSpec{CIDR: cidr, Gateway: gateway})
		}
	}
}

func class(name string, policy samplecrdv1.DeletionPolicy) *samplecrdv1.NetworkClass {
	c := &samplecrdv1.NetworkClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.Spec.Provider, c.Spec.Multus = samplecrdv1.ProviderMultus, &samplecrdv1.MultusSpec{Type: samplecrdv1.MultusBridge}
	c.Spec.DeletionPolicy = policy
	return c
}

func TestDefault(t *testing.T) {
	standard := class("standard", samplecrdv1.DeletionRetain)
	for name, tc := range map[string]struct {
		object, old, want *samplecrdv1.Network
		class             *samplecrdv1.NetworkClass
	}{
		"an absent gateway is the first usable address":     {object: network(gateway("")), want: network()},
		"AN-31: of a /127 that is its first address":        {object: network(cidr("2001:db8::/127"), gateway("")), want: network(cidr("2001:db8::/127"), gateway("2001:db8::"))},
		"AN-33: of a range with host bits, the range stays": {object: network(cidr("192.0.2.1/31"), gateway("")), want: network(cidr("192.0.2.1/31"), gateway("192.0.2.0"))},
		"a gateway that is there stays":                     {object: network(gateway("10.0.0.9")), want: network(gateway("10.0.0.9"))},
		"None stays":                                        {object: network(gateway("None")), want: network(gateway("None"))},
		"a bad gateway stays":                               {object: network(gateway("x")), want: network(gateway("x"))},
		"a bad range has no gateway":                        {object: network(cidr("10.0.0/24"), gateway("")), want: network(cidr("10.0.0/24"), gateway(""))},
		"other faults do not keep the gateway from being chosen": {
			object: network(gateway(""), servers("x"), entries("y")), want: network(servers("x"), entries("y")),
		},
		"nothing is filled in inside an entry": {object: network(entries("10.0.1.0/24")), want: network(entries("10.0.1.0/24"))},
		"the default class and its policy": {
			object: network(), class: standard, want: network(className("standard"), policy(samplecrdv1.DeletionRetain)),
		},
		"the policy of a class that is named": {
			object: network(className("standard")), class: standard, want: network(className("standard"), policy(samplecrdv1.DeletionRetain)),
		},
		"a policy that is there stays": {
			object: network(policy(samplecrdv1.DeletionDelete)), class: standard, want: network(className("standard"), policy(samplecrdv1.DeletionDelete)),
		},
		"without a class there is no policy": {object: network(className("missing")), want: network(className("missing"))},
		"a class without a policy has none to give": {
			object: network(), class: class("plain", ""), want: network(className("plain")),
		},
		"without a class a network that is taken over is kept": {object: network(imports("abc")), want: network(imports("abc"), policy(samplecrdv1.DeletionRetain))},
		"whatever the class's policy": {
			object: network(imports("abc")), class: class("standard", samplecrdv1.DeletionDelete),
			want: network(imports("abc"), className("standard"), policy(samplecrdv1.DeletionRetain)),
		},
		"unless the Network says otherwise":     {object: network(imports("abc"), policy(samplecrdv1.DeletionDelete)), want: network(imports("abc"), policy(samplecrdv1.DeletionDelete))},
		"on update of one it is what is stored": {object: network(imports("abc")), old: network(imports("abc"), policy(samplecrdv1.DeletionDelete)), want: network(imports("abc"), policy(samplecrdv1.DeletionDelete))},
		"on update an absent class and policy are what is stored": {
			object: network(mtu(1400)), old: network(className("old"), policy(samplecrdv1.DeletionRetain)), class: class("old", samplecrdv1.DeletionDelete),
			want: network(mtu(1400), className("old"), policy(samplecrdv1.DeletionRetain)),
		},
		"on update the class's policy is not given anew": {object: network(mtu(1400)), old: network(), class: standard, want: network(mtu(1400))},
		"on update a class that is written stays":        {object: network(className("new")), old: network(className("old")), want: network(className("new"))},
		"on update an absent gateway is chosen anew":     {object: network(gateway("")), old: network(gateway("10.0.0.254")), want: network()},
		"neither DHCP nor an MTU is filled in":           {object: network(), class: standard, old: network(), want: network()},
	} {
		t.Run(name, func(t *testing.T) {
			(&webhook{}).Default(tc.object, tc.old, &facts{class: tc.class})
			if !reflect.DeepEqual(tc.object, tc.want) {
				t.Errorf("got %+v, want %+v", tc.object.Spec, tc.want.Spec)
			}
		})
	}
}

// fault is what a test compares of a field.Error.
type fault struct {
	Type  field.ErrorType
	Field string
}

func faultsOf(errs field.ErrorList) []fault {
	var faults []fault
	for _, err := range errs {
		faults = append(faults, fault{err.Type, err.Field})
	}
	return faults
}

func invalid(paths ...string) []fault {
	var faults []fault
	for _, path := range paths {
		faults = append(faults, fault{field.ErrorTypeInvalid, "spec." + path})
	}
	return faults
}

// claimed are the facts where a Network of the same namespace has ranges.
func claimed(cidrs ...string) *facts {
	known := &facts{claims: addressing.NewClaims(), scope: addressing.Scope{Class: "standard", Namespace: "default"}}
	var prefixes []netip.Prefix
	for _, text := range cidrs {
		prefixes = append(prefixes, netip.MustParsePrefix(text))
	}
	rival := addressing.Owner{UID: "rival", NamespacedName: types.NamespacedName{Namespace: "default", Name: "rival"}}
	known.claims.Set(rival, known.scope, prefixes, nil)
	return known
}

// allowing are the facts where the class has a policy.
func allowing(change func(*samplecrdv1.NetworkClass)) *facts {
	standard := class("standard", samplecrdv1.DeletionDelete)
	change(standard)
	known := &facts{class: standard, tenant: addressing.Tenant{Namespace: "default"}}
	known.policy, _ = addressing.ParsePolicy(standard)
	return known
}

func TestValidate(t *testing.T) {
	narrow := allowing(func(c *samplecrdv1.NetworkClass) { c.Spec.AllowedCIDRs = []string{"172.16.0.0/12"} })
	going := allowing(func(c *samplecrdv1.NetworkClass) { c.DeletionTimestamp = &metav1.Time{} })
	plain := allowing(func(*samplecrdv1.NetworkClass) {})
	importer := allowing(func(c *samplecrdv1.NetworkClass) { c.Spec.Import = samplecrdv1.ImportAllowed })
	foreign := allowing(func(c *samplecrdv1.NetworkClass) {
		c.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "blue"}}
	})

	rival := claimed("10.0.0.0/16")
	for name, tc := range map[string]struct {
		object *samplecrdv1.Network
		facts  *facts
		want   []fault
	}{
		"a sound one":                           {network(), &facts{}, nil},
		"a bad range":                           {network(cidr("x")), &facts{}, invalid("cidr")},
		"every fault at once":                   {network(cidr("x"), gateway("y"), mtu(1)), &facts{}, invalid("cidr", "gateway", "mtu")},
		"a range of another Network":            {network(), rival, invalid("cidr")},
		"a range that the class does not allow": {network(), narrow, invalid("cidr")},
		"an import that it does not allow":      {network(imports("abc")), plain, []fault{{field.ErrorTypeForbidden, "spec.importID"}}},
		"an import that it allows":              {network(imports("abc")), importer, nil},
		"an import without a class":             {network(imports("abc")), &facts{}, nil},
		"an id that is none":                    {network(imports("a/b")), importer, invalid("importID")},
		"a namespace that is told nothing else": {network(imports("abc")), foreign, invalid("networkClassName")},
		"a namespace that it does not select":   {network(), foreign, invalid("networkClassName")},
		"a class that is being deleted":         {network(), going, invalid("networkClassName")},
		"a class of a bad name":                 {network(className("Not A Name")), &facts{}, invalid("networkClassName")},
		"a class of a long name":                {network(className(strings.Repeat("x", 254))), &facts{}, []fault{{field.ErrorTypeTooLong, "spec.networkClassName"}}},
		"a class of a name that is just right":  {network(className(strings.Repeat("x", 253))), &facts{}, nil},
		"a policy of no known name":             {network(policy("Keep")), &facts{}, []fault{{field.ErrorTypeNotSupported, "spec.deletionPolicy"}}},
		"an empty policy":                       {network(policy("")), &facts{}, []fault{{field.ErrorTypeNotSupported, "spec.deletionPolicy"}}},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, errs := (&webhook{}).Validate(tc.object, nil, tc.facts)
			if got := faultsOf(errs); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", errs, tc.want)
			}
			if len(errs) > 0 && len(warnings) > 0 {
				t.Errorf("a refusal warns as well: %q", warnings)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	known := class("standard", samplecrdv1.DeletionDelete)
	long := strings.Join([]string{strings.Repeat("a", 63), strings.Repeat("b", 63), strings.Repeat("c", 63), strings.Repeat("d", 61)}, ".")
	limits := addressing.Limits{Backend: "host-local", LongestIPv4: 30, NoDHCP: true}
	for name, tc := range map[string]struct {
		object *samplecrdv1.Network
		facts  *facts
		want   []string // what each warning holds
	}{
		"nothing to warn of":                {network(className("standard")), &facts{class: known, limits: limits}, nil},
		"no class at all":                   {network(), &facts{}, nil},
		"host bits":                         {network(cidr("192.168.1.0/16"), gateway("192.168.1.1")), &facts{}, []string{"192.168.0.0/16"}},
		"AN-34: what the backend cannot do": {network(cidr("203.0.113.7/32"), gateway("203.0.113.7"), className("standard")), &facts{class: known, limits: limits}, []string{"host-local"}},
		"a class that is not there":         {network(className("missing")), &facts{}, []string{"NetworkClass missing"}},
		"all of them": {
			network(cidr("192.0.2.1/31"), gateway("192.0.2.1"), className("missing")), &facts{limits: limits}, []string{"192.0.2.0/31", "host-local", "missing"},
		},
		"WO-18: the longest name of a class": {network(className(long)), &facts{}, []string{"NetworkClass"}},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, errs := (&webhook{}).Validate(tc.object, nil, tc.facts)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if len(warnings) != len(tc.want) {
				t.Fatalf("got %q, want %d", warnings, len(tc.want))
			}
			for i, want := range tc.want {
				if !strings.Contains(warnings[i], want) || len(warnings[i]) > 256 || strings.HasPrefix(warnings[i], "Warning") {
					t.Errorf("%d characters, want %q in it: %q", len(warnings[i]), want, warnings[i])
				}
			}
		})
	}
}

func TestSameSpec(t *testing.T) {
	empty := network()
	empty.Spec.Routes, empty.Spec.DNSServers = []samplecrdv1.Route{}, []string{}
	labelled := network()
	labelled.Labels, labelled.Finalizers, labelled.Status.ObservedGeneration = map[string]string{"a": "b"}, []string{"f"}, new(int64(3))
	for name, tc := range map[string]struct {
		other *samplecrdv1.Network
		want  bool
	}{
		"the same":                            {network(), true},
		"empty lists are none":                {empty, true},
		"labels, finalizers, status":          {labelled, true},
		"another spelling is another spec":    {network(cidr("10.0.0.1/24")), false},
		"another pointer to the same is none": {network(mtu(1500)), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&webhook{}).SameSpec(network(), tc.other); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// text joins messages, for the cases that are about them.
func text(errs field.ErrorList) string { return fmt.Sprint(errs.ToAggregate()) }
