package neutron

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// defaultInterval is that of spec.neutron.driftIntervalSeconds, for a class stored
// without it.
const defaultInterval = 10 * time.Minute

// sweeper is who passes the gates for a sweep; nobody is to be woken for it.
var sweeper types.NamespacedName

// scope is where a class's networks are: a project, as credentials show it. Classes may
// share one.
type scope struct {
	accountKey
	project string
}

func scopeOf(spec *samplecrdv1.NeutronSpec) scope {
	return scope{accountKey{spec.CredentialsSecretName, cmp.Or(spec.Cloud, defaultCloud)}, spec.ProjectID}
}

func interval(spec *samplecrdv1.NeutronSpec) time.Duration {
	if spec.DriftIntervalSeconds == nil {
		return defaultInterval
	}
	return time.Duration(*spec.DriftIntervalSeconds) * time.Second
}

// sweep is the state of the sweeps of a scope.
type sweep struct {
	// mu is held while one goes on.
	mu sync.Mutex
	// done says that one has come to its end.
	done bool
	// orphans are the marks without a Network that the last one saw.
	orphans map[types.UID]bool

	// due and running are the loop's.
	due     time.Time
	running bool
}

// Start sweeps the projects of all classes, each at its interval, until ctx ends. It is
// for the leader alone.
func (p *Provider) Start(ctx context.Context) error {
	const look = time.Second
	var sweeps sync.WaitGroup
	defer sweeps.Wait()
	for {
		for s, spec := range p.swept(ctx) {
			p.mu.Lock()
			state := p.state(s)
			due := !state.running && !p.clock.Now().Before(state.due)
			state.running = state.running || due
			p.mu.Unlock()
			if !due {
				continue
			}
			sweeps.Go(func() {
				err := p.in(ctx, sweeper, spec, func(session *session) error { return p.sweep(ctx, session, s) })
				next := interval(spec)
				if err != nil {
					next = min(next, probing)
					ctrllog.FromContext(ctx).V(1).Info("Sweeping Neutron", "secret", s.secret, "cloud", s.cloud, "cause", err.Error())
				}
				p.mu.Lock()
				defer p.mu.Unlock()
				state.running, state.due = false, p.clock.Now().Add(spread(next))
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.clock.After(look):
		}
	}
}

// spread gives a delay within a fifth of d.
func spread(d time.Duration) time.Duration {
	return wait.Jitter(time.Duration(float64(d)*(1-jitter)), 2*jitter/(1-jitter))
}

// swept gives the scopes of all classes. Of classes that share one the shortest interval
// counts.
func (p *Provider) swept(ctx context.Context) map[scope]*samplecrdv1.NeutronSpec {
	var classes samplecrdv1.NetworkClassList
	if err := p.cached.List(ctx, &classes); err != nil {
		return nil
	}
	all := map[scope]*samplecrdv1.NeutronSpec{}
	for i := range classes.Items {
		spec := classes.Items[i].Spec.Neutron
		if spec == nil || classes.Items[i].Spec.Provider != samplecrdv1.ProviderNeutron {
			continue
		}
		if other := all[scopeOf(spec)]; other == nil || interval(spec) < interval(other) {
			all[scopeOf(spec)] = spec
		}
	}
	return all
}

// state gives the state of a scope; p.mu is held.
func (p *Provider) state(s scope) *sweep {
	if p.scopes[s] == nil {
		p.scopes[s] = &sweep{}
	}
	return p.scopes[s]
}

// sweepOnce sweeps a scope, unless that was done before.
func (p *Provider) sweepOnce(ctx context.Context, session *session, s scope) error {
	p.mu.Lock()
	state := p.state(s)
	p.mu.Unlock()
	state.mu.Lock()
	done := state.done
	state.mu.Unlock()
	if done {
		return nil
	}
	return p.sweep(ctx, session, s)
}

// sweep lists the project and asks for another look at the Networks whose network is not
// what it was. Marks that have no Network are told of, not removed.
func (p *Provider) sweep(ctx context.Context, session *session, s scope) error {
	p.mu.Lock()
	state := p.state(s)
	p.mu.Unlock()
	state.mu.Lock()
	defer state.mu.Unlock()
	began := p.clock.Now()
	all, err := p.listed(ctx, session, cmp.Or(s.project, session.project))
	if err != nil {
		return err
	}
	for _, name := range p.known.learn(s, all, began) {
		p.wake(name)
	}
	state.done = true
	return p.tellOrphans(ctx, state, s, all)
}

// listed gives what bears a mark of this cluster in a project, by the Network's UID.
func (p *Provider) listed(ctx context.Context, session *session, project string) (map[types.UID][]held, error) {
	cluster, err := p.clusterUID(ctx)
	if err != nil {
		return nil, err
	}
	networks, err := session.networksBy(ctx, "project_id", project)
	if err != nil {
		return nil, err
	}
	subnets, err := session.subnetsBy(ctx, "project_id", project)
	if err != nil {
		return nil, err
	}
	on := map[string][]subnet{}
	for _, s := range subnets {
		on[s.networkID] = append(on[s.networkID], s)
	}
	all := map[types.UID][]held{}
	for _, n := range networks {
		if uid, ours := markedBy(n.Description, cluster); ours {
			all[uid] = append(all[uid], held{network: n, subnets: on[n.ID]})
		}
	}
	return all, nil
}

// tellOrphans counts and logs the marks that have no Network, as two sweeps in a row saw:
// between the two looks of one a Network may have come or gone.
func (p *Provider) tellOrphans(ctx context.Context, state *sweep, s scope, all map[types.UID][]held) error {
	var networks samplecrdv1.NetworkList
	if err := p.cached.List(ctx, &networks, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing Networks: %w", err)
	}
	without := maps.Clone(all)
	for i := range networks.Items {
		delete(without, networks.Items[i].UID)
	}
	orphans, sure := map[types.UID]bool{}, 0
	for _, uid := range slices.Sorted(maps.Keys(without)) {
		told, again := state.orphans[uid]
		orphans[uid] = again
		if again {
			sure++
		}
		if again && !told {
			for _, h := range without[uid] {
				ctrllog.FromContext(ctx).Info("A network on Neutron bears the mark of a Network that is gone; remove it by hand if nobody needs it", "networkID", h.ID, "name", clean(h.Name), "uid", uid)
			}
		}
	}
	state.orphans = orphans
	p.metrics.orphans.WithLabelValues(s.secret, s.cloud, s.project).Set(float64(sure))
	return nil
}
