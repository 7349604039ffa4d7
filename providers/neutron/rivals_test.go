package neutron

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/test/faults"
)

// TestSomebodyElseIsAtWork: what changed after we have read it is not overwritten, but
// read again, in the same call.
func TestSomebodyElseIsAtWork(t *testing.T) {
	all := newBackend(t, nil)
	plan := planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", Gateway: "10.0.0.254", MTU: new(int32(1400))})
	for name, tc := range map[string]struct {
		// before is what they do right before our request of that kind.
		before string
		rival  func(t *testing.T, b *backend, h held) error
		// refused is the code that Neutron answers with.
		refused int
		asks    []string
	}{
		"they change the network": {
			"/v2.0/networks/", func(t *testing.T, b *backend, h held) error {
				return networks.Update(t.Context(), b.eye, h.ID, networkUpdate{MTU: new(int32(1300))}).Err
			}, http.StatusPreconditionFailed,
			[]string{"GET networks", "GET subnets", "PUT networks", "GET networks", "GET subnets", "PUT networks", "PUT subnets"},
		},
		"they change the subnet": {
			"/v2.0/subnets/", func(t *testing.T, b *backend, h held) error {
				return subnets.Update(t.Context(), b.eye, h.subnets[0].id, subnets.UpdateOpts{DNSNameservers: &[]string{"192.0.2.53"}}).Err
			}, http.StatusPreconditionFailed,
			[]string{"GET networks", "GET subnets", "PUT networks", "PUT subnets", "GET networks", "GET subnets", "PUT subnets"},
		},
		"they remove the subnet": {
			"/v2.0/subnets/", func(t *testing.T, b *backend, h held) error {
				return subnets.Delete(t.Context(), b.eye, h.subnets[0].id).ExtractErr()
			}, http.StatusNotFound,
			[]string{"GET networks", "GET subnets", "PUT networks", "PUT subnets", "GET networks", "GET subnets", "POST subnets"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := all.restarted(nil)
			id := b.new(t)
			id.Recorded = b.ensures(t, id, planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24"})).ID
			id.New = false
			now := b.ours(t, id)[0]
			b.calls.Add(faults.Rule{Method: http.MethodPut, Path: tc.before, Times: 1}, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
				if err := tc.rival(t, b, now); err != nil {
					t.Error(err)
				}
				return next.RoundTrip(request)
			})
			b.checkAsks(t, "the call", func() { b.ensures(t, id, plan) }, tc.asks...)
			if refused := b.count(func(c faults.Call) bool { return c.Code == tc.refused }); refused != 1 {
				t.Errorf("%d requests were answered with %d", refused, tc.refused)
			}
			ours := b.ours(t, id)
			w := wanted{Plan: plan, class: class().Neutron, name: nameOf(id), mark: ours[0].Description}
			if len(ours) != 1 || len(ours[0].subnets) != 1 || !w.is(ours[0]) {
				t.Errorf("it is %+v", ours)
			}
		})
	}
}

// TestSomebodyElseNeverRests: a call ends, and is repeated soon.
func TestSomebodyElseNeverRests(t *testing.T) {
	b := newBackend(t, nil)
	id := b.new(t)
	id.Recorded = b.ensures(t, id, planOf(t, seed)).ID
	id.New = false
	for _, fault := range []faults.Fault{
		faults.Failure(http.StatusPreconditionFailed, "RevisionNumberConstraintFailed", "Constrained to 1, but current revision is 2"),
		faults.Failure(http.StatusNotFound, "SubnetNotFound", "Subnet x could not be found."),
	} {
		end := b.calls.Add(faults.Rule{Method: http.MethodPut, Path: "/v2.0/subnets/"}, fault)
		for range 2 * tolerated { // Which shuts no gate: the cloud is well.
			asks := len(b.asked(func() {
				_, err := b.Ensure(t.Context(), id, class(), planOf(t, update))
				checkFails(t, err, samplecrdv1.NetworkReasonPending, providers.RetrySoon, "at the same time: HTTP 4")
			}))
			if asks != 3*attempts {
				t.Errorf("it asks %d times", asks)
			}
		}
		end()
	}
	b.ensures(t, id, planOf(t, update))
}

// TestAListThatIsLate: Neutron's servers may read a copy of the database which does not
// have yet what we just made. Nothing is made twice for it.
func TestAListThatIsLate(t *testing.T) {
	all := newBackend(t, nil)
	plan := planOf(t, seed)
	notYet := func(b *backend) (end func()) {
		lists := b.calls.Add(faults.Rule{Method: http.MethodGet, Path: "/v2.0/networks"}, faults.Edited(func(body []byte) []byte {
			if strings.HasPrefix(string(body), `{"networks":`) {
				return []byte(`{"networks": []}`)
			}
			return body
		}))
		unknown := b.calls.Add(faults.Rule{Method: http.MethodPost, Path: "/v2.0/subnets", Times: 1}, faults.Failure(http.StatusNotFound, "NetworkNotFound", "Network x could not be found."))
		return func() { lists(); unknown() }
	}
	t.Run("it is found by its id", func(t *testing.T) {
		c := newCrash(t, all)
		defer notYet(c.backend)()
		c.checkAsks(t, "a new Network", func() { c.ensures(t, c.id, plan) },
			"POST networks", "POST subnets", "GET networks", "GET networks", "GET subnets", "POST subnets")
		c.check(t, &plan)
	})
	t.Run("it is recorded, and found by its id", func(t *testing.T) {
		c := newCrash(t, all)
		c.until(t, &plan)
		c.id.New = false
		defer notYet(c.backend)()
		changed := planOf(t, update)
		c.checkAsks(t, "a change", func() { c.ensures(t, c.id, changed) }, "GET networks", "GET networks", "GET subnets", "PUT subnets")
		c.check(t, &changed)
		if err := c.call(t, nil); err != nil {
			t.Error(err)
		}
		c.check(t, nil)
	})
	t.Run("it is not found at all", func(t *testing.T) {
		c := newCrash(t, all)
		end := notYet(c.backend)
		byID := c.calls.Add(faults.Rule{Method: http.MethodGet, Path: "/v2.0/networks/"}, faults.Failure(http.StatusNotFound, "NetworkNotFound", "Network x could not be found."))
		for range 2 {
			failure := checkFails(t, c.call(t, &plan), samplecrdv1.NetworkReasonPending, providers.RetrySoon)
			if c.id.New = false; failure.After <= 0 || failure.After > settle {
				t.Errorf("it is asked again after %v", failure.After)
			}
		}
		if made := c.count(func(call faults.Call) bool {
			return call.Method == http.MethodPost && strings.HasSuffix(call.Path, "/networks")
		}); made != 1 {
			t.Errorf("%d networks were asked for", made)
		}
		end()
		byID()
		c.until(t, &plan)
		c.check(t, &plan)
	})
}

// TestTokenIsNotTakenElsewhere: a redirection is not followed.
func TestTokenIsNotTakenElsewhere(t *testing.T) {
	b := newBackend(t, nil)
	b.ensures(t, b.new(t), planOf(t, seed))
	var elsewhere []string
	b.calls.Add(faults.Rule{Path: "/v2.0/networks"}, faults.Answer(http.StatusTemporaryRedirect, "", "Location", "http://elsewhere.example.org/steal"))
	b.calls.Add(faults.Rule{Path: "/steal"}, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		elsewhere = append(elsewhere, request.URL.Host)
		return faults.Refused()(request, next)
	})
	id := b.new(t)
	_, err := b.Ensure(t.Context(), id, class(), planOf(t, seed))
	checkFails(t, err, samplecrdv1.NetworkReasonRejected, providers.RetrySlowly, "HTTP 307")
	id.New = false
	_, err = b.Ensure(t.Context(), id, class(), planOf(t, seed))
	checkFails(t, err, samplecrdv1.NetworkReasonRejected, providers.RetrySlowly, "HTTP 307")
	if len(elsewhere) > 0 || slices.ContainsFunc(b.calls.Calls(), func(c faults.Call) bool { return c.Path == "/steal" }) {
		t.Errorf("the token was brought to %v", elsewhere)
	}
}

// TestRequestsAreCounted by the metric as by us, Keystone's among them.
func TestRequestsAreCounted(t *testing.T) {
	b := newBackend(t, nil)
	id := b.new(t)
	b.ensures(t, id, planOf(t, seed))
	id.New = false
	b.calls.Add(faults.Rule{Path: "/v2.0/", Times: 1}, faults.Refused())
	if b.Delete(t.Context(), id, class()) == nil {
		t.Error("nobody listens, and it succeeds")
	}
	if got, want := b.metric(t, "samplecrd_neutron_requests_total"), len(b.calls.Calls()); int(got) != want || want < 4 {
		t.Errorf("%v requests are counted, and there were %d", got, want)
	}
}
