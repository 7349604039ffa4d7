package memory

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/samplecrd/samplecrd/addressing"
)

// SetLimits makes Limits answer with limits.
func (p *Provider) SetLimits(limits addressing.Limits) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limits = limits
}

// Fail makes the next calls fail, one error each.
func (p *Provider) Fail(errs ...error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures = append(p.failures, errs...)
}

// Block holds every call until the returned function is called.
func (p *Provider) Block() (unblock func()) {
	gate := make(chan struct{})
	p.mu.Lock()
	p.gate = gate
	p.mu.Unlock()
	return func() {
		p.mu.Lock()
		p.gate = nil
		p.mu.Unlock()
		close(gate)
	}
}

// SetUsers makes a network used, or with no users free again.
func (p *Provider) SetUsers(uid types.UID, users ...string) {
	p.mu.Lock()
	p.users[uid] = users
	owner := p.networks[uid].Owner
	p.mu.Unlock()
	p.notify(owner.NamespacedName)
}

// SetForeign puts a network that is not ours in the place of name, or takes it
// away.
func (p *Provider) SetForeign(name types.NamespacedName, there bool) {
	p.mu.Lock()
	p.foreign[name] = there
	p.mu.Unlock()
	p.notify(name)
}

// Tamper changes a network behind the controller's back; a change that leaves it
// with no ID removes it.
func (p *Provider) Tamper(uid types.UID, change func(*Network)) {
	p.mu.Lock()
	network := p.networks[uid]
	owner := network.Owner
	change(&network)
	p.networks[uid] = network
	if network.ID == "" {
		delete(p.networks, uid)
	}
	p.mu.Unlock()
	p.notify(owner.NamespacedName)
}
