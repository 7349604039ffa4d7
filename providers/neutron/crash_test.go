package neutron

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/test/faults"
)

// settle is how long a request may be under way.
const settle = 30 * time.Second

// losses are what may become of the answer to one request. Of a request that only reads
// the first tells all.
var losses = []struct {
	name  string
	fault faults.Fault
}{
	{"lost before it was carried out", faults.Reset()},
	{"lost after it was carried out", faults.Committed(faults.TimedOut())},
	{"a 500 after it was carried out", faults.Committed(faults.Failure(http.StatusInternalServerError, "HTTPInternalServerError", "no"))},
	{"broken off after it was carried out", faults.Truncated()},
}

// crash is a Network on its way through lost answers.
type crash struct {
	*backend
	now *clocktesting.FakeClock
	id  providers.Identity
}

func newCrash(t *testing.T, b *backend) *crash {
	c := &crash{backend: b, now: clocktesting.NewFakeClock(noon), id: b.new(t)}
	c.backend = b.restarted(func(o *Options) { o.Clock, o.Settle = c.now, settle })
	return c
}

// restart has the next process go on, which knows what the API server does; the write
// of the id was lost.
func (c *crash) restart() {
	c.backend = c.restarted(func(o *Options) { o.Clock, o.Settle = c.now, settle })
	c.id.New, c.id.Recorded = false, ""
}

// call asks for a plan once, nil for nothing.
func (c *crash) call(t *testing.T, plan *addressing.Plan) error {
	if plan == nil {
		return c.Delete(t.Context(), c.id, class())
	}
	seen, err := c.Ensure(t.Context(), c.id, class(), *plan)
	c.id.Recorded = cmp.Or(seen.ID, c.id.Recorded)
	return err
}

// until repeats a call as the controller does until it succeeds.
func (c *crash) until(t *testing.T, plan *addressing.Plan) {
	t.Helper()
	for range 10 {
		err := c.call(t, plan)
		if err == nil {
			return
		}
		c.id.New = false
		failure := providers.AsError(err)
		if failure.Retry != providers.RetrySoon {
			t.Fatalf("it is not repeated soon: %v", err)
		}
		switch failure.Reason {
		case samplecrdv1.NetworkReasonBackendUnavailable, samplecrdv1.NetworkReasonPending:
		default:
			t.Fatalf("an answer was lost, and the reason is %q: %v", failure.Reason, err)
		}
		if failure.After > settle {
			t.Fatalf("it is repeated after %v", failure.After)
		}
		c.now.Step(max(failure.After, time.Second))
	}
	t.Fatal("it does not succeed")
}

// check: there is one network with the planned subnets, once each, and nothing else of
// that name; or nothing at all.
func (c *crash) check(t *testing.T, plan *addressing.Plan) {
	t.Helper()
	ours, stray := c.ours(t, c.id), c.networks(t, c.id, "")
	if plan == nil {
		if len(ours)+len(stray) > 0 {
			t.Errorf("there are %d networks with the mark and %d without", len(ours), len(stray))
		}
		return
	}
	if len(ours) != 1 || len(stray) > 0 {
		t.Fatalf("there are %d networks with the mark and %d without", len(ours), len(stray))
	}
	got, want := map[netip.Prefix]netip.Addr{}, map[netip.Prefix]netip.Addr{}
	for _, s := range ours[0].subnets {
		got[s.Prefix] = s.Gateway
	}
	for _, s := range plan.Subnets {
		want[s.Prefix] = s.Gateway
	}
	if plan.MTU != 0 && ours[0].MTU != plan.MTU {
		t.Errorf("the MTU is %d, want %d", ours[0].MTU, plan.MTU)
	}
	if len(ours[0].subnets) != len(want) || !maps.Equal(got, want) {
		t.Errorf("the subnets are %v, want %v", got, want)
	}
}

// TestCrashPoints is PR-12 by every request: its answer is lost, once, and the call is
// repeated, by this process or by the next, which has not even the id.
func TestCrashPoints(t *testing.T) {
	all := newBackend(t, nil)
	before := planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24"})
	changed := planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", Gateway: "10.0.0.254", MTU: new(int32(1400))})
	moved := planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/25", Gateway: "10.0.0.100"})
	for _, step := range []struct {
		name string
		// calls are those of the step on the happy path.
		calls []string
		// before and after are what there is then; nil for nothing.
		before, after *addressing.Plan
	}{
		{"making it", []string{"POST networks", "POST subnets"}, nil, &before},
		{"changing it", []string{"GET networks", "GET subnets", "PUT networks", "PUT subnets"}, &before, &changed},
		{"changing its range", []string{"GET networks", "GET subnets", "GET ports", "DELETE subnets", "POST subnets"}, &before, &moved},
		{"removing it", []string{"GET networks", "GET subnets", "GET ports", "DELETE subnets", "DELETE networks"}, &before, nil},
	} {
		for k, request := range step.calls {
			for at, loss := range losses {
				if strings.HasPrefix(request, http.MethodGet) && at > 0 {
					continue
				}
				for which, by := range []string{"this process", "the next process"} {
					// Of what is not made two processes do the same; they take turns.
					if !strings.HasPrefix(request, http.MethodPost) && (k+at)%2 != which {
						continue
					}
					t.Run(fmt.Sprintf("%s, call %d (%s) %s, repeated by %s", step.name, k+1, request, loss.name, by), func(t *testing.T) {
						c := newCrash(t, all)
						if step.before != nil {
							c.until(t, step.before)
							c.id.New = false
						}
						c.calls.Add(faults.Rule{Path: "/v2.0/", From: k + 1, Times: 1}, loss.fault)
						asked := c.asked(func() {
							if c.call(t, step.after) == nil && !strings.Contains(request, "DELETE") {
								t.Error("an answer was lost, and the call succeeds")
							}
						})
						if len(asked) <= k || asked[k] != request {
							t.Fatalf("it has asked for %q", asked)
						}
						if c.id.New = false; by == "the next process" {
							c.restart()
						}
						c.until(t, step.after)
						c.check(t, step.after)
					})
				}
			}
		}
	}
}

// TestARequestThatArrivesLate: it has been given up, the network has been looked for and
// not found, and then it comes.
func TestARequestThatArrivesLate(t *testing.T) {
	all := newBackend(t, nil)
	for _, by := range []string{"this process", "the next process"} {
		t.Run("repeated by "+by, func(t *testing.T) {
			c, plan := newCrash(t, all), planOf(t, seed)
			arrive, done := make(chan struct{}), make(chan struct{})
			c.calls.Add(faults.Rule{Method: http.MethodPost, Path: "/v2.0/networks", Times: 1}, faults.Late(arrive, done))
			if c.call(t, &plan) == nil {
				t.Fatal("no answer came, and the call succeeds")
			}
			if c.id.New = false; by == "the next process" {
				c.restart()
			}
			for _, asked := range []*addressing.Plan{&plan, nil} {
				now := c.call(t, asked)
				c.now.Step(time.Second)
				failure := providers.AsError(now)
				if failure.Reason != samplecrdv1.NetworkReasonPending || failure.After <= 0 || failure.After > settle {
					t.Fatalf("the request may still arrive: %v, after %v", failure, failure.After)
				}
			}
			close(arrive)
			<-done
			c.until(t, &plan)
			c.check(t, &plan)
		})
	}
}
