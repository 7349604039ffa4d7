package neutron

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// defaultInterval is that of spec.neutron.driftIntervalSeconds, for a class stored
// without it.
const defaultInterval = 10 * time.Minute

// defaultCloud is the default of spec.neutron.cloud, for a class stored without it.
const defaultCloud = "openstack"

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

	round
}

// round is where the loop of sweeps is with one.
type round struct {
	running bool
	// ended is when the last sweep did, failed whether it had no success, and share how
	// much of an interval lies before the next.
	ended  time.Time
	failed bool
	share  float64
}

// due says that a sweep is to begin, at the interval that counts now.
func (s round) due(now time.Time, interval time.Duration) bool {
	if s.failed {
		interval = min(interval, probing)
	}
	return !s.running && !now.Before(s.ended.Add(time.Duration(s.share*float64(interval))))
}

// Start sweeps the projects of all classes, each at its interval, until ctx ends. It is
// for the leader alone.
func (p *Provider) Start(ctx context.Context) error {
	const look = time.Second
	var sweeps sync.WaitGroup
	defer sweeps.Wait()
	for {
		classes, err := p.swept(ctx)
		if err == nil {
			p.abandon(classes)
		}
		for s, spec := range classes {
			p.mu.Lock()
			state := p.state(s)
			due := state.due(p.clock.Now(), interval(spec))
			state.running = state.running || due
			p.mu.Unlock()
			if !due {
				continue
			}
			sweeps.Go(func() {
				err := p.in(ctx, sweeper, spec, func(session *session) error { return p.sweep(ctx, session, s) })
				if err != nil {
					ctrllog.FromContext(ctx).V(1).Info("Sweeping Neutron", "secret", s.secret, "cloud", s.cloud, "cause", err.Error())
				}
				p.mu.Lock()
				defer p.mu.Unlock()
				state.round = round{ended: p.clock.Now(), failed: err != nil, share: share()}
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.clock.After(look):
		}
	}
}

// share is a part of a delay, within a fifth of all of it.
func share() float64 { return 1 - jitter + 2*jitter*rand.Float64() }

// spread gives a delay within a fifth of d.
func spread(d time.Duration) time.Duration { return time.Duration(share() * float64(d)) }

// abandon forgets the scopes that no class has any more, with what is told of them, and
// the credentials.
func (p *Provider) abandon(classes map[scope]*samplecrdv1.NeutronSpec) {
	p.mu.Lock()
	defer p.mu.Unlock()
	used := map[accountKey]bool{}
	for s := range classes {
		used[s.accountKey] = true
	}
	for key := range p.accounts {
		if !used[key] {
			delete(p.accounts, key)
		}
	}
	for s, state := range p.scopes {
		if classes[s] == nil && !state.running {
			delete(p.scopes, s)
			p.metrics.orphans.DeleteLabelValues(s.secret, s.cloud, s.project)
		}
	}
}

// swept gives the scopes of all classes. Of classes that share one the shortest interval
// counts.
func (p *Provider) swept(ctx context.Context) (map[scope]*samplecrdv1.NeutronSpec, error) {
	var classes samplecrdv1.NetworkClassList
	if err := p.cached.List(ctx, &classes); err != nil {
		return nil, err
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
	return all, nil
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
	all, err := p.listed(ctx, session, session.projectOf(s.project))
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
	subnets, err := session.wiresBy(ctx, "project_id", project)
	if err != nil {
		return nil, err
	}
	on := map[string][]wire{}
	for _, s := range subnets {
		on[s.NetworkID] = append(on[s.NetworkID], s)
	}
	all := map[types.UID][]held{}
	for _, n := range networks {
		uid, ours := markedBy(n.Description, cluster)
		if !ours {
			continue
		}
		there, err := parsed(on[n.ID])
		if err != nil {
			return nil, err
		}
		all[uid] = append(all[uid], held{network: n, subnets: there})
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
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scopes[s] = state // By which it is told no more when the class is gone.
	p.metrics.orphans.WithLabelValues(s.secret, s.cloud, s.project).Set(float64(sure))
	return nil
}
