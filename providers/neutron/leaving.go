package neutron

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/samplecrd/samplecrd/providers"
)

// neutronsOwn are the owners of ports that Neutron removes by itself with their subnet
// or network.
var neutronsOwn = []string{"network:dhcp", "network:distributed", "network:floatingip_agent_gateway"}

// users are the ports that hold a network, by the subnet that they have addresses of;
// "" has those of all.
type users map[string]providers.Users

// users reads who uses the network: its ports, by id, which tells nothing of anybody.
func (w *work) users(ctx context.Context) (users, error) {
	ports, err := w.s.portsOf(ctx, w.now.ID)
	if err != nil {
		return nil, err
	}
	all := users{}
	for _, p := range ports {
		if slices.Contains(neutronsOwn, p.DeviceOwner) {
			continue
		}
		name := "port " + p.ID
		if p.DeviceOwner != "" {
			name += " (" + clean(p.DeviceOwner) + ")"
		}
		all.add("", name)
		for _, ip := range p.FixedIPs {
			all.add(ip.SubnetID, name)
		}
	}
	return all, nil
}

func (u users) add(subnet, name string) {
	by := u[subnet]
	by.Named = append(by.Named, name)
	u[subnet] = by
}

// leaving are our subnets that the plan no longer has.
func (w *work) leaving() []subnet {
	var all []subnet
	for _, s := range w.now.subnets {
		if w.ours(s) && !slices.Contains(w.want.Prefixes(), s.Prefix) {
			all = append(all, s)
		}
	}
	return all
}

// inTheWay gives the subnets that are planned no longer and in the way of what is, and
// tells which drain. Where somebody uses one that is in the way nothing is to be changed.
func (w *work) inTheWay(ctx context.Context) ([]subnet, error) {
	w.observed.Draining = nil
	leaving := w.leaving()
	if len(leaving) == 0 {
		return nil, nil
	}
	by, err := w.users(ctx)
	if err != nil {
		return nil, err
	}
	var inTheWay []subnet
	var blocking []providers.Draining
	for _, s := range leaving {
		overlaps, draining := slices.ContainsFunc(w.want.Subnets, s.overlaps), s.draining(by)
		if overlaps {
			inTheWay = append(inTheWay, s)
		}
		if draining.Users.Any() {
			w.observed.Draining = append(w.observed.Draining, draining)
		}
		if overlaps && draining.Users.Any() {
			blocking = append(blocking, draining)
		}
	}
	if len(blocking) > 0 {
		return nil, waiting(providers.InTheWay(blocking...))
	}
	return inTheWay, nil
}

// makeRoom removes the subnets that are in the way.
func (w *work) makeRoom(ctx context.Context, inTheWay []subnet) error {
	for _, s := range inTheWay {
		gone, err := w.removeSubnet(ctx, s)
		if err != nil {
			return err
		}
		if !gone {
			return waiting(providers.InTheWay(w.inUse(ctx, s)))
		}
	}
	return nil
}

// clearOut removes the other subnets that are planned no longer, as far as nobody uses
// them.
func (w *work) clearOut(ctx context.Context) error {
	for _, s := range w.leaving() {
		if slices.ContainsFunc(w.observed.Draining, func(d providers.Draining) bool { return d.Prefix == s.Prefix }) {
			continue
		}
		gone, err := w.removeSubnet(ctx, s)
		if err != nil {
			return err
		}
		if !gone {
			w.observed.Draining = append(w.observed.Draining, w.inUse(ctx, s))
		}
	}
	return nil
}

// removeSubnet removes a subnet, or says that somebody uses it.
func (w *work) removeSubnet(ctx context.Context, s subnet) (gone bool, err error) {
	err = subnets.Delete(ctx, w.s.ServiceClient, s.id).ExtractErr()
	switch {
	case isCode(err, http.StatusConflict):
		return false, nil
	case err == nil:
		w.observed.Changed = true
	case !isCode(err, http.StatusNotFound):
		return false, err
	}
	w.now.subnets = slices.DeleteFunc(w.now.subnets, func(other subnet) bool { return other.id == s.id })
	return true, nil
}

// inUse tells who came to use a subnet that Neutron did not remove.
func (w *work) inUse(ctx context.Context, s subnet) providers.Draining {
	by, err := w.users(ctx)
	if err != nil || !by[s.id].Any() {
		by = users{s.id: {Others: true}}
	}
	return s.draining(by)
}

func (s subnet) draining(by users) providers.Draining {
	return providers.Draining{Prefix: s.Prefix, Gateway: s.Gateway, ID: s.id, Users: by[s.id]}
}

// waiting is what cannot go yet. Neutron does not tell when it can.
func waiting(failure *providers.Error) *providers.Error {
	failure.After = spread(time.Minute)
	return failure
}

func stillUsed(by providers.Users) error { return waiting(providers.InUse(by)) }

// delete removes all of the network, when nobody uses any of it.
func (w *work) delete(ctx context.Context) error {
	if err := w.find(ctx); err != nil {
		return err
	}
	if w.now == nil {
		if err := w.lookAgain(ctx); err != nil || w.now == nil {
			return err
		}
	}
	by, err := w.users(ctx)
	if err != nil {
		return err
	}
	for _, s := range w.now.subnets {
		if !w.ours(s) {
			by.add("", "subnet "+s.id)
		}
	}
	if by[""].Any() {
		return stillUsed(by[""])
	}
	for _, s := range slices.Clone(w.now.subnets) {
		gone, err := w.removeSubnet(ctx, s)
		if err != nil {
			return err
		}
		if !gone {
			return stillUsed(w.inUse(ctx, s).Users)
		}
	}
	err = networks.Delete(ctx, w.s.ServiceClient, w.now.ID).ExtractErr()
	switch {
	case isCode(err, http.StatusNotFound):
		return nil
	case isCode(err, http.StatusConflict):
		by, listErr := w.users(ctx)
		if listErr != nil || !by[""].Any() {
			by = users{"": {Others: true}}
		}
		return stillUsed(by[""])
	}
	return err
}

// release takes the marks off, the network's last: while it has it, the rest is found.
func (w *work) release(ctx context.Context) error {
	if err := w.find(ctx); err != nil || w.now == nil {
		return err
	}
	for _, s := range w.now.subnets {
		if s.description != w.want.mark {
			continue
		}
		change := subnets.UpdateOpts{Description: new(""), RevisionNumber: &s.revision}
		if err := subnets.Update(ctx, w.s.ServiceClient, s.id, change).Err; err != nil && !isCode(err, http.StatusNotFound) {
			return err
		}
	}
	// Neutron counts the revision of a network up with those of its subnets.
	n, err := w.s.network(ctx, w.now.ID)
	if err != nil || n == nil || n.Description != w.want.mark {
		return err
	}
	return networks.Update(ctx, w.s.ServiceClient, n.ID, networkUpdate{Description: new(""), Revision: &n.Revision}).Err
}
