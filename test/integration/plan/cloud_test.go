package plan

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/providers/memory"
)

// cloud is the backend of one address plan. It takes one call at a time and looks
// after each whether it holds two subnets that overlap.
type cloud struct {
	*memory.Provider

	mu   sync.Mutex
	made int
	both []string
}

func newCloud() *cloud { return &cloud{Provider: memory.New()} }

func (c *cloud) Ensure(ctx context.Context, id providers.Identity, class *samplecrdv1.NetworkClassSpec, plan addressing.Plan) (providers.Observed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	observed, err := c.Provider.Ensure(ctx, id, class, plan)
	if observed.Changed {
		c.made++
		c.look(id)
	}
	return observed, err
}

func (c *cloud) Delete(ctx context.Context, id providers.Identity, class *samplecrdv1.NetworkClassSpec) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Provider.Delete(ctx, id, class)
}

// look compares what one Network has with what all others have.
func (c *cloud) look(id providers.Identity) {
	all := c.Networks()
	for uid, other := range all {
		if uid == id.UID {
			continue
		}
		for _, subnet := range all[id.UID].Subnets {
			if slices.ContainsFunc(other.Subnets, func(held memory.Subnet) bool { return held.Prefix.Overlaps(subnet.Prefix) }) {
				c.both = append(c.both, fmt.Sprintf("%s while %s has a part of it: %s", id, other.Owner, subnet.Prefix))
			}
		}
	}
}

// overlaps tells of every two subnets that overlapped at any time.
func (c *cloud) overlaps() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.both)
}

// changes counts the calls that made or changed a network.
func (c *cloud) changes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.made
}
