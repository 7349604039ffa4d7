// Command deployment-networks makes a Network for each Deployment that asks for one
// with the annotation example.com/cidr: informers of a built-in kind and of ours side
// by side. With `make run` in one terminal, type in two others:
//
//	source .run/env; go run ./docs/examples/deployment-networks
//
//	source .run/env; kubectl create deployment shop --image=nginx
//	kubectl annotate deployment shop example.com/cidr=10.60.0.0/24
//	kubectl get networks.samplecrd.k8s.io
//
// The Network has the Deployment's name and is owned by it, so that a cluster's
// garbage collector deletes it after the Deployment (make run has none). It needs the
// rights to list and watch deployments and networks and to create networks; and,
// where owner references are guarded, to update deployments/finalizers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/samplecrd/samplecrd/client/clientset/versioned"
	"github.com/samplecrd/samplecrd/client/informers/externalversions"
)

// resync is how often every Deployment is looked at although nothing changed: what
// was refused for a reason that has gone since is then tried again.
const resync = 10 * time.Minute

func main() {
	kubeconfig := flag.String("kubeconfig", "", "Path to a kubeconfig; without it $KUBECONFIG, ~/.kube/config or the cluster that the program runs in.")
	master := flag.String("master", "", "URL of the API server; overrides the kubeconfig's.")
	flag.Parse()
	// The first signal ends ctx. Then stop gives signals their usual effect back, so
	// that the second ends the process at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if err := run(ctx, *kubeconfig, *master); err != nil {
		fmt.Fprintln(os.Stderr, "deployment-networks:", err)
		os.Exit(1)
	}
}

// run works until ctx is done.
func run(ctx context.Context, kubeconfig, master string) error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	overrides := &clientcmd.ConfigOverrides{}
	overrides.ClusterInfo.Server = master
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	builtIn, builtInErr := kubernetes.NewForConfig(config)
	ours, ourErr := versioned.NewForConfig(config)
	if err := errors.Join(builtInErr, ourErr); err != nil {
		return fmt.Errorf("making clients: %w", err)
	}

	// One factory for the built-in kinds and one for ours. Whoever asks a factory for
	// the informer of a kind shares its cache and its watch. Informers end with ctx;
	// Shutdown waits until they have.
	builtInFactory := informers.NewSharedInformerFactory(builtIn, resync)
	defer builtInFactory.Shutdown()
	ourFactory := externalversions.NewSharedInformerFactory(ours, resync)
	defer ourFactory.Shutdown()
	c, err := newController(ctx, ours, builtInFactory.Apps().V1().Deployments(), ourFactory.Samplecrd().V1().Networks())
	if err != nil {
		return fmt.Errorf("adding event handlers: %w", err)
	}

	// Informers start when all of them were asked for. While a kind is not served,
	// its informer logs that and tries again.
	builtInFactory.StartWithContext(ctx)
	ourFactory.StartWithContext(ctx)
	// Workers start when the caches are full: a lister that is half full says
	// NotFound of a Network that exists.
	builtInFactory.WaitForCacheSyncWithContext(ctx)
	ourFactory.WaitForCacheSyncWithContext(ctx)
	if ctx.Err() != nil {
		return nil // A signal came first.
	}
	klog.FromContext(ctx).Info("Watching Deployments and Networks")
	c.work(ctx)
	return nil
}
