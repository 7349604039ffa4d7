// Package providertest is the contract of providers.Provider as a suite. Every
// backend passes it; a new one is done when it does.
package providertest

import (
	"fmt"
	"net/netip"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// Harness is how the suite reaches behind a provider.
type Harness struct {
	// Provider is what is tested.
	Provider providers.Provider
	// Class is the class whose networks are made.
	Class *samplecrdv1.NetworkClassSpec
	// NewIdentity gives a Network that does not exist yet, in a namespace that does.
	NewIdentity func(t *testing.T) providers.Identity
	// Held reads from the backend itself the networks that carry the mark of id.
	Held func(t *testing.T, id providers.Identity) []Held
	// LeftBehind reads those of id's name that carry nobody's mark.
	LeftBehind func(t *testing.T, id providers.Identity) []Held
	// SetForeign puts somebody else's network in the place of id's name, or takes it
	// away.
	SetForeign func(t *testing.T, id providers.Identity, there bool)
	// ForeignIntact says that the foreign network is as SetForeign made it.
	ForeignIntact func(t *testing.T, id providers.Identity) bool
	// Tamper changes what the backend holds of id behind the provider's back, and
	// returns when the provider can have seen it. Remove does away with it.
	Tamper, Remove func(t *testing.T, id providers.Identity)
	// Writes counts the provider's writes to the backend since the beginning.
	Writes func() int
}

// Held is a network as a backend has it.
type Held struct {
	// ID is the backend's name for it.
	ID string
	// Subnets are its address ranges, in order.
	Subnets []Subnet
}

// Subnet is an address range of a Held; Gateway is the zero Addr without one.
type Subnet struct {
	Prefix  netip.Prefix
	Gateway netip.Addr
}

// Run runs the suite. Every case has a Harness of its own.
func Run(t *testing.T, harness func(t *testing.T) Harness) {
	t.Helper()
	for _, group := range []map[string]func(*testing.T, Harness){ensuring, deleting, keepingApart, failing} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) { test(t, harness(t)) })
		}
	}
}

// plan is what a Network with this range and gateway asks for.
func plan(t *testing.T, cidr, gateway string) addressing.Plan {
	t.Helper()
	spec := &samplecrdv1.NetworkSpec{CIDR: cidr, Gateway: gateway}
	plan, errs := addressing.Parse(spec, field.NewPath("spec"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return plan
}

// ensure calls Ensure, which must succeed.
func ensure(t *testing.T, h Harness, id providers.Identity, plan addressing.Plan) providers.Observed {
	t.Helper()
	observed, err := h.Provider.Ensure(t.Context(), id, h.Class, plan)
	if err != nil {
		t.Fatalf("Ensure: %v", err)
	}
	if observed.ID == "" {
		t.Error("Ensure gives no id")
	}
	return observed
}

// checkHeld holds the backend to exactly one network of id, and to plan.
func checkHeld(t *testing.T, h Harness, id providers.Identity, plan addressing.Plan) {
	t.Helper()
	held := h.Held(t, id)
	if len(held) != 1 {
		t.Fatalf("the backend holds %d networks of %s, want one: %v", len(held), id, held)
	}
	if err := compare(held[0], plan); err != nil {
		t.Error(err)
	}
}

func compare(held Held, plan addressing.Plan) error {
	var want []Subnet
	for _, subnet := range plan.Subnets {
		want = append(want, Subnet{Prefix: subnet.Prefix, Gateway: subnet.Gateway})
	}
	if !reflect.DeepEqual(held.Subnets, want) {
		return fmt.Errorf("the backend holds %v, want %v", held.Subnets, want)
	}
	return nil
}

func checkNothingHeld(t *testing.T, h Harness, id providers.Identity) {
	t.Helper()
	if held := h.Held(t, id); len(held) > 0 {
		t.Errorf("the backend holds %v, want nothing", held)
	}
}

// checkReason holds err to a reason of the condition Programmed.
func checkReason(t *testing.T, err error, reason string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", reason)
	}
	if got := providers.AsError(err).Reason; got != reason {
		t.Errorf("the reason is %s, want %s: %v", got, reason, err)
	}
}
