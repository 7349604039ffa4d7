package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// debian are the programs that come from the distribution, each with its package. A
// runc of plain Go would have no seccomp, which restricted Pods need.
var debian = []struct{ program, pkg string }{
	{"runc", "runc"},
	{"nft", "nftables"},
	{"buildah", "buildah"},
	{"ip", "iproute2"},
	{"nsenter", "util-linux"},
}

// kubernetes are built in test/controlplane's module, which pins them: the same
// sources as the API server's, compiled once.
var kubernetes = []string{
	"k8s.io/kubernetes/cmd/kube-controller-manager",
	"k8s.io/kubernetes/cmd/kube-scheduler",
	"k8s.io/kubernetes/cmd/kubelet",
	"k8s.io/kubernetes/cmd/kube-proxy",
}

// node are the tools that tools/go.mod pins.
var node = []string{
	"github.com/containerd/containerd/v2/cmd/containerd",
	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
	"github.com/containerd/containerd/v2/cmd/ctr",
	"github.com/containernetworking/plugins/plugins/ipam/host-local",
	"github.com/containernetworking/plugins/plugins/main/bridge",
	"github.com/containernetworking/plugins/plugins/main/loopback",
	"github.com/containernetworking/plugins/plugins/main/ptp",
}

// install gets the Debian packages that are missing.
func (c *cluster) install(ctx context.Context) error {
	var missing []string
	for _, d := range debian {
		if _, err := exec.LookPath(d.program); err != nil {
			missing = append(missing, d.pkg)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("install these packages first: %s", strings.Join(missing, ", "))
	}
	c.say("installing %s", strings.Join(missing, ", "))
	if err := c.command(ctx, "apt-get", "update", "-q").Run(); err != nil {
		return fmt.Errorf("apt-get update: %w", err)
	}
	install := c.command(ctx, "apt-get", append([]string{"install", "-q", "-y", "--no-install-recommends"}, missing...)...)
	install.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	if err := install.Run(); err != nil {
		return fmt.Errorf("apt-get install: %w", err)
	}
	return nil
}

// build makes all binaries. What is up to date costs seconds.
func (c *cluster) build(ctx context.Context) error {
	assets, err := c.controlPlane(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if err := link(filepath.Join(assets, name), filepath.Join(c.bin, name)); err != nil {
			return err
		}
	}
	goMod, err := os.ReadFile(filepath.Join(c.root, "test", "controlplane", "go.mod"))
	if err != nil {
		return err
	}
	found := regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v1\.(\d+)\.\S+)`).FindSubmatch(goMod)
	if found == nil {
		return errors.New("test/controlplane/go.mod does not require k8s.io/kubernetes")
	}
	const x = " -X k8s.io/component-base/version."
	version := fmt.Sprintf("-s -w%sgitVersion=%s%sgitMajor=1%sgitMinor=%s", x, found[1], x, x, found[2])

	c.say("building Kubernetes' node and controllers, containerd, CNI plugins, cert-manager; with a cold build cache this takes 10 to 15 minutes")
	for _, step := range []struct {
		dir  string
		args []string
	}{
		{filepath.Join(c.root, "test", "controlplane"), append([]string{"-ldflags", version}, kubernetes...)},
		{c.module, append([]string{
			"-modfile=" + filepath.Join(c.module, "tools", "go.mod"), "-tags=no_btrfs,no_devmapper,no_zfs", "-ldflags=-s -w",
		}, node...)},
		{c.module, []string{"-ldflags=-s -w", "./certmanager", "./pause"}},
	} {
		command := c.command(ctx, "go", append([]string{"build", "-o", c.bin + "/"}, step.args...)...)
		command.Dir = step.dir
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
		if err := command.Run(); err != nil {
			return fmt.Errorf("building in %s: %w", step.dir, err)
		}
	}
	return nil
}

// controlPlane gives the folder with etcd, kube-apiserver and kubectl.
func (c *cluster) controlPlane(ctx context.Context) (string, error) {
	command := c.command(ctx, "go", "run", ".")
	command.Dir, command.Stdout = filepath.Join(c.root, "test", "controlplane"), nil
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("finding the control plane's binaries: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// command runs a program that ends by itself, and shows what it says.
func (c *cluster) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, name, args...)
	command.Stdout, command.Stderr = os.Stderr, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	return command
}

// link points name at target, whatever it was before.
func link(target, name string) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Symlink(target, name)
}
