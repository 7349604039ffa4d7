package main

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func testCluster(t *testing.T) *cluster {
	t.Helper()
	c, err := newCluster(".")
	if err != nil {
		t.Fatal(err)
	}
	c.dir = t.TempDir()
	return c
}

func TestNewClusterOutsideOfTheRepository(t *testing.T) {
	if _, err := newCluster(t.TempDir()); err == nil {
		t.Error("want an error where there is no test/cluster")
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"sideways"}, {"up", "twice"}, {"load", "name"}} {
		if os.Geteuid() != 0 && len(args) > 0 {
			t.Skip("only root gets past the first check")
		}
		if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), usage) {
			t.Errorf("%q: got %v, want the usage", args, err)
		}
	}
}

// A process is ours while its id and its beginning are those that were noted.
func TestRunning(t *testing.T) {
	c := testCluster(t)
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	t.Cleanup(func() { _ = child.Process.Kill() })
	id := child.Process.Pid
	begun, err := beginning(id)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		noted string
		want  int
	}{
		"the process that was started":           {strconv.Itoa(id) + " " + begun + "\n", id},
		"another one that has its id by now":     {strconv.Itoa(id) + " 1\n", 0},
		"one that has ended":                     {"4194303 " + begun + "\n", 0},
		"a file that was written half":           {strconv.Itoa(id), 0},
		"a file with something else in it":       {"etcd", 0},
		"an id of no process, but of its groups": {"-1 " + begun, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(c.pidFile("etcd"), []byte(tc.noted), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := c.running("etcd"); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
	if c.running("kubelet") != 0 {
		t.Error("what was never started runs")
	}

	if err := os.WriteFile(c.pidFile("etcd"), []byte(strconv.Itoa(id)+" "+begun), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.stop("etcd"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("it ended by itself")
	}
	if status, ok := child.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", child.ProcessState)
	}
	if err := c.stop("etcd"); err != nil {
		t.Errorf("to stop what has ended: %v", err)
	}
}

// What outlives this program must not hold what its caller had open.
func TestCloseOnExec(t *testing.T) {
	inherited, err := syscall.Dup(1) // Without the flag, as a shell hands it on.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(inherited) })
	closeOnExec()
	child := exec.Command("readlink", "/proc/self/fd/"+strconv.Itoa(inherited))
	if out, err := child.CombinedOutput(); err == nil {
		t.Errorf("a child has it: %s", out)
	}
	if out, err := exec.Command("readlink", "/proc/self/fd/1").CombinedOutput(); err != nil {
		t.Errorf("a child has no standard output: %v %s", err, out)
	}
}

// One checkout does not end the cluster of another one unasked.
func TestUpBesideAnotherCheckout(t *testing.T) {
	c := testCluster(t)
	begun, err := beginning(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		c.path("root"):              "/somewhere/else",
		c.pidFile("kube-apiserver"): strconv.Itoa(os.Getpid()) + " " + begun,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.up(t.Context()); err == nil || !strings.Contains(err.Error(), "the cluster of /somewhere/else runs") {
		t.Errorf("got %v", err)
	}
}

// What down kills must be of this cluster, not of another containerd on the machine.
func TestOfThisCluster(t *testing.T) {
	c := testCluster(t)
	shim := func(program, socket string) []byte {
		return []byte(strings.Join([]string{program, "-namespace", "k8s.io", "-address", socket, ""}, "\x00"))
	}
	for name, tc := range map[string]struct {
		arguments []byte
		want      bool
	}{
		"a shim of ours":              {shim("/x/bin/containerd-shim-runc-v2", c.path("containerd.sock")), true},
		"a shim of another one":       {shim("/usr/bin/containerd-shim-runc-v2", "/run/containerd/containerd.sock"), false},
		"what only names our socket":  {shim("/x/bin/ctr", c.path("containerd.sock")), false},
		"a kernel's thread":           {nil, false},
		"a shim of a longer address":  {shim("/x/containerd-shim-runc-v2", c.path("containerd.sock.d")), false},
		"an editor of a file of ours": {shim("vi", c.path("containerd.toml")), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.isShim(tc.arguments); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
	mount := func(point, upper string) []byte {
		return []byte("30 1 0:26 / /proc rw - proc proc rw\n31 1 0:27 / " + point + " rw - overlay overlay rw,lowerdir=/l,upperdir=" + upper + "/fs,workdir=/w\n")
	}
	for name, tc := range map[string]struct {
		mounts []byte
		want   bool
	}{
		"a container of ours":                      {mount("/", c.dir+"/containerd/root/1"), true},
		"a container of another one":               {mount("/", "/var/lib/containerd/1"), false},
		"this machine, which sees our mounts":      {mount(c.dir+"/containerd/state/1/rootfs", c.dir+"/containerd/root/1"), false},
		"a container of a folder of a longer name": {mount("/", c.dir+"-2/containerd/root/1"), false},
		"a process that is gone":                   {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.isContainer(tc.mounts); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestPKI(t *testing.T) {
	c := testCluster(t)
	if err := os.MkdirAll(c.path("pki"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.writePKI(); err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	ca, err := os.ReadFile(c.path("pki", "ca.crt"))
	if err != nil || !roots.AppendCertsFromPEM(ca) {
		t.Fatal("no CA", err)
	}
	text, err := os.ReadFile(c.path("pki", "apiserver.crt"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	server, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{nodeAddress, firstService, "kubernetes.default.svc"} {
		if _, err := server.Verify(x509.VerifyOptions{Roots: roots, DNSName: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, user := range users {
		info, err := os.Stat(c.path(user.file + ".kubeconfig"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", user.file, info, err)
		}
	}
}

// What the components read names files that are written, and nothing is left to fill in.
func TestConfigs(t *testing.T) {
	c := testCluster(t)
	if err := c.writeConfigs(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"audit-policy.yaml", "containerd.toml", "kubelet.yaml", "proxy.yaml", "cni/net.d/10-pods.conflist"} {
		text, err := os.ReadFile(filepath.Join(c.dir, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"{DIR}", "{BIN}", "{PAUSE}", "{NODE}", "{ADDRESS}", "{PODS}", "%!"} {
			if strings.Contains(string(text), name) {
				t.Errorf("%s still has %s", file, name)
			}
		}
	}
}
