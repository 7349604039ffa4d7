// Package memory is a backend that works, in memory, with switches for the faults
// that a real one will not produce on demand. It is for tests.
package memory

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// Network is a network that the provider holds.
type Network struct {
	// ID is the provider's own name for the network.
	ID string
	// Owner is the Network it was made for.
	Owner providers.Identity
	// Subnets are the planned ones in order, then those that drain.
	Subnets []Subnet
	// MTU in bytes; 0 for the provider's own.
	MTU int32
}

// Provider is the fake. The zero value is not usable; see New.
type Provider struct {
	mu       sync.Mutex
	networks map[types.UID]Network
	released []Network
	foreign  map[types.NamespacedName]bool
	failures []error
	calls    map[string]int
	writes   int
	serial   int
	gate     chan struct{}
	limits   addressing.Limits
	events   chan event.GenericEvent
}

var (
	_ providers.Provider = &Provider{}
	_ providers.Watcher  = &Provider{}
)

// New gives an empty provider without limits.
func New() *Provider {
	return &Provider{
		networks: map[types.UID]Network{},
		foreign:  map[types.NamespacedName]bool{},
		calls:    map[string]int{},
		// Never full in a test: an event that is not read blocks its sender.
		events: make(chan event.GenericEvent, 1024),
	}
}

// Limits gives what SetLimits was told; nothing is forbidden at first.
func (p *Provider) Limits(*samplecrdv1.NetworkClassSpec) addressing.Limits {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.limits
}

// Ensure makes, keeps and drops subnets until they are those of the plan.
func (p *Provider) Ensure(ctx context.Context, id providers.Identity, _ *samplecrdv1.NetworkClassSpec, plan addressing.Plan) (providers.Observed, error) {
	if err := p.enter(ctx, "Ensure"); err != nil {
		return providers.Observed{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.foreign[id.NamespacedName] {
		return providers.Observed{}, providers.Conflict("Network %q exists on the backend and is not ours; remove it", id.Name)
	}
	held := p.networks[id.UID]
	draining, blocking := held.leaving(plan)
	if len(blocking) > 0 {
		observed := held.observed()
		observed.Draining = slices.Concat(draining, blocking)
		return observed, providers.InTheWay(blocking...)
	}
	owner := providers.Identity{UID: id.UID, NamespacedName: id.NamespacedName}
	want := Network{ID: held.ID, Owner: owner, MTU: plan.MTU, Subnets: held.toward(plan, p.name)}
	if want.ID == "" {
		want.ID = p.name("memory")
	}
	changed := !reflect.DeepEqual(held, want)
	if changed {
		p.writes++
		p.networks[id.UID] = want
	}
	observed := want.observed()
	observed.Draining, observed.Changed = draining, changed
	return observed, nil
}

// Delete forgets the network, unless somebody uses a subnet of it.
func (p *Provider) Delete(ctx context.Context, id providers.Identity, _ *samplecrdv1.NetworkClassSpec) error {
	if err := p.enter(ctx, "Delete"); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	network, exists := p.networks[id.UID]
	if !exists {
		return nil
	}
	if users := network.users(); users.Any() {
		return providers.InUse(users)
	}
	p.writes++
	delete(p.networks, id.UID)
	return nil
}

// Release moves the network to those that nobody manages.
func (p *Provider) Release(ctx context.Context, id providers.Identity, _ *samplecrdv1.NetworkClassSpec) error {
	if err := p.enter(ctx, "Release"); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if network, exists := p.networks[id.UID]; exists {
		p.writes++
		delete(p.networks, id.UID)
		p.released = append(p.released, network)
	}
	return nil
}

// Source tells of the changes that Tamper, SetUsers, SetOthers and SetForeign make.
func (p *Provider) Source() (source.Source, error) {
	return source.Channel(p.events, &handler.EnqueueRequestForObject{}), nil
}

// enter counts a call, waits at the gate and gives the failure that is due.
func (p *Provider) enter(ctx context.Context, call string) error {
	p.mu.Lock()
	p.calls[call]++
	gate := p.gate
	p.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
		}
	}
	if err := ctx.Err(); err != nil {
		return providers.Unavailable(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.failures) == 0 {
		return nil
	}
	err := p.failures[0]
	p.failures = p.failures[1:]
	return err
}

func (p *Provider) notify(name types.NamespacedName) {
	object := &samplecrdv1.Network{}
	object.Namespace, object.Name = name.Namespace, name.Name
	p.events <- event.GenericEvent{Object: client.Object(object)}
}

// name gives what was made an id of its own.
func (p *Provider) name(kind string) string {
	p.serial++
	return fmt.Sprintf("%s-%d", kind, p.serial)
}

// Networks gives a copy of what the provider holds, by owner.
func (p *Provider) Networks() map[types.UID]Network {
	p.mu.Lock()
	defer p.mu.Unlock()
	networks := make(map[types.UID]Network, len(p.networks))
	for uid, network := range p.networks {
		networks[uid] = network.clone()
	}
	return networks
}

// Released gives a copy of what was left behind.
func (p *Provider) Released() []Network {
	p.mu.Lock()
	defer p.mu.Unlock()
	released := make([]Network, len(p.released))
	for i, network := range p.released {
		released[i] = network.clone()
	}
	return released
}

// Calls tells how often a method was called.
func (p *Provider) Calls(method string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[method]
}

// Writes counts the changes made through the contract.
func (p *Provider) Writes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writes
}
