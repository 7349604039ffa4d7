package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/samplecrd/samplecrd/apis"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/certs"
	"github.com/samplecrd/samplecrd/controllers"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/providers/multus"
	"github.com/samplecrd/samplecrd/providers/neutron"
	"github.com/samplecrd/samplecrd/webhooks"
)

func newManager(opts options, server *certs.Server) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apis.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	rest, err := clientcmd.BuildConfigFromFlags(opts.master, opts.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the configuration of the API server: %w", err)
	}
	// The API server's priority and fairness limits us; a throttle of our own
	// would only delay what it admits.
	rest.QPS = -1
	mgr, err := ctrl.NewManager(rest, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: opts.metrics},
		HealthProbeBindAddress:        opts.probes,
		WebhookServer:                 server,
		LeaderElection:                opts.leaderElection,
		LeaderElectionID:              "samplecrd-controller.samplecrd.k8s.io",
		LeaderElectionNamespace:       opts.leaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(15 * time.Second),
		RenewDeadline:                 new(10 * time.Second),
		// A standby looks at the Lease every 1 to 2.2 times this, at random: so long
		// nobody leads after the leader stopped, and that much on top of the Lease's
		// duration after it was killed.
		RetryPeriod: new(1 * time.Second),
		// What is under way when the drain is over: webhooks take 5 s at most.
		GracefulShutdownTimeout: new(15 * time.Second),
		// A standby keeps its caches warm, so that a takeover costs the lease alone.
		Controller: config.Controller{EnableWarmup: new(true)},
		Cache:      controllers.CacheOptions(),
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	return mgr, nil
}

// bundle adds webhooks and controllers to a running manager once their kinds are
// served. Until then the process is alive and not ready.
type bundle struct {
	mgr   ctrl.Manager
	opts  options
	added atomic.Bool
}

func newBundle(mgr ctrl.Manager, opts options) *bundle { return &bundle{mgr: mgr, opts: opts} }

// NeedLeaderElection is false: webhooks are served on every replica.
func (b *bundle) NeedLeaderElection() bool { return false }

// Start waits for the kinds and sets everything up.
func (b *bundle) Start(ctx context.Context) error {
	served, err := discovery.NewDiscoveryClientForConfigAndClient(b.mgr.GetConfig(), b.mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("creating the discovery client: %w", err)
	}
	if err := controllers.AwaitKinds(ctrl.LoggerInto(ctx, b.mgr.GetLogger()), served); err != nil {
		return nil // Only because the manager stops.
	}
	clouds := neutron.New(neutron.Options{
		Live: b.mgr.GetAPIReader(), Cached: b.mgr.GetClient(), Namespace: ownNamespace(b.opts.leaderElectionNamespace),
		Settle: b.opts.neutronSettle,
	})
	backends := map[samplecrdv1.ProviderType]providers.Provider{
		samplecrdv1.ProviderMultus:  multus.New(b.mgr.GetClient(), b.mgr.GetAPIReader(), b.mgr.GetCache()),
		samplecrdv1.ProviderNeutron: clouds,
	}
	// The webhooks read the cache; not ready before it is filled.
	space, err := controllers.FillCache(ctx, b.mgr)
	if err != nil {
		return fmt.Errorf("filling the cache: %w", err)
	}
	if err := errors.Join(
		controllers.Setup(b.mgr, controllers.Options{Backends: backends, Space: space, FooImage: b.opts.fooImage}),
		webhooks.Setup(b.mgr, webhooks.Options{Backends: backends, Space: space, FooMaxReplicas: int32(b.opts.fooMaxReplicas)}),
		b.mgr.Add(clouds),
		metrics.Registry.Register(clouds.Metrics()),
	); err != nil {
		return err
	}
	b.added.Store(true)
	return nil
}

func (b *bundle) ready(*http.Request) error {
	if !b.added.Load() {
		return errors.New("waiting for the API server to serve our kinds")
	}
	return nil
}

// addChecks serves liveness and readiness.
func addChecks(mgr ctrl.Manager, bundle *bundle, server *certs.Server) error {
	// The manager starts its webhook server from when it is first asked for it.
	mgr.GetWebhookServer()
	return errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("kinds", bundle.ready),
		mgr.AddReadyzCheck("webhook", server.Ready),
	)
}

// watchCertificate has a renewal that fails told, where it is known which namespace is
// the manager's own.
func watchCertificate(mgr ctrl.Manager, opts options) error {
	key := types.NamespacedName{Namespace: ownNamespace(opts.leaderElectionNamespace), Name: opts.webhooks.Certificate}
	if key.Namespace == "" || key.Name == "" {
		return nil
	}
	renewal, err := certs.NewRenewal(mgr, key)
	if err != nil {
		return fmt.Errorf("watching the webhooks' Certificate: %w", err)
	}
	return errors.Join(mgr.Add(renewal), metrics.Registry.Register(renewal))
}

// ownNamespace is the one that was named, or that of the Pod's ServiceAccount; "" when
// there is neither.
func ownNamespace(named string) string {
	if named != "" {
		return named
	}
	text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
