package neutron

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/samplecrd/samplecrd/test/faults"
)

// BenchmarkNew makes Networks beside a bare loop of the same requests, with as many
// workers and the same client, in turns. "ratio" is how much longer ours takes; "of-ideal"
// how much of what the workers could make if they did nothing but wait for answers. An
// iteration makes 200 of each kind, with -short 48; run it with -benchtime 1x.
func BenchmarkNew(b *testing.B) {
	for _, added := range []time.Duration{0, 200 * time.Millisecond} {
		b.Run(fmt.Sprintf("%v added to each call", added), func(b *testing.B) {
			at := newBackend(b, nil)
			for range b.N {
				at.compare(b, added)
			}
		})
	}
}

// stopwatch is how long calls have taken.
type stopwatch struct {
	mu    sync.Mutex
	total time.Duration
	calls int
}

func (s *stopwatch) time(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	begun := time.Now()
	response, err := next.RoundTrip(request)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total += time.Since(begun)
	s.calls++
	return response, err
}

func (at *backend) compare(b *testing.B, added time.Duration) {
	rounds, each := 5, 40
	if testing.Short() {
		rounds, each = 3, 16
	}
	plan, ctx := planOf(b, seed), b.Context()
	at.warm(b)
	var ours, bare stopwatch
	session := at.account(class().Neutron).session
	makeOurs := func() {
		if _, err := at.Ensure(ctx, at.new(b), class(), plan); err != nil {
			b.Error(err)
		}
	}
	makeBare := func() {
		id := at.identity(b)
		want := wanted{Plan: plan, class: class().Neutron, name: nameOf(id), mark: "bare"}
		made, err := networks.Create(ctx, session.ServiceClient, want.create()).Extract()
		if err == nil {
			err = subnets.Create(ctx, session.ServiceClient, want.createSubnet(made.ID, plan.Subnets[0])).Err
		}
		if err != nil {
			b.Error(err)
		}
	}
	var oursTook, bareTook time.Duration
	calls := 0
	for round := range 2 * rounds {
		watch, took, one := &ours, &oursTook, makeOurs
		if (round+round/2)%2 == 1 { // Ours, bare, bare, ours, …
			watch, took, one = &bare, &bareTook, makeBare
		}
		before := at.writes() + at.reads()
		at.calls.Add(faults.Rule{Path: "/v2.0/"}, watch.time)
		if added > 0 {
			at.calls.Add(faults.Rule{Path: "/v2.0/"}, faults.Latency(added))
		}
		begun := time.Now()
		at.workers(each, one)
		*took += time.Since(begun)
		at.calls.Clear()
		if watch == &ours {
			calls += at.writes() + at.reads() - before
		}
	}
	at.clear(b)
	made := float64(rounds * each)
	mean := ours.total.Seconds() / float64(ours.calls)
	b.ReportMetric(oursTook.Seconds()/bareTook.Seconds(), "ratio")
	b.ReportMetric(float64(calls)/made, "calls/Network")
	b.ReportMetric(made/oursTook.Seconds()/(float64(atOnce)/(2*mean)), "of-ideal")
	b.ReportMetric(1000*mean, "ms/call")
}

// workers makes count calls, atOnce at a time.
func (at *backend) workers(count int, call func()) {
	var all sync.WaitGroup
	next := make(chan struct{}, count)
	for range count {
		next <- struct{}{}
	}
	close(next)
	for range atOnce {
		all.Go(func() {
			for range next {
				call()
			}
		})
	}
	all.Wait()
}

// warm has the session made and its connections opened.
func (at *backend) warm(b *testing.B) {
	b.Helper()
	at.workers(2*atOnce, func() {
		if _, err := at.Ensure(b.Context(), at.new(b), class(), planOf(b, seed)); err != nil {
			b.Error(err)
		}
	})
	at.clear(b)
}

// clear removes what was made.
func (at *backend) clear(b *testing.B) {
	b.Helper()
	ctx := context.Background()
	all, err := at.named(ctx)
	if err != nil {
		b.Error(err)
	}
	next := make(chan network, len(all))
	for _, n := range all {
		next <- n
	}
	at.workers(len(all), func() {
		if err := networks.Delete(ctx, at.eye, (<-next).ID).ExtractErr(); err != nil {
			b.Error(err)
		}
	})
}
