package neutron

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/samplecrd/samplecrd/providers"
)

// door is a gate with a clock of the test's own, and whom it has woken.
type door struct {
	*gate
	clock *clocktesting.FakeClock

	mu    sync.Mutex
	woken []types.NamespacedName
}

func newDoor(most int) *door {
	d := &door{clock: clocktesting.NewFakeClock(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))}
	d.gate = newGate(d.clock, most, func(name types.NamespacedName) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.woken = append(d.woken, name)
	})
	return d
}

func (d *door) wokenSince() []types.NamespacedName {
	d.mu.Lock()
	defer d.mu.Unlock()
	woken := d.woken
	d.woken = nil
	return woken
}

func named(i int) types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: fmt.Sprint(i)}
}

// enters is a name that is let in.
func (d *door) enters(t *testing.T, i int) {
	t.Helper()
	if err := d.enter(named(i)); err != nil {
		t.Fatalf("%d is not let in: %v", i, err)
	}
}

// kept is a name that is not, and is told to come again.
func (d *door) kept(t *testing.T, i int) providers.Error {
	t.Helper()
	err := d.enter(named(i))
	if err == nil {
		t.Fatalf("%d is let in", i)
	}
	failure := providers.AsError(err)
	if failure.After <= 0 || failure.After > 2*time.Minute {
		t.Fatalf("%d is to come again after %v", i, failure.After)
	}
	return *failure
}

func down() *providers.Error { return providers.Unavailable(fmt.Errorf("connection refused")) }

func TestGateLetsInSoManyAndWakesTheNext(t *testing.T) {
	d := newDoor(2)
	d.enters(t, 1)
	d.enters(t, 2)
	for i := 3; i <= 5; i++ {
		if failure := d.kept(t, i); failure.Reason != "" {
			t.Errorf("who waits for a hand gets the reason %s", failure.Reason)
		}
	}
	if woken := d.wokenSince(); len(woken) > 0 {
		t.Errorf("%v are woken while there is no room", woken)
	}
	for range 3 {
		d.leave(nil, false)
		woken := d.wokenSince()
		if len(woken) != 1 {
			t.Fatalf("one has left, and %v are woken", woken)
		}
		if err := d.enter(woken[0]); err != nil {
			t.Fatalf("who was woken is not let in: %v", err)
		}
	}
	d.leave(nil, false)
	d.leave(nil, false)
	if d.free != 2 || len(d.waiting) != 0 {
		t.Errorf("%d may come in and %v wait", d.free, d.waiting)
	}
}

func TestGateShutsAfterFailuresInARow(t *testing.T) {
	d := newDoor(8)
	for range 3 {
		for i := range tolerated - 1 {
			d.enters(t, i)
			d.leave(down(), false)
		}
		d.enters(t, 99)
		d.leave(nil, false) // One success in between: they are no row.
	}
	for i := range tolerated {
		d.enters(t, i)
		d.leave(down(), false)
	}
	if failure := d.kept(t, 7); failure.Reason != down().Reason || failure.Message != down().Message {
		t.Errorf("who is kept out is told %+v", failure)
	}
}

func TestGateTriesOnceInAWhileWhileItIsShut(t *testing.T) {
	d := newDoor(8)
	for i := range tolerated {
		d.enters(t, i)
		d.leave(down(), false)
	}
	var tries []time.Duration
	begun := d.clock.Now()
	for range 600 { // Ten minutes, in which 20 Networks ask all the time.
		d.clock.Step(time.Second)
		in := 0
		for i := range 20 {
			if d.enter(named(i)) == nil {
				in++
				tries = append(tries, d.clock.Now().Sub(begun))
			}
		}
		if in > 1 {
			t.Fatalf("%d are let in at once while it is shut", in)
		}
		if in == 1 {
			d.leave(down(), false)
		}
		if woken := d.wokenSince(); len(woken) > 0 {
			t.Fatalf("%v are woken while it is shut", woken)
		}
	}
	if len(tries) < 50 || len(tries) > 60 {
		t.Errorf("%d tries in 10 minutes: %v", len(tries), tries)
	}
	for i := 1; i < len(tries); i++ {
		if tries[i]-tries[i-1] < probing {
			t.Errorf("tries after %v and %v", tries[i-1], tries[i])
		}
	}
}

func TestGateOpensAndWakesAllOneAfterTheOther(t *testing.T) {
	d := newDoor(4)
	for i := range tolerated {
		d.enters(t, i)
		d.leave(down(), false)
	}
	for i := range 100 {
		d.kept(t, i)
	}
	d.clock.Step(probing)
	d.enters(t, 0)
	for i := range 100 { // Half open: who tries is in there, and nobody else.
		if i != 0 {
			d.kept(t, i)
		}
	}
	d.leave(nil, false)
	seen, inside := map[types.NamespacedName]bool{}, 0
	for woken := d.wokenSince(); len(woken) > 0 || inside > 0; woken = d.wokenSince() {
		for _, name := range woken {
			if err := d.enter(name); err != nil {
				continue // It waits again, and is woken again.
			}
			seen[name] = true
			inside++
		}
		if inside > 0 {
			d.leave(nil, false)
			inside--
		}
	}
	if len(seen) != 99 {
		t.Errorf("%d of 99 came in", len(seen))
	}
}

func TestGateHonoursWhatTheCloudAsks(t *testing.T) {
	d := newDoor(8)
	d.enters(t, 1)
	asked := down()
	asked.After = 45 * time.Second
	d.leave(asked, true)
	d.clock.Step(44 * time.Second)
	if failure := d.kept(t, 2); failure.After < time.Second {
		t.Errorf("it is to come again after %v", failure.After)
	}
	d.clock.Step(time.Second)
	d.enters(t, 2)
	d.leave(nil, false)
	d.enters(t, 3)
}

func TestGateForgetsNobodyWhoTries(t *testing.T) {
	d := newDoor(8)
	for i := range tolerated { // All at once, as workers do.
		d.enters(t, i)
	}
	for range tolerated {
		d.leave(down(), false)
	}
	d.clock.Step(probing)
	d.enters(t, 1)
	d.leave(down(), false)
	d.clock.Step(probing - time.Nanosecond)
	d.kept(t, 2)
	d.clock.Step(time.Nanosecond)
	d.enters(t, 2)
	d.leave(nil, false)
	if d.free != 8 {
		t.Errorf("%d may come in", d.free)
	}
}

func TestGateWakesNobodyForASweep(t *testing.T) {
	d := newDoor(1)
	d.enters(t, 1)
	if d.enter(sweeper) == nil {
		t.Fatal("a sweep is let in where there is no room")
	}
	d.leave(nil, false)
	if woken := d.wokenSince(); len(woken) > 0 {
		t.Errorf("%v are woken", woken)
	}
}

// TestGateAtRandom: whatever comes in whatever order, no more are in than may be, and at
// the end the gate is as it was.
func TestGateAtRandom(t *testing.T) {
	const most = 5
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	d := newDoor(most)
	var all sync.WaitGroup
	var inside, worst int
	var mu sync.Mutex
	for worker := range uint64(16) {
		all.Go(func() {
			random := rand.New(rand.NewPCG(seed, worker))
			for range 2000 {
				if random.IntN(4) == 0 {
					d.clock.Step(time.Second)
				}
				if d.enter(named(random.IntN(40))) != nil {
					continue
				}
				mu.Lock()
				inside++
				worst = max(worst, inside)
				mu.Unlock()
				runtime.Gosched()
				mu.Lock()
				inside--
				mu.Unlock()
				var fault *providers.Error
				if random.IntN(3) == 0 {
					fault = down()
				}
				d.leave(fault, random.IntN(20) == 0)
			}
		})
	}
	all.Wait()
	if worst > most || d.free != most {
		t.Errorf("%d were in at once and %d may come in, of %d", worst, d.free, most)
	}
	d.clock.Step(time.Hour)
	d.enters(t, 1)
	d.leave(nil, false)
	if d.fault != nil || d.trying || d.failures != 0 {
		t.Errorf("it is not open: %v, %t, %d", d.fault, d.trying, d.failures)
	}
}
