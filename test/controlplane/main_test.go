package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const goMod = "module example.org/test/controlplane\n\nrequire (\n\tk8s.io/kubernetes v1.99.3 // indirect\n)\n"

// fakes stands for setup-envtest and go build, and remembers what was asked.
type fakes struct {
	sync.Mutex
	download func(ctx context.Context) (string, error) // absent: no network
	compile  func(ctx context.Context) error           // absent: works
	calls    []string
}

func (f *fakes) command(ctx context.Context, _, _ string, args ...string) (string, error) {
	f.Lock()
	f.calls = append(f.calls, strings.Join(args, " "))
	f.Unlock()
	if slices.Contains(args, "setup-envtest") {
		if f.download == nil {
			return "", errors.New("no such host")
		}
		return f.download(ctx)
	}
	if f.compile != nil {
		if err := f.compile(ctx); err != nil {
			return "", err
		}
	}
	return "", os.WriteFile(args[slices.Index(args, "-o")+1], []byte("built"), 0o755)
}

// newTestFinder returns a finder in a repository of its own.
func newTestFinder(t *testing.T, assets string, fake *fakes) *finder {
	t.Helper()
	module := filepath.Join(t.TempDir(), "test", "controlplane")
	if err := os.MkdirAll(module, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(module, "go.mod"), []byte(goMod), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := newFinder(module, assets)
	if err != nil {
		t.Fatal(err)
	}
	f.log, f.command = io.Discard, fake.command
	return f
}

// fill makes dir a folder with the given binaries.
func fill(t *testing.T, dir string, names ...string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("given"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func stamp(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, ".version"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// checkNoRemains fails when a build left a folder of its own behind.
func checkNoRemains(t *testing.T, f *finder) {
	t.Helper()
	if left, _ := filepath.Glob(f.target + ".tmp-*"); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestAssetsFromTheEnvironment(t *testing.T) {
	whole := fill(t, t.TempDir(), "etcd", "kube-apiserver", "kubectl")
	for name, tc := range map[string]struct{ assets, wantDir, wantErr string }{
		"a folder with all three is taken":           {assets: whole, wantDir: whole},
		"a folder that lacks two is refused by name": {assets: fill(t, t.TempDir(), "etcd"), wantErr: "no kube-apiserver, no kubectl"},
		"a folder that does not exist is refused":    {assets: filepath.Join(whole, "none"), wantErr: "no etcd"},
		"a relative path is refused":                 {assets: "bin/k8s", wantErr: "not an absolute path"},
	} {
		t.Run(name, func(t *testing.T) {
			fake := &fakes{}
			dir, err := newTestFinder(t, tc.assets, fake).find(t.Context())
			if tc.wantErr == "" && (err != nil || dir != tc.wantDir) {
				t.Errorf("got %q, %v; want %q", dir, err, tc.wantDir)
			}
			if tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("got error %v, want one with %q", err, tc.wantErr)
			}
			if len(fake.calls) > 0 {
				t.Errorf("ran %q, want nothing", fake.calls)
			}
		})
	}
}

func TestFindWithoutAssets(t *testing.T) {
	downloaded := fill(t, t.TempDir(), "etcd", "kube-apiserver", "kubectl")
	partial := fill(t, t.TempDir(), "etcd", "kube-apiserver")
	for name, tc := range map[string]struct {
		target   []string // binaries that are there before
		stamp    string
		download string // what setup-envtest prints; absent: it fails
		want     string // absent: the target
		wantRuns int
	}{
		"a current build is taken":                      {target: []string{"etcd", "kube-apiserver", "kubectl"}, stamp: "current", wantRuns: 0},
		"a download comes before a build":               {download: downloaded + "\n", want: downloaded, wantRuns: 1},
		"a stale build is not taken":                    {target: []string{"etcd", "kube-apiserver", "kubectl"}, stamp: "v1.99.2", download: downloaded, want: downloaded, wantRuns: 1},
		"a build without a stamp is made anew":          {target: []string{"etcd", "kube-apiserver", "kubectl"}, wantRuns: 4},
		"an incomplete build is made anew":              {target: []string{"etcd"}, stamp: "current", wantRuns: 4},
		"an incomplete download is followed by a build": {download: partial, wantRuns: 4},
		"no network is followed by a build":             {wantRuns: 4},
	} {
		t.Run(name, func(t *testing.T) {
			fake := &fakes{}
			f := newTestFinder(t, "", fake)
			if tc.target != nil {
				fill(t, f.target, tc.target...)
			}
			switch tc.stamp {
			case "":
			case "current":
				stamp(t, f.target, f.stamp)
			default:
				stamp(t, f.target, tc.stamp)
			}
			if tc.download != "" {
				fake.download = func(context.Context) (string, error) { return tc.download, nil }
			}
			if tc.want == "" {
				tc.want = f.target
			}

			dir, err := f.find(t.Context())
			if err != nil || dir != tc.want {
				t.Errorf("got %q, %v; want %q", dir, err, tc.want)
			}
			if len(fake.calls) != tc.wantRuns {
				t.Errorf("ran %q, want %d commands", fake.calls, tc.wantRuns)
			}
			if err := complete(dir); err != nil {
				t.Error(err)
			}
			if tc.wantRuns == 4 && !f.current() {
				t.Error("the build has no stamp")
			}
			checkNoRemains(t, f)
		})
	}
}

func TestCommandLines(t *testing.T) {
	fake := &fakes{}
	f := newTestFinder(t, "", fake)
	if _, err := f.find(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]string{
		{"setup-envtest use 1.99.x -p path --bin-dir " + filepath.Join(filepath.Dir(f.target), "envtest")},
		{"CGO_ENABLED=0 go build -ldflags", "/etcd go.etcd.io/etcd/server/v3"},
		{"version.gitVersion=v1.99.3", "version.gitMajor=1 ", "version.gitMinor=99 ", "/kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver"},
		{"version.gitVersion=v1.99.3", "/kubectl k8s.io/kubernetes/cmd/kubectl"},
	} {
		for _, part := range want {
			if !strings.Contains(fake.calls[i], part) {
				t.Errorf("command %d is %q, want it to have %q", i, fake.calls[i], part)
			}
		}
	}
}

func TestFailedBuildKeepsWhatWasThere(t *testing.T) {
	fake := &fakes{compile: func(context.Context) error { return errors.New("exit status 1") }}
	f := newTestFinder(t, "", fake)
	fill(t, f.target, "etcd")
	if _, err := f.find(t.Context()); err == nil || !strings.Contains(err.Error(), "building etcd: exit status 1") {
		t.Errorf("got error %v, want the one of the build", err)
	}
	if _, err := os.Stat(filepath.Join(f.target, "etcd")); err != nil {
		t.Error(err)
	}
	checkNoRemains(t, f)
}

func TestInterruptLeavesNothingBehind(t *testing.T) {
	for _, during := range []string{"download", "build"} {
		t.Run(during, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			interrupted := errors.New("interrupted")
			wait := func(ctx context.Context) error {
				cancel(interrupted)
				<-ctx.Done()
				return context.Cause(ctx)
			}
			fake := &fakes{}
			if during == "download" {
				fake.download = func(ctx context.Context) (string, error) { return "", wait(ctx) }
			} else {
				fake.compile = wait
			}
			f := newTestFinder(t, "", fake)
			if _, err := f.find(ctx); !errors.Is(err, interrupted) {
				t.Errorf("got error %v, want %v", err, interrupted)
			}
			if _, err := os.Stat(f.target); !os.IsNotExist(err) {
				t.Errorf("%s is there (%v)", f.target, err)
			}
			checkNoRemains(t, f)
		})
	}
}

func TestTwoAtOnceBuildOnce(t *testing.T) {
	fake := &fakes{}
	f := newTestFinder(t, "", fake)
	fill(t, f.target+".tmp-killed", "etcd") // by a process that was killed
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if dir, err := f.find(t.Context()); err != nil || dir != f.target {
				t.Errorf("got %q, %v; want %q", dir, err, f.target)
			}
		})
	}
	wg.Wait()
	if len(fake.calls) != 4 {
		t.Errorf("ran %q, want one download and three builds", fake.calls)
	}
	checkNoRemains(t, f)
}

func TestWaitingForTheLockEndsWithTheContext(t *testing.T) {
	f := newTestFinder(t, "", &fakes{})
	unlock, err := f.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.find(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
}

// TestOwnGoMod holds the table of binaries against the go.mod that pins them.
func TestOwnGoMod(t *testing.T) {
	f, err := newFinder(".", "")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(f.version, "v1.") {
		t.Errorf("got version %q", f.version)
	}
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range binaries {
		if !strings.Contains(string(text), fmt.Sprintf("\t%s\n", b.pkg)) {
			t.Errorf("go.mod has no tool directive for %s", b.pkg)
		}
	}
	if _, err := newFinder(t.TempDir(), ""); err == nil {
		t.Error("want an error where there is no go.mod")
	}
}
