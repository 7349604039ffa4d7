package neutron

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/test/faults"
	servers "github.com/samplecrd/samplecrd/test/openstack"
)

// The seed's Network, and its update.
var (
	seed   = samplecrdv1.NetworkSpec{CIDR: "192.168.1.0/16", Gateway: "192.168.1.1"}
	update = samplecrdv1.NetworkSpec{CIDR: "192.168.1.0/16", Gateway: "192.168.1.254"}
)

// new gives a Network that nothing can be there of.
func (b *backend) new(t testing.TB) providers.Identity {
	id := b.identity(t)
	id.New = true
	return id
}

// ensures makes the network of id as plan says, and gives what it learned.
func (b *backend) ensures(t *testing.T, id providers.Identity, plan addressing.Plan) providers.Observed {
	t.Helper()
	seen, err := b.Ensure(t.Context(), id, class(), plan)
	if err != nil {
		t.Fatalf("Ensure: %v", err)
	}
	return seen
}

// asked are the requests to Neutron of a call, as "METHOD what".
func (b *backend) asked(call func()) []string {
	before := len(b.calls.Calls())
	call()
	var all []string
	for _, c := range b.calls.Calls()[before:] {
		if onNeutron(c) {
			kind, _, _ := strings.Cut(strings.TrimPrefix(c.Path, "/v2.0/"), "/")
			all = append(all, c.Method+" "+kind)
		}
	}
	return all
}

func (b *backend) checkAsks(t *testing.T, what string, call func(), want ...string) {
	t.Helper()
	if got := b.asked(call); !slices.Equal(got, want) {
		t.Errorf("%s asks for %q, want %q", what, got, want)
	}
}

func TestCalls(t *testing.T) {
	b := newBackend(t, nil)
	id := b.new(t)
	var made, changed providers.Observed
	b.checkAsks(t, "a new Network", func() { made = b.ensures(t, id, planOf(t, seed)) }, "POST networks", "POST subnets")
	id.New, id.Recorded = false, made.ID
	b.checkAsks(t, "the same again", func() {
		for range 10 {
			b.ensures(t, id, planOf(t, seed))
		}
	})
	b.checkAsks(t, "the seed's update", func() { changed = b.ensures(t, id, planOf(t, update)) },
		"GET networks", "GET subnets", "PUT subnets")
	prefix := netip.MustParsePrefix("192.168.0.0/16")
	if made.SubnetIDs[prefix] == "" || changed.SubnetIDs[prefix] != made.SubnetIDs[prefix] || changed.ID != made.ID {
		t.Errorf("the ids were %+v and are %+v", made, changed)
	}
	now, err := subnets.Get(t.Context(), b.eye, changed.SubnetIDs[prefix]).Extract()
	if err != nil {
		t.Fatal(err)
	}
	pools := []subnets.AllocationPool{{Start: "192.168.0.1", End: "192.168.1.253"}, {Start: "192.168.1.255", End: "192.168.255.254"}}
	slices.SortFunc(now.AllocationPools, func(a, b subnets.AllocationPool) int { return strings.Compare(a.Start, b.Start) })
	if now.GatewayIP != "192.168.1.254" || !slices.Equal(now.AllocationPools, pools) {
		t.Errorf("the subnet is %+v", now)
	}
	b.checkAsks(t, "a sweep", func() { b.sees(t) }, "GET networks", "GET subnets")
	b.checkAsks(t, "after a sweep", func() { b.ensures(t, id, planOf(t, update)) })
	// Neutron counts a network's revision up with its subnets': we know.
	b.ensures(t, id, planOf(t, samplecrdv1.NetworkSpec{CIDR: "192.168.0.0/17", MTU: new(int32(1400)), AdditionalSubnets: []samplecrdv1.SubnetSpec{{CIDR: "fd00:1::/64"}}}))
	if refused := b.count(func(c faults.Call) bool { return c.Code == http.StatusPreconditionFailed }); refused > 0 {
		t.Errorf("%d requests met a revision of our own making", refused)
	}
	b.ensures(t, id, planOf(t, samplecrdv1.NetworkSpec{CIDR: "192.168.0.0/17", MTU: new(int32(1400))}))
	b.checkAsks(t, "Delete", func() {
		if err := b.Delete(t.Context(), id, class()); err != nil {
			t.Error(err)
		}
	}, "GET networks", "GET subnets", "GET ports", "DELETE subnets", "DELETE networks")
	b.checkAsks(t, "Delete of what is gone", func() {
		if err := b.Delete(t.Context(), id, class()); err != nil {
			t.Error(err)
		}
	}, "GET networks", "GET networks") // By its mark, and by its id.
	if b.tokens() != 1 {
		t.Errorf("%d tokens", b.tokens())
	}
}

// TestCallsOfARestart: a new process learns of all Networks by one list, not by one each.
func TestCallsOfARestart(t *testing.T) {
	b := newBackend(t, nil)
	var ids []providers.Identity
	for range 5 {
		id := b.new(t)
		id.Recorded = b.ensures(t, id, planOf(t, seed)).ID
		id.New = false
		ids = append(ids, id)
	}
	again := b.restarted(nil)
	again.checkAsks(t, "five Networks after a restart", func() {
		for _, id := range ids {
			if again.ensures(t, id, planOf(t, seed)).Changed {
				t.Error("something has changed")
			}
		}
	}, "GET networks", "GET subnets")
}

func TestOneTokenForAll(t *testing.T) {
	b := newBackend(t, nil)
	b.together(t, 16, seed)
	if b.tokens() != 1 {
		t.Errorf("%d tokens for 16 Networks", b.tokens())
	}
}

// together makes so many Networks, atOnce of them at once.
func (b *backend) together(t *testing.T, count int, spec samplecrdv1.NetworkSpec) {
	t.Helper()
	plan := planOf(t, spec)
	var all sync.WaitGroup
	hands := make(chan struct{}, atOnce)
	for range count {
		id := b.new(t)
		all.Go(func() {
			hands <- struct{}{}
			defer func() { <-hands }()
			if _, err := b.Ensure(t.Context(), id, class(), plan); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestOneAuthenticationForAllWhenTheTokenEnds(t *testing.T) {
	b := newBackend(t, nil)
	b.ensures(t, b.new(t), planOf(t, seed))
	if b.tokens() != 1 {
		t.Fatalf("%d tokens", b.tokens())
	}
	old := b.token()
	identity, err := openstack.NewIdentityV3(b.eye.ProviderClient, gophercloud.EndpointOpts{Region: "RegionOne"})
	if err != nil {
		t.Fatal(err)
	}
	if err := tokens.Revoke(t.Context(), identity, old).Err; err != nil {
		t.Fatal(err)
	}
	// Neutron believes in a token for a while after it has ended; not here.
	b.calls.Add(faults.Rule{Path: "/v2.0/"}, unauthorized(old))
	b.together(t, atOnce, seed)
	if b.tokens() != 2 || b.token() == old {
		t.Errorf("%d tokens, the second a new one: %t", b.tokens(), b.token() != old)
	}
	b.checkAsks(t, "after it", func() { b.ensures(t, b.new(t), planOf(t, seed)) }, "POST networks", "POST subnets")
}

// unauthorized refuses requests with that token.
func unauthorized(token string) faults.Fault {
	return func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		if request.Header.Get("X-Auth-Token") != token {
			return next.RoundTrip(request)
		}
		return faults.Answer(http.StatusUnauthorized, `{"error": {"code": 401, "title": "Unauthorized", "message": "The request you have made requires authentication."}}`)(request, next)
	}
}

// TestAuthentications: beside a password, which all other tests have.
func TestAuthentications(t *testing.T) {
	b := newBackend(t, nil)
	appcred := class()
	appcred.Neutron.Cloud = servers.ApplicationCredential
	token := fmt.Sprintf("clouds: {openstack: {auth_type: token, auth: {auth_url: %q, token: %q, project_name: samplecrd, project_domain_name: Default}, region_name: RegionOne}}", b.eye.IdentityEndpoint, b.eye.Token())
	for name, spec := range map[string]*samplecrdv1.NetworkClassSpec{"an application credential": appcred, "a token": b.ofSecret(t, "token", token)} {
		t.Run(name, func(t *testing.T) {
			id := b.new(t)
			if _, err := b.Ensure(t.Context(), id, spec, planOf(t, seed)); err != nil {
				t.Fatal(err)
			}
			if len(b.ours(t, id)) != 1 {
				t.Error("nothing was made")
			}
			if err := b.Delete(t.Context(), id, spec); err != nil {
				t.Error(err)
			}
		})
	}
}
