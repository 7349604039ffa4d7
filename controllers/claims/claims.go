// Package claims tells, on every replica, which Network claims or asks for which
// prefix, as the cache shows it. Webhooks read it, and so does the controller.
package claims

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/changes"
)

// feed keeps a table as the cache is.
type feed struct {
	reader client.Reader
	table  *addressing.Claims

	// mu keeps the events of Networks and classes apart.
	mu sync.Mutex
	// classes are those that there are: a class says where its Networks compete. One
	// without a class competes where the default class is, which it will be given.
	classes   map[string]*samplecrdv1.NetworkClass
	byDefault string
}

func newFeed(reader client.Reader) *feed {
	return &feed{reader: reader, table: addressing.NewClaims(), classes: map[string]*samplecrdv1.NetworkClass{}}
}

func classOf(object client.Object) []string {
	return []string{object.(*samplecrdv1.Network).Spec.NetworkClassName}
}

// Feed gives the table and keeps it as the cache is, until ctx ends. It returns
// when the table holds all that there is.
func Feed(ctx context.Context, informers ctrlcache.Cache) (*addressing.Claims, error) {
	f := newFeed(informers)
	if err := informers.IndexField(ctx, &samplecrdv1.Network{}, samplecrdv1.FieldNetworkClassName, classOf); err != nil {
		return nil, fmt.Errorf("indexing Networks by class: %w", err)
	}
	var synced []cache.InformerSynced
	for _, watched := range []struct {
		kind    client.Object
		handler cache.ResourceEventHandler
	}{
		{&samplecrdv1.NetworkClass{}, changes.Handler(func(before, after *samplecrdv1.NetworkClass) { f.class(ctx, before, after) })},
		{&samplecrdv1.Network{}, changes.Handler(f.network)},
	} {
		informer, err := informers.GetInformer(ctx, watched.kind)
		if err != nil {
			return nil, err
		}
		registration, err := informer.AddEventHandler(watched.handler)
		if err != nil {
			return nil, err
		}
		synced = append(synced, registration.HasSynced)
	}
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil, ctx.Err()
	}
	return f.table, nil
}

func (f *feed) network(before, after *samplecrdv1.Network) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if before != nil && (after == nil || after.UID != before.UID) {
		f.table.Remove(before.UID)
	}
	if after != nil {
		f.set(after)
	}
}

// class moves the Networks that a change of classes concerns to where they compete
// now, the older ones first: who finds itself moved finds all moved that come before
// it.
func (f *feed) class(ctx context.Context, before, after *samplecrdv1.NetworkClass) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var moved []string
	switch {
	case after != nil:
		if known := f.classes[after.Name]; known == nil || known.Spec.OverlapScope != after.Spec.OverlapScope {
			moved = append(moved, after.Name)
		}
		f.classes[after.Name] = after
	case before != nil:
		moved = append(moved, before.Name)
		delete(f.classes, before.Name)
	}
	byDefault := ""
	if class := samplecrdv1.DefaultClass(maps.Values(f.classes)); class != nil {
		byDefault = class.Name
	}
	if byDefault != f.byDefault || slices.Contains(moved, byDefault) {
		f.byDefault, moved = byDefault, append(moved, "")
	}
	f.move(ctx, moved)
}

// move sets the Networks of classes anew; "" stands for those without one.
func (f *feed) move(ctx context.Context, classes []string) {
	var moving []*samplecrdv1.Network
	for _, name := range classes {
		var networks samplecrdv1.NetworkList
		if err := f.reader.List(ctx, &networks, client.MatchingFields{samplecrdv1.FieldNetworkClassName: name}, client.UnsafeDisableDeepCopy); err != nil {
			continue // Only because the cache stops, or has not begun: its Networks come one by one.
		}
		for i := range networks.Items {
			moving = append(moving, &networks.Items[i])
		}
	}
	slices.SortFunc(moving, func(a, b *samplecrdv1.Network) int { return addressing.OwnerOf(a).Compare(addressing.OwnerOf(b)) })
	for _, network := range moving {
		f.set(network)
	}
}

func (f *feed) set(network *samplecrdv1.Network) {
	scope := addressing.Scope{}
	if class := f.classes[cmp.Or(network.Spec.NetworkClassName, f.byDefault)]; class != nil {
		scope = addressing.ScopeOf(class.Name, class.Spec.OverlapScope, network.Namespace)
	}
	f.table.Set(addressing.OwnerOf(network), scope, addressing.Recorded(&network.Status), addressing.Asked(&network.Spec))
}
