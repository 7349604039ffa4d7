package network

import (
	"cmp"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// The fields of a manager who wrote the gateway, and of one who did not.
const (
	withGateway    = `{"f:spec":{".":{},"f:cidr":{},"f:gateway":{}}}`
	withoutGateway = `{"f:spec":{".":{},"f:cidr":{}}}`
)

func manager(operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: "somebody", Operation: operation, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

func managed(n *samplecrdv1.Network, entries ...metav1.ManagedFieldsEntry) *samplecrdv1.Network {
	n.ManagedFields = entries
	return n
}

// applied gives n the manifest of its last client-side apply.
func applied(n *samplecrdv1.Network, manifest string) *samplecrdv1.Network {
	n.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: manifest}
	return n
}

// Rule 4: a gateway that only the webhook wrote moves with the range, one that
// somebody wrote does not.
func TestGatewayWhenTheRangeMoves(t *testing.T) {
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	status := manager(update, withGateway)
	status.Subresource = "status"
	for name, tc := range map[string]struct {
		old, object *samplecrdv1.Network
		want        string // the gateway; "" when the update is refused
	}{
		"nobody wrote it, client-side apply: chosen anew":                     {managed(network(), manager(update, withoutGateway)), network(cidr("10.0.1.0/24")), "10.0.1.1"},
		"nobody wrote it, server-side apply: chosen anew":                     {managed(network(), manager(apply, withoutGateway)), network(cidr("10.0.1.0/24")), "10.0.1.1"},
		"nobody wrote it, to the other family":                                {managed(network(), manager(update, withoutGateway)), network(cidr("2001:db8::/64")), "2001:db8::1"},
		"it is the new broadcast address: chosen anew":                        {managed(network(gateway("10.0.0.127")), manager(update, withoutGateway)), network(cidr("10.0.0.0/25"), gateway("10.0.0.127")), "10.0.0.1"},
		"it still fits: it stays":                                             {managed(network(), manager(update, withoutGateway)), network(cidr("10.0.0.0/16")), "10.0.0.1"},
		"None fits everywhere":                                                {managed(network(gateway("None")), manager(update, withoutGateway)), network(cidr("10.0.1.0/24"), gateway("None")), "None"},
		"the user removed it: chosen anew":                                    {managed(network(), manager(update, withGateway)), network(cidr("10.0.1.0/24"), gateway("")), "10.0.1.1"},
		"the user set a fitting one: it stays":                                {managed(network(), manager(update, withoutGateway)), network(cidr("10.0.1.0/24"), gateway("10.0.1.9")), "10.0.1.9"},
		"AN-09: the user wrote it: refused":                                   {managed(network(), manager(update, withGateway)), network(cidr("10.0.1.0/24")), ""},
		"the user applied it: refused":                                        {managed(network(), manager(apply, withGateway)), network(cidr("10.0.1.0/24")), ""},
		"one of two managers wrote it: refused":                               {managed(network(), manager(apply, withoutGateway), manager(update, withGateway)), network(cidr("10.0.1.0/24")), ""},
		"the user sets another that does not fit":                             {managed(network(), manager(update, withoutGateway)), network(cidr("10.0.1.0/24"), gateway("10.0.2.1")), ""},
		"fields that cannot be read may hold it: refused":                     {managed(network(), manager(update, `{"f:spec":`)), network(cidr("10.0.1.0/24")), ""},
		"with nobody's fields nobody can tell: refused":                       {managed(network()), network(cidr("10.0.1.0/24")), ""},
		"who writes the status writes no gateway":                             {managed(network(), status, manager(update, withoutGateway)), network(cidr("10.0.1.0/24")), "10.0.1.1"},
		"the manifest of a client-side apply repeats the chosen one: refused": {managed(network(), manager(update, withoutGateway)), applied(network(cidr("10.0.1.0/24")), `{"spec":{"cidr":"10.0.1.0/24","gateway":"10.0.0.1"}}`), ""},
		"the manifest of a client-side apply has none: chosen anew":           {managed(network(), manager(update, withoutGateway)), applied(network(cidr("10.0.1.0/24")), `{"spec":{"cidr":"10.0.1.0/24"}}`), "10.0.1.1"},
		"a manifest that cannot be read tells nothing":                        {managed(network(), manager(update, withoutGateway)), applied(network(cidr("10.0.1.0/24")), `{`), "10.0.1.1"},
		"this very update writes it: refused":                                 {managed(network(), manager(update, withoutGateway)), managed(network(cidr("10.0.1.0/24")), manager(update, withoutGateway), manager(apply, withGateway)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.object.ManagedFields == nil {
				// The update itself wrote the range alone.
				tc.object.ManagedFields = tc.old.ManagedFields
			}
			known, written := &facts{}, tc.object.Spec.Gateway
			(&webhook{}).Default(tc.object, tc.old, known)
			_, errs := (&webhook{}).Validate(tc.object, tc.old, known)
			if tc.want != "" {
				if len(errs) > 0 || tc.object.Spec.Gateway != tc.want {
					t.Errorf("got %q, %v; want %q", tc.object.Spec.Gateway, errs, tc.want)
				}
				return
			}
			if got := faultsOf(errs); !reflect.DeepEqual(got, invalid("gateway")) {
				t.Errorf("got %v, want one invalid spec.gateway", errs)
			}
			if tc.object.Spec.Gateway != written {
				t.Errorf("what the user wrote became %q", tc.object.Spec.Gateway)
			}
		})
	}
}

func TestMessageOfAGatewayLeftBehind(t *testing.T) {
	old := managed(network(), manager(metav1.ManagedFieldsOperationUpdate, withGateway))
	_, errs := (&webhook{}).Validate(network(cidr("10.0.1.0/24")), old, &facts{})
	for _, want := range []string{`"10.0.0.1"`, "not inside 10.0.1.0/24", "use an address from 10.0.1.1 to 10.0.1.254", "remove it"} {
		if !strings.Contains(text(errs), want) {
			t.Errorf("%q does not say %q", text(errs), want)
		}
	}
}

// A range that cannot be read leaves the gateway alone, whoever wrote it.
func TestGatewayBesideABadRange(t *testing.T) {
	old, object := managed(network(), manager(metav1.ManagedFieldsOperationUpdate, withoutGateway)), network(cidr("10.0.1/24"))
	(&webhook{}).Default(object, old, &facts{})
	if object.Spec.Gateway != "10.0.0.1" {
		t.Errorf("it became %q", object.Spec.Gateway)
	}
}

// The same sentence, whether the user wrote the gateway or it was chosen: they
// must not look in their manifest for what is not there.
func TestMessageNamesAChosenGateway(t *testing.T) {
	for name, tc := range map[string]struct{ gateway, want string }{
		"one that was written": {"10.0.0.1", "must not hold the gateway 10.0.0.1;"},
		"one that was chosen":  {"", "must not hold the gateway, which is chosen since none is set, 10.0.0.1;"},
	} {
		t.Run(name, func(t *testing.T) {
			object, known := network(gateway(tc.gateway), pools("10.0.0.1-10.0.0.9")), &facts{}
			(&webhook{}).Default(object, nil, known)
			_, errs := (&webhook{}).Validate(object, nil, known)
			if got := faultsOf(errs); !reflect.DeepEqual(got, invalid("allocationPools[0]")) {
				t.Fatalf("got %v", errs)
			}
			if got := errs[0].Detail; !strings.Contains(got, tc.want) {
				t.Errorf("%q does not say %q", got, tc.want)
			}
			if object.Spec.Gateway != "10.0.0.1" {
				t.Errorf("the object's gateway is %q", object.Spec.Gateway)
			}
		})
	}
}

// Rule 8: what is stored already never blocks a change of something else.
func TestRatcheting(t *testing.T) {
	rival := claimed("10.0.0.0/16")
	narrow := allowing(func(c *samplecrdv1.NetworkClass) { c.Spec.AllowedCIDRs = []string{"172.16.0.0/12"} })
	going := allowing(func(c *samplecrdv1.NetworkClass) { c.DeletionTimestamp = &metav1.Time{} })
	plain := allowing(func(*samplecrdv1.NetworkClass) {})
	unsupported := []fault{{field.ErrorTypeNotSupported, "spec.deletionPolicy"}}
	for name, tc := range map[string]struct {
		old, object *samplecrdv1.Network
		facts       *facts
		want        []fault
	}{
		"a bad range stays while the MTU changes":             {network(cidr("x")), network(cidr("x"), mtu(1400)), nil, nil},
		"a bad range may become a good one":                   {network(cidr("x")), network(), nil, nil},
		"a bad range may not become another bad one":          {network(cidr("x")), network(cidr("y")), nil, invalid("cidr")},
		"a good range may not become a bad one":               {network(), network(cidr("x")), nil, invalid("cidr")},
		"a gateway outside stays while servers change":        {network(gateway("10.9.9.9")), network(gateway("10.9.9.9"), servers("192.0.2.53")), nil, nil},
		"a gateway of bad text stays while the range changes": {network(gateway("x")), network(gateway("x"), mtu(1400)), nil, nil},
		"a gateway outside may not become another":            {network(gateway("10.9.9.9")), network(gateway("10.9.9.8")), nil, invalid("gateway")},
		"a bad pool stays while the MTU changes":              {network(pools("x-y")), network(pools("x-y"), mtu(1400)), nil, nil},
		"a list counts as one: a bad pool with another added": {network(pools("x-10.0.0.9")), network(pools("x-10.0.0.9", "10.0.0.20-10.0.0.29")), nil, invalid("allocationPools[0].start")},
		"a list counts as one: a bad pool with one taken off": {network(pools("x-10.0.0.9", "10.0.0.20-10.0.0.29")), network(pools("x-10.0.0.9")), nil, invalid("allocationPools[0].start")},
		"a list counts as one: bad servers in another order":  {network(servers("x", "192.0.2.53")), network(servers("192.0.2.53", "x")), nil, invalid("dnsServers[1]")},
		"another list does not count":                         {network(servers("x")), network(servers("x"), pools("10.0.0.20-10.0.0.29")), nil, nil},
		"a pool with the gateway, and another gateway":        {network(pools("10.0.0.1-10.0.0.9")), network(pools("10.0.0.1-10.0.0.9"), gateway("10.0.0.2")), nil, invalid("allocationPools[0]")},
		"a pool outside, and another range":                   {network(pools("10.9.0.1-10.9.0.9")), network(cidr("10.0.0.0/16"), pools("10.9.0.1-10.9.0.9")), nil, invalid("allocationPools[0].start", "allocationPools[0].end")},
		"a pool upside down reads no range":                   {network(pools("10.0.0.9-10.0.0.8")), network(cidr("10.0.0.0/16"), pools("10.0.0.9-10.0.0.8")), nil, nil},
		"an entry outside stays while the range moves":        {network(entries("10.1.0.0/24 by 10.9.9.9")), network(cidr("10.0.0.0/25"), entries("10.1.0.0/24 by 10.9.9.9")), nil, nil},
		"entries count as one":                                {network(entries("x")), network(entries("x", "10.1.0.0/24")), nil, invalid("additionalSubnets[0].cidr")},
		"subnets that overlap, and another range":             {network(entries("10.0.0.0/25")), network(cidr("10.0.0.0/16"), entries("10.0.0.0/25")), nil, invalid("additionalSubnets[0].cidr")},
		"subnets that overlap, and another MTU":               {network(entries("10.0.0.0/25")), network(entries("10.0.0.0/25"), mtu(1400)), nil, nil},
		"an MTU too small for IPv6 that is added":             {network(mtu(1000)), network(mtu(1000), entries("2001:db8::/64")), nil, invalid("mtu")},
		"an overlap stays while the MTU changes":              {network(), network(mtu(1400)), rival, nil},
		"an overlap may not move":                             {network(), network(cidr("10.0.1.0/24"), gateway("10.0.1.1")), rival, invalid("cidr")},
		"a range no longer allowed, and another MTU":          {network(), network(mtu(1400)), narrow, nil},
		"a range no longer allowed, and another such":         {network(), network(cidr("10.0.1.0/24"), gateway("10.0.1.1")), narrow, invalid("cidr")},
		"a range no longer allowed may become a good one":     {network(), network(cidr("172.16.1.0/24"), gateway("172.16.1.1")), narrow, nil},
		"a class being deleted, and another range":            {network(className("standard")), network(className("standard"), cidr("10.0.1.0/24"), gateway("10.0.1.1")), going, nil},
		"a class being deleted may not be joined":             {network(), network(className("standard")), going, invalid("networkClassName")},
		"a class of bad name stays while the MTU changes":     {network(className("X_")), network(className("X_"), mtu(1400)), nil, nil},
		"a policy of bad name stays while the MTU changes":    {network(policy("Keep")), network(policy("Keep"), mtu(1400)), nil, nil},
		"a policy of bad name may not become another":         {network(policy("Keep")), network(policy("Hold")), nil, unsupported},
		"an import no longer allowed, and another MTU":        {network(imports("abc")), network(imports("abc"), mtu(1400)), plain, nil},
		"an import, and a class that does not allow it":       {network(imports("abc")), network(imports("abc"), className("standard")), plain, []fault{{field.ErrorTypeForbidden, "spec.importID"}}},
		"a bad id stays while the MTU changes":                {network(imports("a/b")), network(imports("a/b"), mtu(1400)), nil, nil},
		"only what is new is refused":                         {network(cidr("x")), network(cidr("x"), mtu(1)), nil, invalid("mtu")},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := (&webhook{}).Validate(tc.object, tc.old, cmp.Or(tc.facts, &facts{}))
			if got := faultsOf(errs); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", errs, tc.want)
			}
		})
	}
}

// A long bad value is judged by all of it, not by what a message shows of it.
func TestRatchetingOfLongValues(t *testing.T) {
	long := strings.Repeat("x", 64)
	old, object := network(policy(samplecrdv1.DeletionPolicy(long+"a"))), network(policy(samplecrdv1.DeletionPolicy(long+"b")))
	if _, errs := (&webhook{}).Validate(object, old, &facts{}); len(errs) != 1 {
		t.Errorf("got %v, want one fault", errs)
	}
}

func TestClassCannotBeChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		old, object string
		want        []fault
	}{
		"set once":              {"", "a", nil},
		"the same":              {"a", "a", nil},
		"never set":             {"", "", nil},
		"changed":               {"a", "b", invalid("networkClassName")},
		"taken away":            {"a", "", invalid("networkClassName")},
		"changed to a bad name": {"a", "B_", invalid("networkClassName", "networkClassName")},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := (&webhook{}).Validate(network(className(tc.object)), network(className(tc.old)), &facts{})
			if got := faultsOf(errs); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", errs, tc.want)
			}
		})
	}
	t.Run("the message names the one it has", func(t *testing.T) {
		_, errs := (&webhook{}).Validate(network(className("b")), network(className("a")), &facts{})
		if !strings.Contains(text(errs), "write a,") {
			t.Errorf("got %q", text(errs))
		}
	})
	t.Run("a megabyte is not echoed", func(t *testing.T) {
		_, errs := (&webhook{}).Validate(network(className(strings.Repeat("b", 1<<20))), network(className("a")), &facts{})
		if len(errs) == 0 || len(text(errs)) > 1000 {
			t.Errorf("%d faults, the message has %d characters", len(errs), len(text(errs)))
		}
	})
}

// WO-13: an object that is being deleted has no licence to become nonsense.
func TestTerminating(t *testing.T) {
	old, object := network(), network(cidr("nonsense/99"))
	now := metav1.Now()
	old.DeletionTimestamp, object.DeletionTimestamp = &now, &now
	if _, errs := (&webhook{}).Validate(object, old, &facts{}); !reflect.DeepEqual(faultsOf(errs), invalid("cidr")) {
		t.Errorf("got %v", errs)
	}
}
