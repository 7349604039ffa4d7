// Package providertest is the contract of providers.Provider as a suite. Every
// backend passes it; a new one is done when it does.
package providertest

import (
	"net/netip"
	"strings"
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
	// SetUsers makes a subnet used, or free again with no users. It is nil where the
	// backend does not know its users and carries out every change at once.
	SetUsers func(t *testing.T, id providers.Identity, prefix netip.Prefix, users ...string)
	// Named gives what a user that SetUsers made is called in a status; nil where it is
	// called as SetUsers was told.
	Named func(t *testing.T, id providers.Identity, user string) string
	// SharesNames says that the backend can hold several networks of one name, so that
	// a foreign one is never in the way.
	SharesNames bool
	// Writes counts the provider's writes to the backend since the beginning.
	Writes func() int
}

// Run runs the suite. Every case has a Harness of its own.
func Run(t *testing.T, harness func(t *testing.T) Harness) {
	t.Helper()
	for _, group := range []map[string]func(*testing.T, Harness){ensuring, shaping, changing, draining, deleting, keepingApart, failing} {
		for name, test := range group {
			t.Run(name, func(t *testing.T) { test(t, harness(t)) })
		}
	}
}

// plan is what a Network with this range and gateway asks for.
func plan(t *testing.T, cidr, gateway string) addressing.Plan {
	t.Helper()
	return planOf(t, samplecrdv1.NetworkSpec{CIDR: cidr, Gateway: gateway})
}

func planOf(t *testing.T, spec samplecrdv1.NetworkSpec) addressing.Plan {
	t.Helper()
	plan, errs := addressing.Parse(&spec, field.NewPath("spec"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return plan
}

// with is a plan with gateways of its own of the given ranges, in order.
func with(t *testing.T, cidrs ...string) addressing.Plan {
	t.Helper()
	spec := samplecrdv1.NetworkSpec{CIDR: cidrs[0]}
	for _, cidr := range cidrs[1:] {
		spec.AdditionalSubnets = append(spec.AdditionalSubnets, samplecrdv1.SubnetSpec{CIDR: cidr})
	}
	return planOf(t, spec)
}

// serves says whether the backend can serve plan, by its own account.
func serves(t *testing.T, h Harness, plan addressing.Plan) bool {
	t.Helper()
	forbidden := h.Provider.Limits(h.Class).Forbids(plan)
	if len(forbidden) > 0 {
		t.Logf("Not asked for: %s", strings.Join(forbidden, "; "))
	}
	return len(forbidden) == 0
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
