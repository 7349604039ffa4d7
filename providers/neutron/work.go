package neutron

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

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
		w.p.known.doubt(w.id.UID)
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

// lookAgain looks for a network by its id which no list shows, though this call has made
// it or an earlier one has recorded it. A list may be late. A network that has lost its
// mark is not ours to touch, and another beside it would help nobody.
func (w *work) lookAgain(ctx context.Context) error {
	id := cmp.Or(w.made, w.id.Recorded)
	if id == "" || id == w.want.ImportID {
		return nil
	}
	n, err := w.s.network(ctx, id)
	switch {
	case err != nil:
		return err
	case n == nil && w.made != "":
		// Removed at once, or not to be seen yet: as with an answer that was lost.
		w.p.known.losing(w.id.UID, w.p.clock.Now())
		return providers.Unsettled(w.p.settle)
	case n == nil:
		return nil
	case n.Description != w.want.mark:
		return providers.Conflict("Network %s was this Network's and does not bear its mark any more; give it the description %q again, or remove it, or delete the Network with the deletionPolicy Retain", n.ID, w.want.mark)
	}
	return w.hold(ctx, *n)
}

// hold takes a network for the Network's, with the subnets that are on it.
func (w *work) hold(ctx context.Context, n network) error {
	there, err := w.s.subnetsBy(ctx, "network_id", n.ID)
	if err == nil {
		w.now = &held{network: n, subnets: there}
	}
	return err
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
		there, listErr := w.s.subnetsBy(ctx, "network_id", w.now.ID)
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

// find looks for the Network's network by its mark; now stays nil where there is none,
// and there can be none on its way.
func (w *work) find(ctx context.Context) error {
	if w.now = nil; w.id.New {
		return nil
	}
	found, err := w.s.networksBy(ctx, "description", w.want.mark)
	if err != nil {
		return err
	}
	// Whoever filters differently must not make us take what is not ours.
	found = slices.DeleteFunc(found, func(n network) bool { return n.Description != w.want.mark || n.ID == "" })
	switch len(found) {
	case 0:
		// One may be on its way.
		if left := w.p.unsettled(w.id.UID); left > 0 {
			return providers.Unsettled(left)
		}
		return nil
	case 1:
	default:
		ids := make([]string, len(found))
		for i, n := range found {
			ids[i] = n.ID
		}
		slices.Sort(ids)
		return providers.Ambiguous("%d networks bear this Network's mark, %s; remove the description of all but one of them, or remove the others", len(ids), clean(strings.Join(ids, ", ")))
	}
	w.p.known.sure(w.id.UID)
	return w.hold(ctx, found[0])
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

// network gives the network of that id; nil when there is none.
func (s *session) network(ctx context.Context, id string) (*network, error) {
	var n network
	err := networks.Get(ctx, s.ServiceClient, id).ExtractIntoStructPtr(&n, "network")
	if isCode(err, http.StatusNotFound) {
		return nil, nil
	}
	if err == nil && n.ID != id {
		err = fmt.Errorf("asking for network %q: %w", clean(id), odd("it tells of another one"))
	}
	return &n, err
}
