package memory

import (
	"fmt"
	"net/netip"

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

// SetUsers makes a subnet used, or with no users free again. It fails when the
// subnet is not there.
func (p *Provider) SetUsers(uid types.UID, prefix netip.Prefix, users ...string) error {
	return p.change(uid, prefix, func(subnet *Subnet) { subnet.Users.Named = users })
}

// SetOthers lets somebody use a subnet who must not be named, or no longer. It
// fails when the subnet is not there.
func (p *Provider) SetOthers(uid types.UID, prefix netip.Prefix, there bool) error {
	return p.change(uid, prefix, func(subnet *Subnet) { subnet.Users.Others = there })
}

func (p *Provider) change(uid types.UID, prefix netip.Prefix, change func(*Subnet)) error {
	p.mu.Lock()
	network := p.networks[uid].clone()
	i := network.index(prefix)
	if i < 0 {
		p.mu.Unlock()
		return fmt.Errorf("network of %s has no subnet %s", uid, prefix)
	}
	change(&network.Subnets[i])
	p.networks[uid] = network
	p.mu.Unlock()
	p.notify(network.Owner.NamespacedName)
	return nil
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
	network := p.networks[uid].clone()
	owner := network.Owner
	change(&network)
	p.networks[uid] = network
	if network.ID == "" {
		delete(p.networks, uid)
	}
	p.mu.Unlock()
	p.notify(owner.NamespacedName)
}
