package neutron

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/test/faults"
)

// crowd is several Networks that are asked for as the controller does it: again when the
// backend says, with growing delay where it does not, and whenever they are woken.
type crowd struct {
	*backend
	now   *clocktesting.FakeClock
	woken func() []string
	ids   []providers.Identity
	due   map[string]time.Time
	delay map[string]time.Duration
	ready map[string]bool
}

func newCrowd(t *testing.T, b *backend, count int) *crowd {
	t.Helper()
	c := &crowd{now: clocktesting.NewFakeClock(noon), due: map[string]time.Time{}, delay: map[string]time.Duration{}, ready: map[string]bool{}}
	c.backend = b.restarted(func(o *Options) { o.Clock, o.Settle = c.now, settle })
	c.woken = c.watched(t)
	for range count {
		id := b.new(t)
		c.ids = append(c.ids, id)
		c.due[id.Name] = c.now.Now()
	}
	return c
}

// second has a second pass, and asks for those who are due.
func (c *crowd) second(t *testing.T) {
	t.Helper()
	c.now.Step(time.Second)
	woken := c.woken()
	for i := range c.ids {
		id := &c.ids[i]
		if c.ready[id.Name] || c.due[id.Name].After(c.now.Now()) && !slices.Contains(woken, id.Name) {
			continue
		}
		_, err := c.Ensure(t.Context(), *id, class(), planOf(t, samplecrdv1.NetworkSpec{CIDR: fmt.Sprintf("10.%d.0.0/24", i)}))
		if id.New = false; err == nil {
			c.ready[id.Name] = true
			continue
		}
		failure := providers.AsError(err)
		if failure.Retry != providers.RetrySoon || failure.Reason != samplecrdv1.NetworkReasonBackendUnavailable && failure.Reason != samplecrdv1.NetworkReasonPending && failure.Reason != "" {
			t.Fatalf("the cloud is down, and it is %+v", failure)
		}
		// As the controllers' rate limiter has it.
		c.delay[id.Name] = min(max(2*c.delay[id.Name], 100*time.Millisecond), 30*time.Second)
		c.due[id.Name] = c.now.Now().Add(cmp.Or(failure.After, c.delay[id.Name]))
	}
}

// TestOutage: while the cloud is down it is asked once in 10 seconds, for however many
// Networks; when it is back all have theirs within a minute.
func TestOutage(t *testing.T) {
	all := newBackend(t, nil)
	for name, fault := range map[string]faults.Fault{
		"nobody listens": faults.Refused(), "no answer comes": faults.TimedOut(), "all fails": faults.Failure(503, "", ""), "too many ask": faults.TooMany("10"),
	} {
		for _, where := range []string{"", "/v2.0/"} {
			t.Run(fmt.Sprintf("%s at %q", name, where), func(t *testing.T) {
				c := newCrowd(t, all, 12)
				end := c.calls.Add(faults.Rule{Path: where}, fault)
				begun := len(c.calls.Calls())
				for range 20 {
					c.second(t)
				}
				// The gate has shut by now.
				if asked := len(c.calls.Calls()) - begun; asked > 2*tolerated+4 {
					t.Errorf("it was asked %d times in the first 20 seconds", asked)
				}
				begun = len(c.calls.Calls())
				for range 300 {
					c.second(t)
				}
				if asked := len(c.calls.Calls()) - begun; asked < 15 || asked > 31 {
					t.Errorf("it was asked %d times in 5 minutes", asked)
				}
				if len(c.ready) > 0 {
					t.Errorf("%v are ready", c.ready)
				}
				end()
				seconds := 0
				for ; len(c.ready) < len(c.ids) && seconds < 120; seconds++ {
					c.second(t)
				}
				if seconds > 60 {
					t.Errorf("%d of %d are ready after %d s", len(c.ready), len(c.ids), seconds)
				}
				for _, id := range c.ids {
					if ours := c.ours(t, id); len(ours) != 1 || len(ours[0].subnets) != 1 {
						t.Errorf("%s has %+v", id.Name, ours)
					}
				}
			})
		}
	}
}

// TestACloudThatHangs: a call ends with its context, and says so.
func TestACloudThatHangs(t *testing.T) {
	all := newBackend(t, nil)
	for _, where := range []string{"/auth/tokens", "/v2.0/"} {
		b := all.restarted(nil)
		b.calls.Add(faults.Rule{Path: where}, faults.Hang())
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		ended := make(chan error, 1)
		go func() {
			_, err := b.Ensure(ctx, b.new(t), class(), planOf(t, seed))
			ended <- err
		}()
		select {
		case err := <-ended:
			checkFails(t, err, samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon, "no answer in time")
		case <-time.After(time.Minute):
			t.Errorf("%s hangs, and the call does not end", where)
		}
		cancel()
	}
}

// TestCredentialsThatEnd: a password that is no longer taken is not tried for every
// Network, which could have the user locked out.
func TestCredentialsThatEnd(t *testing.T) {
	all := newBackend(t, nil)
	for _, before := range []bool{false, true} {
		t.Run(fmt.Sprintf("after a token was had: %t", before), func(t *testing.T) {
			now := clocktesting.NewFakeClock(noon)
			b := all.restarted(func(o *Options) { o.Clock, o.Settle = now, settle })
			if before {
				b.ensures(t, b.new(t), planOf(t, seed))
				b.calls.Add(faults.Rule{Path: "/v2.0/"}, unauthorized(b.token()))
			}
			wrong := `{"error": {"code": 401, "title": "Unauthorized", "message": "The request you have made requires authentication."}}`
			end := b.calls.Add(faults.Rule{Path: "/auth/tokens"}, faults.Answer(401, wrong))
			tokens := b.tokens()
			for range 20 {
				_, err := b.Ensure(t.Context(), b.new(t), class(), planOf(t, seed))
				if failure := providers.AsError(err); err == nil || failure.Reason != samplecrdv1.NetworkReasonCredentialsMissing {
					t.Fatalf("it is %v", err)
				}
			}
			if tried := b.tokens() - tokens; tried > 2 {
				t.Errorf("the password was tried %d times for 20 Networks", tried)
			}
			end()
			now.Step(time.Minute)
			b.ensures(t, b.new(t), planOf(t, seed))
		})
	}
}
