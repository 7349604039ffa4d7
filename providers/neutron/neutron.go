// Package neutron makes a Network a network of OpenStack Neutron, with its subnets
// (Networking API v2.0).
package neutron

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// The right to read Secrets comes with config/components/neutron alone.
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get

// Options say what the backend works with.
type Options struct {
	// Live reads from the API server: the Secrets of credentials, one at a time, and
	// the namespace kube-system, whose UID is the cluster's.
	Live client.Reader
	// Cached reads Networks and NetworkClasses.
	Cached client.Reader
	// Namespace is the manager's own, where the Secrets are; "" when it is not known.
	Namespace string
	// Clock tells the time. Default: the real one.
	Clock clock.WithTicker
	// Settle is how long a request whose answer was lost may still be under way.
	// Default: 30 s.
	Settle time.Duration
	// Transport puts something in front of the clouds, for tests. Default: nothing.
	Transport func(http.RoundTripper) http.RoundTripper
}

// Provider keeps one Neutron network per Network. What marks it as ours is its
// description, which has the Network's UID and the cluster's, and is part of the request
// that makes it; one without is never touched.
type Provider struct {
	live, cached client.Reader
	namespace    string
	clock        clock.WithTicker
	settle       time.Duration
	transport    func(http.RoundTripper) http.RoundTripper
	metrics      metrics

	mu       sync.Mutex
	accounts map[accountKey]*account
	clouds   map[string]*gate
	cluster  types.UID
	// begun is when the first call came: an earlier process may have made others just
	// before.
	begun time.Time
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
	// busy has a lock for each Network that is worked on.
	busy map[types.UID]*turn

	known  *knowledge
	scopes map[scope]*sweep
}

var (
	_ providers.Provider = &Provider{}
	_ providers.Watcher  = &Provider{}
)

// New gives a provider. It has to be added to the manager as a Runnable, for its sweep.
func New(o Options) *Provider {
	p := &Provider{
		live: o.Live, cached: o.Cached, namespace: o.Namespace, clock: o.Clock, settle: o.Settle,
		metrics:  newMetrics(),
		accounts: map[accountKey]*account{}, clouds: map[string]*gate{}, busy: map[types.UID]*turn{},
		known: newKnowledge(), scopes: map[scope]*sweep{},
	}
	if p.clock == nil {
		p.clock = clock.RealClock{}
	}
	if p.settle == 0 {
		p.settle = 30 * time.Second
	}
	p.transport = func(inner http.RoundTripper) http.RoundTripper {
		if o.Transport != nil {
			inner = o.Transport(inner)
		}
		return p.metrics.counting(limited{inner})
	}
	return p
}

// The longest prefixes that Neutron's DHCP serves.
const longestIPv4DHCP, longestIPv6DHCP = 30, 126

// Limits are those of Neutron as it comes: its checks of DHCP, DNS servers and gateways
// (of an IPv6 /127 it takes the first address for its own pool and then refuses the
// pool), and the defaults of max_dns_nameservers and max_subnet_host_routes.
func (p *Provider) Limits(*samplecrdv1.NetworkClassSpec) addressing.Limits {
	return addressing.Limits{
		Backend: "Neutron", LongestIPv4DHCP: longestIPv4DHCP, LongestIPv6DHCP: longestIPv6DHCP,
		NoTinyIPv4Gateway: true, IPv6PairNeedsGateway: true,
		MostDNSServers: 5, DNSOfFamily: true, MostRoutes: 20,
	}
}

// Source yields a request for a Network whose network the sweep found changed, or that
// waited for its cloud.
func (p *Provider) Source() (source.Source, error) {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.queue = queue
		return nil
	}), nil
}

// wake asks for another look at a Network.
func (p *Provider) wake(name types.NamespacedName) {
	p.mu.Lock()
	queue := p.queue
	p.mu.Unlock()
	if queue != nil {
		queue.Add(reconcile.Request{NamespacedName: name})
	}
}

// Ensure makes the network and its subnets what plan says. One that nothing can be there
// of costs a request each; one that was seen to be as planned, since the last sweep or
// in it, none.
func (p *Provider) Ensure(ctx context.Context, id providers.Identity, class *samplecrdv1.NetworkClassSpec, plan addressing.Plan) (providers.Observed, error) {
	defer p.turn(id.UID)()
	cluster, err := p.clusterUID(ctx)
	if err != nil {
		return providers.Observed{}, err
	}
	if class.Neutron == nil {
		return providers.Observed{}, noCloud()
	}
	want := wanted{Plan: plan, class: class.Neutron, mark: mark(cluster, id.UID)}
	if plan.ImportID == "" {
		want.name = nameOf(id)
	}
	if now, fresh := p.known.recall(id, scopeOf(class.Neutron), p.clock.Now().Add(-2*interval(class.Neutron))); fresh && want.is(now) {
		return want.tell(now), nil
	}
	var seen providers.Observed
	err = p.in(ctx, id.NamespacedName, class.Neutron, func(s *session) error {
		w := work{p: p, s: s, id: id, want: want}
		err := w.ensure(ctx)
		seen = w.observed
		return err
	})
	return seen, err
}

// Delete removes the subnets, then the network, when nobody uses it.
func (p *Provider) Delete(ctx context.Context, id providers.Identity, class *samplecrdv1.NetworkClassSpec) error {
	return p.letGo(ctx, id, class, func(w *work) error { return w.delete(ctx) })
}

// Release takes the marks off.
func (p *Provider) Release(ctx context.Context, id providers.Identity, class *samplecrdv1.NetworkClassSpec) error {
	return p.letGo(ctx, id, class, func(w *work) error { return w.release(ctx) })
}

func (p *Provider) letGo(ctx context.Context, id providers.Identity, class *samplecrdv1.NetworkClassSpec, do func(*work) error) error {
	defer p.turn(id.UID)()
	if class == nil || class.Neutron == nil {
		if id.Recorded == "" {
			return nil // There was never one of ours.
		}
		return noCloud()
	}
	cluster, err := p.clusterUID(ctx)
	if err != nil {
		return err
	}
	want := wanted{Plan: id.Imported, class: class.Neutron, mark: mark(cluster, id.UID)}
	err = p.in(ctx, id.NamespacedName, class.Neutron, func(s *session) error {
		return do(&work{p: p, s: s, id: id, want: want})
	})
	if err == nil {
		p.known.forget(id.UID)
	} else {
		p.known.doubt(id, scopeOf(class.Neutron))
	}
	return err
}

// noCloud is a class that is gone, or that says nothing of a cloud.
func noCloud() error {
	return providers.CredentialsMissing(time.Minute, "Credentials missing: there is no NetworkClass that names them for Neutron; create it again")
}

// clusterUID tells the cluster from others that use the same project.
func (p *Provider) clusterUID(ctx context.Context) (types.UID, error) {
	p.mu.Lock()
	if p.begun.IsZero() {
		p.begun = p.clock.Now()
	}
	known := p.cluster
	p.mu.Unlock()
	if known != "" {
		return known, nil
	}
	var namespace corev1.Namespace
	if err := p.live.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, &namespace); err != nil {
		return "", fmt.Errorf("reading the cluster's UID: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cluster = namespace.UID
	return p.cluster, nil
}

// unsettled is how long a request that would make the Network's network may still be
// under way: one of ours whose answer was lost, or of a process before this one.
func (p *Provider) unsettled(uid types.UID) time.Duration {
	p.mu.Lock()
	since := p.begun
	p.mu.Unlock()
	if lost, met := p.known.met(uid); met {
		since = lost
	}
	return since.Add(p.settle).Sub(p.clock.Now())
}

// turn keeps calls for one Network apart: Neutron would make two networks of one mark.
type turn struct {
	sync.Mutex
	takers int
}

func (p *Provider) turn(uid types.UID) (end func()) {
	p.mu.Lock()
	t := p.busy[uid]
	if t == nil {
		t = &turn{}
		p.busy[uid] = t
	}
	t.takers++
	p.mu.Unlock()
	t.Lock()
	return func() {
		t.Unlock()
		p.mu.Lock()
		defer p.mu.Unlock()
		if t.takers--; t.takers == 0 {
			delete(p.busy, uid)
		}
	}
}
