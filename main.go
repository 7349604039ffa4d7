// Command samplecrd-controller admits Networks and Foos, and makes them real.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Set by the linker; see the Dockerfile.
var (
	version = "dev"
	commit  = "unknown"
)

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
	server := opts.webhooks.Server()
	mgr, err := newManager(opts, server)
	if err != nil {
		return err
	}
	bundle := newBundle(mgr, opts)
	if err := errors.Join(
		addChecks(mgr, bundle, server),
		mgr.Add(bundle),
		watchCertificate(mgr, opts),
		metrics.Registry.Register(server.Metrics()),
	); err != nil {
		return fmt.Errorf("setting up the manager: %w", err)
	}
	return mgr.Start(server.Drain(ctx, opts.shutdownDelay))
}
