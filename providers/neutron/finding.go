package neutron

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"

	"github.com/samplecrd/samplecrd/providers"
)

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
	there, err := w.s.subnetsOn(ctx, n.ID)
	if err == nil {
		w.now = &held{network: n, subnets: there}
	}
	return err
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
