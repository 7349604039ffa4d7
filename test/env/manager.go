package env

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/certs"
	"github.com/samplecrd/samplecrd/controllers"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/providers/multus"
	"github.com/samplecrd/samplecrd/webhooks"
)

// ManagerOptions choose what an in-process manager does.
type ManagerOptions struct {
	// Backends builds the providers; nil for Multus alone, as the binary has it.
	Backends func(ctrl.Manager) map[samplecrdv1.ProviderType]providers.Provider
	// Webhooks serves the installed webhook configurations.
	Webhooks bool
	// WebhookPort is where the webhooks are served; where the installed
	// configurations point if 0.
	WebhookPort int
	// Controllers reconciles.
	Controllers bool
	// FooMaxReplicas is the limit of a Foo's replicas; 100 if 0, as the binary's.
	FooMaxReplicas int32
	// As is the user as whom the manager works; an administrator if empty.
	As string
	// Client is used in place of the manager's own when it is set, for faults.
	Client client.NewClientFunc
	// Transport stands between the manager and the API server when it is set, for
	// what is late.
	Transport transport.WrapperFunc
}

// Multus is the set of providers that the binary has.
func Multus(mgr ctrl.Manager) map[samplecrdv1.ProviderType]providers.Provider {
	return map[samplecrdv1.ProviderType]providers.Provider{
		samplecrdv1.ProviderMultus: multus.New(mgr.GetClient(), mgr.GetAPIReader(), mgr.GetCache()),
	}
}

// Instead gives backend the place of Multus.
func Instead(backend providers.Provider) func(ctrl.Manager) map[samplecrdv1.ProviderType]providers.Provider {
	return func(ctrl.Manager) map[samplecrdv1.ProviderType]providers.Provider {
		return map[samplecrdv1.ProviderType]providers.Provider{samplecrdv1.ProviderMultus: backend}
	}
}

// StartManager runs a manager in this process and returns once it serves. stop
// ends it and gives its error.
func (e *Env) StartManager(opts ManagerOptions) (stop func() error, err error) {
	if opts.Backends == nil {
		opts.Backends = Multus
	}
	tls := certs.Options{Port: cmp.Or(opts.WebhookPort, e.Webhooks.LocalServingPort), Dir: e.Webhooks.LocalServingCertDir}
	config := rest.CopyConfig(e.Config)
	config.Impersonate.UserName = opts.As
	config.Wrap(opts.Transport)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:        e.Scheme,
		Metrics:       metricsserver.Options{BindAddress: "0"},
		WebhookServer: tls.Server(),
		// Several managers may live in one process, one after the other.
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
		Cache:      controllers.CacheOptions(),
		Client:     client.Options{Cache: &client.CacheOptions{Unstructured: true}},
		NewClient:  opts.Client,
	})
	if err != nil {
		return nil, fmt.Errorf("creating the manager: %w", err)
	}
	backends := opts.Backends(mgr)
	opts.FooMaxReplicas = cmp.Or(opts.FooMaxReplicas, 100)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = func() error {
		cancel()
		return <-ended
	}
	// As the binary does: what is set up reads a cache that is full.
	space, err := controllers.FillCache(ctx, mgr)
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	if opts.Controllers {
		if err := controllers.Setup(mgr, controllers.Options{Backends: backends, Space: space, FooImage: "nginx:latest"}); err != nil {
			return nil, errors.Join(err, stop())
		}
	}
	if opts.Webhooks {
		if err := webhooks.Setup(mgr, webhooks.Options{Backends: backends, Space: space, FooMaxReplicas: opts.FooMaxReplicas}); err != nil {
			return nil, errors.Join(err, stop())
		}
	}
	if opts.Webhooks {
		if err := e.awaitWebhooks(mgr); err != nil {
			return nil, err
		}
	}
	return stop, nil
}

func (e *Env) awaitWebhooks(mgr ctrl.Manager) error {
	started := mgr.GetWebhookServer().StartedChecker()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		return started(nil) == nil, nil
	})
}
