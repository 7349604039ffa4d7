// Package claims tells, on every replica, which Network claims or asks for which
// prefix, as the cache shows it. Webhooks read it, and so does the controller.
package claims

import (
	"context"
	"fmt"
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
	// scopes are those of the classes that there are.
	scopes map[string]samplecrdv1.OverlapScope
}

func newFeed(reader client.Reader) *feed {
	return &feed{reader: reader, table: addressing.NewClaims(), scopes: map[string]samplecrdv1.OverlapScope{}}
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

// class moves the Networks of a class to where they compete now.
func (f *feed) class(ctx context.Context, before, after *samplecrdv1.NetworkClass) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if before != nil && after != nil && before.Spec.OverlapScope == after.Spec.OverlapScope {
		return
	}
	name := ""
	switch {
	case after != nil:
		name = after.Name
		f.scopes[name] = after.Spec.OverlapScope
	case before != nil:
		name = before.Name
		delete(f.scopes, name)
	}
	var networks samplecrdv1.NetworkList
	if err := f.reader.List(ctx, &networks, client.MatchingFields{samplecrdv1.FieldNetworkClassName: name}, client.UnsafeDisableDeepCopy); err != nil {
		return // Only because the cache stops, or has not begun: its Networks come one by one.
	}
	for i := range networks.Items {
		f.set(&networks.Items[i])
	}
}

func (f *feed) set(network *samplecrdv1.Network) {
	scope := addressing.Scope{}
	if overlapScope, known := f.scopes[network.Spec.NetworkClassName]; known {
		scope = addressing.ScopeOf(network.Spec.NetworkClassName, overlapScope, network.Namespace)
	}
	f.table.Set(addressing.OwnerOf(network), scope, addressing.Recorded(&network.Status), addressing.Asked(&network.Spec))
}
