// Command run is `make run`: a control plane, our CRDs and webhooks, a default
// class and the real binary, in the foreground until Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/samplecrd/samplecrd/test/env"
)

const (
	startLimit = 2 * time.Minute
	// settings is the file to source, in the folder of the run.
	settings = "env"
)

const guide = `
Everything serves. In another terminal, in this folder:

  source %[1]s/env
  kubectl apply -f config/samples/example-network.yaml
  kubectl apply -f config/samples/invalid/gateway-outside.yaml
  kubectl get networks.samplecrd.k8s.io,network-attachment-definitions -o wide

  kubectl apply -f config/samples/example-foo.yaml
  kubectl scale foo/example-foo --replicas=3
  kubectl get foo,deployments

No Pods run here: the Foo stays at 0 available.
The controller's log is in %[1]s/controller.log. Ctrl-C ends everything.
`

func main() {
	dir := flag.String("dir", ".run", "Folder for what others read: env, kubeconfig, controller.log. One run for each.")
	flag.Parse()
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if err := run(ctx, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "run:", err)
		os.Exit(1)
	}
}

// run shows its folder as it was called, and uses it from wherever it is called.
func run(ctx context.Context, shown string) (err error) {
	dir := shown
	if !filepath.IsAbs(dir) {
		dir = env.Path(shown)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder: %w", err)
	}
	unlock, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return err
	}
	defer unlock()

	// One that was killed may have left it behind; it is there only while all serves.
	if err := os.Remove(filepath.Join(dir, settings)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing old settings: %w", err)
	}

	say("Starting etcd and kube-apiserver")
	cluster, err := env.Start(env.Options{Webhooks: true, Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop(), os.Remove(cluster.Kubeconfig)) }()
	if ctx.Err() != nil {
		return nil
	}
	return serve(ctx, cluster, dir, shown)
}

// serve runs the controller against cluster until ctx is done.
func serve(ctx context.Context, cluster *env.Env, dir, shown string) (err error) {
	log, err := os.Create(filepath.Join(dir, "controller.log"))
	if err != nil {
		return fmt.Errorf("creating the controller's log: %w", err)
	}
	defer func() { _ = log.Close() }()
	say("Starting samplecrd-controller")
	// Where the credentials of clouds are looked for.
	controller, err := cluster.StartController(env.Path("bin", "samplecrd-controller"), log, "--leader-election-namespace=default")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopController(controller)) }()
	starting, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := controller.AwaitReady(starting); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("waiting for the controller, see %s/controller.log: %w", shown, err)
	}

	say("Creating the default NetworkClass")
	applied, err := cluster.Kubectl("", "apply", "-f", env.Path("config", "samples", "networkclass.yaml"))
	if err == nil && applied.ExitCode != 0 {
		err = errors.New(applied.Stderr)
	}
	if err != nil {
		return fmt.Errorf("creating the default NetworkClass: %w", err)
	}
	text := fmt.Sprintf("export KUBECONFIG=%q\nexport PATH=%q:\"$PATH\"\n", cluster.Kubeconfig, cluster.Assets)
	if err := os.WriteFile(filepath.Join(dir, settings), []byte(text), 0o644); err != nil {
		return fmt.Errorf("writing the settings: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(filepath.Join(dir, settings))) }()
	fmt.Printf(guide, shown)

	select {
	case <-ctx.Done():
		say("\nStopping")
		return nil
	case err := <-controller.Ended():
		return fmt.Errorf("the controller ended, see %s/controller.log: %w", shown, err)
	}
}

// stopController ends a controller that may have ended by itself.
func stopController(controller *env.Controller) error {
	err := controller.Stop()
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// lock keeps a second make run away while the first one lives.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		owner, _ := io.ReadAll(file)
		return nil, fmt.Errorf("make run is running already (process %s); end it with Ctrl-C there first", owner)
	}
	_ = file.Truncate(0)
	_, _ = fmt.Fprintf(file, "%d", os.Getpid())
	return func() { _ = os.Remove(path); _ = file.Close() }, nil
}

func say(text string) { fmt.Fprintln(os.Stderr, text) }
