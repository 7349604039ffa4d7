package kill

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// worlds is how many lives go on at once: for a good part of one the manager waits for
// what may be under way, and Neutron is free for another.
const worlds = 2

// plan says at which calls managers die.
type plan struct {
	lives int
	// calls is how many each phase has when nobody dies.
	calls []int
	// first and turn are where the plan begins, by phase.
	first []int
	turn  int
	delay []time.Duration
}

func newPlan(seed, lives int, calls []int) *plan {
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	p := &plan{lives: lives, calls: calls, turn: random.IntN(int(manners))}
	for _, n := range calls {
		p.first = append(p.first, random.IntN(n))
	}
	for range p.lives {
		p.delay = append(p.delay, time.Second+time.Duration(random.Int64N(int64(latest))))
	}
	return p
}

// latest is about how late a late call is. It is less than what a manager waits for.
const latest = 12 * time.Second

// call is the call to die at in a phase of a life: it grows from life to life, so that
// all lives together go once round the phase, or more often.
func (p *plan) call(life, phase int) int {
	n := p.calls[phase]
	steps := life
	if n > p.lives {
		steps = life * n / p.lives
	}
	return 1 + (p.first[phase]+steps)%n
}

// late is how late the late calls of a life are.
func (p *plan) late(life int) time.Duration { return p.delay[life%len(p.delay)] }

func (p *plan) manner(life, phase int) manner { return manner((life + phase + p.turn) % int(manners)) }

// tally is what came of the lives that were lived.
type tally struct {
	mu sync.Mutex
	// next and end are the lives to come.
	next, end int
	// points are the managers that died at a call, resting those that had none left to
	// die at, since their phase had fewer calls than in the rehearsal.
	points, resting int
	by              map[string]int
	took            []time.Duration
}

// take gives the next life to be lived; false when there is none.
func (t *tally) take() (int, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == t.end {
		return 0, false
	}
	t.next++
	return t.next - 1, true
}

func (t *tally) count(deaths []death) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var took time.Duration
	for _, d := range deaths {
		took += d.took
		if d.at == "" {
			t.resting++
			continue
		}
		t.points++
		method, _, _ := strings.Cut(d.at, " ")
		t.by[method+" "+d.how.String()]++
	}
	t.took = append(t.took, took)
}

func (t *tally) String() string {
	if len(t.took) == 0 {
		return "no life came to its end"
	}
	var by []string
	for _, what := range slices.Sorted(maps.Keys(t.by)) {
		by = append(by, fmt.Sprintf("%s %d", what, t.by[what]))
	}
	var sum time.Duration
	for _, took := range t.took {
		sum += took
	}
	average := sum / time.Duration(len(t.took))
	return fmt.Sprintf("%d kill points in %d lives of %d Networks: %s, at rest %d; a life took %s on average, %s at most",
		t.points, len(t.took), crowd, strings.Join(by, ", "), t.resting,
		average.Round(time.Second), slices.Max(t.took).Round(time.Second))
}

var _ = Describe("A manager that is killed at any of its calls to Neutron", func() {
	It("PR-12: loses no network and makes none twice", func() {
		seed, points := number(envSeed, rand.IntN(1_000_000)), number(envPoints, defaultPoints)
		say("%s=%d %s=%d", envSeed, seed, envPoints, points)
		every := (points + len(phases) - 1) / len(phases)
		from, to := number(envFrom, 0), number(envTo, every)
		t := &tally{next: from, end: to, by: map[string]int{}}
		all := newWorlds(min(worlds, to-from))
		p := newPlan(seed, every, all[0].rehearse())
		say("calls of a life without a kill, by phase: %v", p.calls)
		t.live(all, p)
		if to-from == every {
			// For the managers that died at rest others die.
			for extra := 0; t.points < points && len(t.took) == t.end && extra <= every/4; extra++ {
				t.end++
				t.live(all[:1], p)
			}
		}
		AddReportEntry("summary", fmt.Sprintf("%s=%d: %s", envSeed, seed, t), ReportEntryVisibilityAlways)
		if to-from == every {
			Expect(t.points).To(BeNumerically(">=", points))
		}
		Expect(t.took).To(HaveLen(t.end - from))
	})
})

// live has all lives lived that are to come.
func (t *tally) live(all []*world, p *plan) {
	var lives sync.WaitGroup
	for _, w := range all {
		lives.Go(func() {
			defer GinkgoRecover()
			for life, more := t.take(); more; life, more = t.take() {
				deaths := w.live(life, p)
				t.count(deaths)
				say("life %d in world %s: %v", life, w.name, deaths)
			}
		})
	}
	lives.Wait()
}
