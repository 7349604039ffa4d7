// Command samplecrd-controller admits Networks and Foos, and makes them real.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"

	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/samplecrd/samplecrd/certs"
)

// Set by the linker; see the Dockerfile.
var (
	version = "dev"
	commit  = "unknown"
)

// options are the command line.
type options struct {
	kubeconfig, master       string
	metrics, probes          string
	leaderElection           bool
	leaderElectionNamespace  string
	webhooks                 certs.Options
	fooImage                 string
	fooMaxReplicas           int
	log                      *textlogger.Config
	showVersion, alsoToError bool
}

func parse(args []string) (options, error) {
	opts := options{log: textlogger.NewConfig()}
	flags := flag.NewFlagSet("samplecrd-controller", flag.ContinueOnError)
	flags.StringVar(&opts.kubeconfig, "kubeconfig", "", "Path to a kubeconfig; without it and --master the manager runs in the cluster.")
	flags.StringVar(&opts.master, "master", "", "URL of the API server; overrides the kubeconfig's.")
	flags.StringVar(&opts.metrics, "metrics-bind-address", ":8080", "Where metrics are served; 0 for nowhere.")
	flags.StringVar(&opts.probes, "health-probe-bind-address", ":8081", "Where /healthz and /readyz are served.")
	flags.BoolVar(&opts.leaderElection, "leader-elect", false, "Reconcile only while holding the Lease, so that several replicas can run. Webhooks are served by all.")
	flags.StringVar(&opts.leaderElectionNamespace, "leader-election-namespace", "", "Namespace of the Lease; in a cluster the Pod's own.")
	flags.StringVar(&opts.fooImage, "foo-default-image", "nginx:latest", "Container image of Foos without a PodTemplate.")
	flags.IntVar(&opts.fooMaxReplicas, "foo-max-replicas", 100, "The largest number of replicas that any Foo may ask for; a namespace's annotation can lower it.")
	flags.BoolVar(&opts.showVersion, "version", false, "Print version and commit, and exit.")
	flags.BoolVar(&opts.alsoToError, "alsologtostderr", false, "Accepted without effect: logs go to standard error anyway.")
	opts.webhooks.BindFlags(flags)
	opts.log.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	if flags.NArg() > 0 {
		return opts, fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if opts.fooMaxReplicas < 0 || opts.fooMaxReplicas > math.MaxInt32 {
		return opts, fmt.Errorf("--foo-max-replicas is %d; it must be from 0 to %d", opts.fooMaxReplicas, math.MaxInt32)
	}
	if opts.fooImage == "" {
		return opts, errors.New("--foo-default-image is empty; it must name a container image")
	}
	return opts, nil
}

func main() {
	if err := start(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "samplecrd-controller: %v\n", err)
		os.Exit(1)
	}
}

func start(args []string) error {
	opts, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if opts.showVersion {
		fmt.Printf("samplecrd-controller %s (%s)\n", version, commit)
		return nil
	}
	ctrl.SetLogger(textlogger.NewLogger(opts.log))
	// The first signal ends this context, the second the process.
	return run(ctrl.SetupSignalHandler(), opts)
}

func run(ctx context.Context, opts options) error {
	log := ctrl.Log.WithName("setup")
	log.Info("Starting samplecrd-controller", "version", version, "commit", commit)
	mgr, err := newManager(opts)
	if err != nil {
		return err
	}
	bundle := newBundle(mgr, opts)
	if err := errors.Join(bundle.addChecks(), mgr.Add(bundle)); err != nil {
		return fmt.Errorf("setting up the manager: %w", err)
	}
	return mgr.Start(ctx)
}
