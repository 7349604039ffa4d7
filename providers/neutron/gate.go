package neutron

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"github.com/samplecrd/samplecrd/providers"
)

const (
	// probing is the pause between two tries while a gate is shut.
	probing = 10 * time.Second
	// tolerated is how many failures in a row, of whatever Networks, shut a gate.
	tolerated = 5
	// jitter spreads what would come at once, as a part of its delay.
	jitter = 0.2
)

// gate is what all Networks of one cloud, or of one set of credentials, pass. It lets
// in so many at once, and while it is shut one in a while, who finds out whether it can
// open. Nobody waits in it: who cannot pass is told when to come again, and is woken
// earlier when it can. So neither a cloud that is down nor one that hangs keeps the
// controller's workers from other clouds.
type gate struct {
	clock clock.PassiveClock
	wake  func(types.NamespacedName)

	mu sync.Mutex
	// free is how many more may come in.
	free int
	// fault is what those are told who are not let in; nil while the gate is open.
	fault *providers.Error
	// until is when the next one may try while fault is set, and trying that one does.
	until  time.Time
	trying bool
	// failures counts those in a row.
	failures int
	// waiting are to be woken.
	waiting map[types.NamespacedName]bool
}

func newGate(c clock.PassiveClock, most int, wake func(types.NamespacedName)) *gate {
	return &gate{clock: c, free: most, wake: wake, waiting: map[types.NamespacedName]bool{}}
}

// enter lets name in, who has to leave, or says why not and when to come again.
func (g *gate) enter(name types.NamespacedName) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.barred(name); err != nil {
		return err
	}
	g.trying = g.fault != nil
	g.free--
	delete(g.waiting, name)
	g.wakeNext()
	return nil
}

// bars says why name would not be let in now, and when to come again; nil when it would.
func (g *gate) bars(name types.NamespacedName) error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.barred(name)
}

func (g *gate) barred(name types.NamespacedName) error {
	left := g.until.Sub(g.clock.Now())
	shut := g.fault != nil && (g.trying || left > 0)
	if !shut && g.free > 0 {
		return nil
	}
	if name != sweeper {
		g.waiting[name] = true
	}
	if !shut {
		return providers.Busy(g.after(probing))
	}
	fault := *g.fault
	fault.After = g.after(left)
	return &fault
}

// after is when somebody comes again whom nobody has woken: not before anything can
// have changed, and the later the more of them there are.
func (g *gate) after(least time.Duration) time.Duration {
	const each, most = 100 * time.Millisecond, time.Minute
	delay := max(least, time.Second, time.Duration(len(g.waiting))*each)
	return wait.Jitter(min(delay, most), jitter)
}

// leave ends what enter began. fault shuts the gate for at least as long as it says to
// wait, when it is grave or one of several in a row; nil opens it.
func (g *gate) leave(fault *providers.Error, grave bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free++
	if fault == nil {
		g.failures, g.fault, g.trying = 0, nil, false
	} else if g.failures++; grave || g.fault != nil || g.failures >= tolerated {
		g.fault, g.trying = fault, false
		g.until = g.clock.Now().Add(max(fault.After, probing))
	}
	g.wakeNext()
}

// wakeNext wakes one of those who wait, if it can pass. That one wakes the next.
func (g *gate) wakeNext() {
	if g.fault != nil || g.free == 0 {
		return
	}
	for name := range g.waiting {
		delete(g.waiting, name)
		g.wake(name)
		return
	}
}
