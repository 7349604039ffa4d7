package neutron

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// attempts is how often one call goes on when somebody else changes or removes the
// network at the same time.
const attempts = 3

// work is one call of the contract.
type work struct {
	p    *Provider
	s    *session
	id   providers.Identity
	want wanted

	// now is what Neutron holds, as far as it was read or written.
	now *held
	// made is the id of the network that this call has made.
	made     string
	observed providers.Observed
}

// ensure makes Neutron hold what is wanted.
func (w *work) ensure(ctx context.Context) error {
	now, fresh, err := w.prime(ctx)
	if err != nil {
		return err
	}
	if fresh {
		w.observed = w.want.tell(now)
		return nil
	}
	for range attempts {
		err = w.once(ctx)
		if w.now != nil {
			seen := w.want.tell(*w.now)
			w.observed.ID, w.observed.SubnetIDs = seen.ID, seen.SubnetIDs
		}
		if !isCode(err, http.StatusPreconditionFailed) && !isCode(err, http.StatusNotFound) {
			break
		}
		w.id.New = false
	}
	if err == nil && len(w.observed.Draining) == 0 {
		w.p.known.saw(w.id, scopeOf(w.want.class), *w.now, w.p.clock.Now())
	} else {
		w.p.known.doubt(w.id, scopeOf(w.want.class))
	}
	return err
}

// prime has all networks of the project listed when the process knows nothing of any: a
// page tells of many, where each would be asked for alone after a restart.
func (w *work) prime(ctx context.Context) (seen held, fresh bool, err error) {
	if _, met := w.p.known.met(w.id.UID); w.id.New || met {
		return held{}, false, nil
	}
	now := w.p.clock.Now()
	if err := w.p.sweepOnce(ctx, w.s, scopeOf(w.want.class)); err != nil {
		return held{}, false, err
	}
	seen, fresh = w.p.known.recall(w.id, scopeOf(w.want.class), now.Add(-interval(w.want.class)))
	if fresh = fresh && w.want.is(seen); !fresh {
		seen = held{}
	}
	return seen, fresh, nil
}

func (w *work) once(ctx context.Context) error {
	if err := w.find(ctx); err != nil {
		return err
	}
	if w.now == nil {
		if err := w.begin(ctx); err != nil {
			return err
		}
	}
	if err := cmp.Or(w.strangers(), w.fixed()); err != nil {
		return err
	}
	inTheWay, err := w.inTheWay(ctx)
	if err != nil {
		return err
	}
	// First, since Neutron counts the revision of a network up with its subnets.
	if err := w.updateNetwork(ctx); err != nil {
		return err
	}
	if err := w.makeRoom(ctx, inTheWay); err != nil {
		return err
	}
	for _, planned := range w.want.Subnets {
		if err := w.ensureSubnet(ctx, planned); err != nil {
			return err
		}
	}
	return w.clearOut(ctx)
}

// begin makes the network, or takes over the one that is to be.
func (w *work) begin(ctx context.Context) error {
	if w.want.ImportID != "" {
		return w.takeOver(ctx)
	}
	if err := w.lookAgain(ctx); err != nil || w.now != nil {
		return err
	}
	// From here on only what we ask may be under way.
	w.p.known.sure(w.id.UID)
	made := networks.Create(ctx, w.s.ServiceClient, w.want.create())
	var n network
	err := made.ExtractIntoStructPtr(&n, "network")
	if err == nil && n.ID == "" {
		err = odd("it tells of a network without an id")
	}
	if err != nil {
		if underway(err) {
			w.p.known.losing(w.id.UID, w.p.clock.Now())
		}
		return err
	}
	w.observed.Changed = true
	w.now, w.made = &held{network: n}, n.ID
	return nil
}

func (w *work) updateNetwork(ctx context.Context) error {
	change, needed := w.want.update(w.now.network)
	if !needed {
		return nil
	}
	var n network
	if err := networks.Update(ctx, w.s.ServiceClient, w.now.ID, change).ExtractIntoStructPtr(&n, "network"); err != nil {
		return err
	}
	w.observed.Changed = true
	w.now.network = n
	return nil
}

// ensureSubnet makes one subnet what is planned.
func (w *work) ensureSubnet(ctx context.Context, planned addressing.Subnet) error {
	at := slices.IndexFunc(w.now.subnets, func(s subnet) bool { return s.Prefix == planned.Prefix })
	if at < 0 {
		return w.makeSubnet(ctx, planned)
	}
	change, needed := w.want.updateSubnet(w.now.subnets[at], planned)
	if !needed {
		return nil
	}
	var answer wire
	err := subnets.Update(ctx, w.s.ServiceClient, w.now.subnets[at].id, change).ExtractIntoStructPtr(&answer, "subnet")
	if err != nil {
		return err
	}
	w.observed.Changed = true
	w.now.subnets[at], err = answer.parse()
	return err
}

// makeSubnet makes a subnet. Neutron refuses a second one of the same range, be it ours
// whose answer was lost: then it is found.
func (w *work) makeSubnet(ctx context.Context, planned addressing.Subnet) error {
	var answer wire
	err := subnets.Create(ctx, w.s.ServiceClient, w.want.createSubnet(w.now.ID, planned)).ExtractIntoStructPtr(&answer, "subnet")
	if isCode(err, http.StatusBadRequest) || isCode(err, http.StatusConflict) {
		there, listErr := w.s.subnetsOn(ctx, w.now.ID)
		at := slices.IndexFunc(there, func(s subnet) bool { return s.Prefix == planned.Prefix && s.description == w.want.mark })
		if listErr == nil && at >= 0 {
			w.now.subnets = there
			return w.ensureSubnet(ctx, planned)
		}
	}
	if err != nil {
		return err
	}
	w.observed.Changed = true
	made, err := answer.parse()
	if err == nil {
		w.now.subnets = append(w.now.subnets, made)
	}
	return err
}

// strangers are subnets on our network that do not bear our mark. They are left alone,
// and must not be in the way.
func (w *work) strangers() error {
	for _, planned := range w.want.Subnets {
		for _, s := range w.now.subnets {
			if !w.ours(s) && s.Prefix.Overlaps(planned.Prefix) {
				return providers.Conflict("Subnet %s (%s) is on the network, is not this Network's, and overlaps %s; remove it", s.id, s.Prefix, planned.Prefix)
			}
		}
	}
	return nil
}

// fixed is what Neutron cannot change of a subnet that exists: DHCP goes with the modes
// of an IPv6 subnet, which are set when it is made.
func (w *work) fixed() error {
	for _, planned := range w.want.Subnets {
		for _, s := range w.now.subnets {
			if s.Prefix == planned.Prefix && s.Prefix.Addr().Is6() && planned.DHCP != "" && s.DHCP != planned.DHCP {
				return &providers.Error{
					Reason: samplecrdv1.NetworkReasonRejected, Retry: providers.RetrySlowly,
					Message: fmt.Sprintf("Neutron cannot switch the DHCP of %s, an IPv6 subnet that exists; leave dhcp %s, or remove the subnet and add it anew", s.Prefix, s.DHCP),
				}
			}
		}
	}
	return nil
}

// ours says that a subnet of our network is ours: by its mark, or by the plan where the
// network is one that was taken over and its marking came to no end.
func (w *work) ours(s subnet) bool {
	imported := w.want.ImportID != "" && w.want.ImportID == w.now.ID
	return s.description == w.want.mark || imported && slices.Contains(w.want.Prefixes(), s.Prefix)
}
