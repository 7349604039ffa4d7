// Command controlplane prints the folder that holds the control plane's
// binaries: etcd, kube-apiserver and kubectl. It is the one place that decides
// where they come from, in this order:
//
//  1. $KUBEBUILDER_ASSETS, when it is set;
//  2. bin/k8s of this repository, when its stamp is the wanted one;
//  3. a download by setup-envtest, where the network lets it;
//  4. a build from the sources that this module's go.mod pins.
//
// Run it from the repository's root:
//
//	go run -C test/controlplane .
//
// stdout is one line, the absolute path; progress goes to stderr.
package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const (
	// downloadLimit ends a network that neither answers nor refuses; it leaves
	// time to compile setup-envtest first.
	downloadLimit = 3 * time.Minute
	heartbeat     = 30 * time.Second
)

// binaries are what envtest needs, each with the package it is built from: the
// tool directives of go.mod.
var binaries = []struct{ name, pkg string }{
	{"etcd", "go.etcd.io/etcd/server/v3"},
	{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"},
	{"kubectl", "k8s.io/kubernetes/cmd/kubectl"},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	dir, err := func() (string, error) {
		f, err := newFinder(".", os.Getenv("KUBEBUILDER_ASSETS"))
		if err != nil {
			return "", fmt.Errorf("run me as `go run -C test/controlplane .`: %w", err)
		}
		return f.find(ctx)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
	fmt.Println(dir)
}

// finder decides where the binaries come from.
type finder struct {
	module  string    // the folder of this module's go.mod, two below the repository's root
	target  string    // bin/k8s, where a build goes
	version string    // of Kubernetes, with the v
	stamp   string    // the .version of a current target
	assets  string    // $KUBEBUILDER_ASSETS
	log     io.Writer // where progress goes

	// command runs a program in a folder, stops it when ctx ends and returns its stdout.
	command func(ctx context.Context, dir, name string, args ...string) (string, error)
}

// newFinder reads the wanted version from the go.mod in module.
func newFinder(module, assets string) (*finder, error) {
	module, err := filepath.Abs(module)
	if err != nil {
		return nil, err
	}
	goMod, err := os.ReadFile(filepath.Join(module, "go.mod"))
	if err != nil {
		return nil, err
	}
	m := regexp.MustCompile(`(?m)^\s*(?:require\s+)?k8s\.io/kubernetes (v\d+\.\d+\.\d+\S*)`).FindSubmatch(goMod)
	if m == nil {
		return nil, fmt.Errorf("%s/go.mod does not require k8s.io/kubernetes", module)
	}
	return &finder{
		module:  module,
		target:  filepath.Join(module, "..", "..", "bin", "k8s"),
		version: string(m[1]),
		stamp:   fmt.Sprintf("%s %s/%s go.mod sha256:%x\n", m[1], runtime.GOOS, runtime.GOARCH, sha256.Sum256(goMod)),
		assets:  assets,
		log:     os.Stderr,
		command: execute,
	}, nil
}

// find returns the folder, after filling it where it has to.
func (f *finder) find(ctx context.Context) (string, error) {
	switch {
	case f.assets == "":
	case !filepath.IsAbs(f.assets): // relative to what? go -C has left the caller's folder
		return "", fmt.Errorf("KUBEBUILDER_ASSETS=%s is not an absolute path", f.assets)
	case complete(f.assets) != nil:
		return "", fmt.Errorf("KUBEBUILDER_ASSETS: %w", complete(f.assets))
	default:
		return f.assets, nil
	}
	if f.current() {
		return f.target, nil
	}

	unlock, err := f.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if f.current() { // made by whoever had the lock
		return f.target, nil
	}
	dir, err := f.download(ctx)
	if err == nil {
		return dir, nil
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	f.logf("no download: %v", err)
	return f.target, f.build(ctx)
}

// current says whether the target is what this go.mod asks for.
func (f *finder) current() bool {
	stamp, err := os.ReadFile(filepath.Join(f.target, ".version"))
	return err == nil && string(stamp) == f.stamp && complete(f.target) == nil
}

// complete returns an error that names the binaries dir lacks.
func complete(dir string) error {
	var lacks []string
	for _, b := range binaries {
		if info, err := os.Stat(filepath.Join(dir, b.name)); err != nil || !info.Mode().IsRegular() {
			lacks = append(lacks, b.name)
		}
	}
	if len(lacks) > 0 {
		return fmt.Errorf("%q has no %s", dir, strings.Join(lacks, ", no "))
	}
	return nil
}

// lock lets one process at a time download or build. The system releases it
// when the process ends, however it ends.
func (f *finder) lock(ctx context.Context) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(f.target), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(f.target+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	unlock = func() { _ = file.Close() }
	for told := false; ; told = true {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return unlock, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			unlock()
			return nil, fmt.Errorf("locking %s: %w", file.Name(), err)
		}
		if !told {
			f.logf("waiting for another process that makes the control plane")
		}
		select {
		case <-ctx.Done():
			unlock()
			return nil, context.Cause(ctx)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// download asks setup-envtest for the newest patch of the wanted minor version:
// its releases may be behind Kubernetes'.
func (f *finder) download(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, downloadLimit)
	defer cancel()
	wanted := strings.TrimPrefix(f.version[:strings.LastIndex(f.version, ".")], "v") + ".x"
	f.logf("asking setup-envtest for %s", wanted)
	bin := filepath.Dir(f.target)
	out, err := f.command(ctx, filepath.Dir(bin), "go", "tool", "-modfile=hack/tools/go.mod",
		"setup-envtest", "use", wanted, "-p", "path", "--bin-dir", filepath.Join(bin, "envtest"))
	if err != nil {
		return "", fmt.Errorf("setup-envtest: %w", err)
	}
	dir := strings.TrimSpace(out)
	return dir, complete(dir)
}

// build compiles into a folder of its own and then renames that to the target,
// so that nobody ever sees half of it.
func (f *finder) build(ctx context.Context) error {
	left, _ := filepath.Glob(f.target + ".tmp-*") // by a process that was killed
	for _, dir := range left {
		_ = os.RemoveAll(dir)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(f.target), filepath.Base(f.target)+".tmp-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	made := filepath.Join(tmp, "new")
	if err := os.Mkdir(made, 0o755); err != nil {
		return err
	}

	f.logf("building Kubernetes %s from source; with a cold build cache this takes 10 to 15 minutes", f.version)
	defer f.beat(time.Now())()
	for _, b := range binaries {
		f.logf("building %s", b.name)
		// No -trimpath: what is compiled here is shared with the project's own builds.
		if _, err := f.command(ctx, f.module, "env", "CGO_ENABLED=0",
			"go", "build", "-ldflags", f.ldflags(), "-o", filepath.Join(made, b.name), b.pkg); err != nil {
			return fmt.Errorf("building %s: %w", b.name, err)
		}
	}
	if err := os.WriteFile(filepath.Join(made, ".version"), []byte(f.stamp), 0o644); err != nil {
		return err
	}
	// A folder is not renamed over a full one: the old one steps aside first.
	if err := os.Rename(f.target, filepath.Join(tmp, "old")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(made, f.target)
}

// ldflags tells the binaries which version they are, as a release of Kubernetes does.
func (f *finder) ldflags() string {
	part := strings.SplitN(strings.TrimPrefix(f.version, "v"), ".", 3)
	const x = " -X k8s.io/component-base/version."
	return "-s -w" + x + "gitVersion=" + f.version + x + "gitMajor=" + part[0] + x + "gitMinor=" + part[1]
}

// beat says from time to time that the work goes on, until stop is called.
func (f *finder) beat(start time.Time) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(heartbeat):
				f.logf("still building, %s", time.Since(start).Round(time.Second))
			}
		}
	}()
	return func() { close(done); <-ended }
}

func (f *finder) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(f.log, "controlplane: "+format+"\n", args...)
}

// execute is the real command. The program runs in a process group of its own,
// which is interrupted when ctx ends: go passes no signal on to what it started.
func execute(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.Output()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return string(out), err
}
