// Command cluster is a real Kubernetes cluster of one node on this machine: etcd, the
// control plane, kubelet, kube-proxy and containerd, with cert-manager, everything
// from pinned Go modules and Debian packages. From the repository's root, as root:
//
//	go run -C test/cluster . up           # idempotent; prints the kubeconfig's path
//	go run -C test/cluster . load NAME DIR  # the image of the checkout DIR, under NAME
//	go run -C test/cluster . down
//
// All of it lives in a network namespace and a folder of its own, so that it meets
// nothing else on the machine, and `down` leaves nothing behind.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

const usage = "cluster up | load NAME DIR | down"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // A second signal ends the process at once.
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("usage: " + usage)
	}
	if os.Geteuid() != 0 {
		return errors.New("network namespaces and containers need root; run me as root")
	}
	c, err := newCluster(".")
	if err != nil {
		return fmt.Errorf("run me as `go run -C test/cluster . …`: %w", err)
	}
	closeOnExec()
	unlock, err := lock("/run/samplecrd-cluster.lock")
	if err != nil {
		return err
	}
	defer unlock()
	switch command, rest := args[0], args[1:]; {
	case command == "up" && len(rest) == 0:
		return c.up(ctx)
	case command == "load" && len(rest) == 2:
		return c.load(ctx, rest[0], rest[1])
	case command == "down" && len(rest) == 0:
		return c.down(ctx)
	default:
		return fmt.Errorf("%q is not one of: %s", args, usage)
	}
}

// cluster is where everything of it is.
type cluster struct {
	root   string // of the repository
	module string // the folder of this Go module
	bin    string // what is built
	dir    string // all state; one for the machine, since the namespace's name is one, too
	begun  time.Time
}

func newCluster(module string) (*cluster, error) {
	module, err := filepath.Abs(module)
	if err != nil {
		return nil, err
	}
	root := filepath.Dir(filepath.Dir(module))
	if _, err := os.Stat(filepath.Join(root, "test", "cluster", "go.mod")); err != nil {
		return nil, err
	}
	return &cluster{
		root: root, module: module, bin: filepath.Join(root, "bin", "cluster"),
		dir: "/var/lib/samplecrd-cluster", begun: time.Now(),
	}, nil
}

// path is a path in the state.
func (c *cluster) path(elements ...string) string {
	return filepath.Join(append([]string{c.dir}, elements...)...)
}

// kubeconfig is where a checkout has an administrator's, for people and tests.
func kubeconfig(root string) string {
	return filepath.Join(root, ".run", "cluster", "kubeconfig")
}

// say tells on standard error what is being done, and when.
func (c *cluster) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "cluster: %4.0fs %s\n", time.Since(c.begun).Seconds(), fmt.Sprintf(format, args...))
}

// lock lets one process at a time change the cluster. The system releases it when the
// process ends, however it ends.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
	}
	return func() { _ = file.Close() }, nil
}
