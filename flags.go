package main

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"time"

	"k8s.io/klog/v2/textlogger"

	"github.com/samplecrd/samplecrd/certs"
)

// options are the command line.
type options struct {
	kubeconfig, master       string
	metrics, probes          string
	leaderElection           bool
	leaderElectionNamespace  string
	webhooks                 certs.Options
	shutdownDelay            time.Duration
	neutronSettle            time.Duration
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
	flags.StringVar(&opts.leaderElectionNamespace, "leader-election-namespace", "", "Namespace of the Lease, and the manager's own one for --webhook-certificate and the credentials of clouds; in a cluster the Pod's.")
	flags.DurationVar(&opts.shutdownDelay, "shutdown-delay", 5*time.Second, "How long the webhooks are still served, and the leader still reconciles, after the first SIGTERM or SIGINT; /readyz fails from then on, so that callers go elsewhere before anything stops. 0 for no delay. A second signal ends the process at once.")
	flags.DurationVar(&opts.neutronSettle, "neutron-settle", 30*time.Second, "How long a request to OpenStack Neutron may still be under way whose answer was lost, or whose sender was a manager before this one. Until then nothing is made in the place of what it may have made.")
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
	if opts.shutdownDelay < 0 {
		return opts, fmt.Errorf("--shutdown-delay is %s; it must not be negative", opts.shutdownDelay)
	}
	if opts.neutronSettle <= 0 {
		return opts, fmt.Errorf("--neutron-settle is %s; it must be above 0", opts.neutronSettle)
	}
	if opts.fooMaxReplicas < 0 || opts.fooMaxReplicas > math.MaxInt32 {
		return opts, fmt.Errorf("--foo-max-replicas is %d; it must be from 0 to %d", opts.fooMaxReplicas, math.MaxInt32)
	}
	if opts.fooImage == "" {
		return opts, errors.New("--foo-default-image is empty; it must name a container image")
	}
	return opts, nil
}
