package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// How long the cluster may take to answer; generous, for a loaded machine.
const readyWithin = 3 * time.Minute

//go:embed manifests/certmanager.yaml
var certManager string

// up makes the cluster, or finds that it is there.
func (c *cluster) up(ctx context.Context) error {
	if owner := c.owner(); owner != "" && owner != c.root && c.running("kube-apiserver") != 0 {
		return fmt.Errorf("the cluster of %s runs; one is all that fits on a machine. End it first: make cluster-down", owner)
	}
	if err := errors.Join(c.install(ctx), c.build(ctx)); err != nil {
		return err
	}
	if !c.healthy() {
		// What a killed predecessor left would be in the way.
		if err := c.down(ctx); err != nil {
			return fmt.Errorf("clearing what was left: %w", err)
		}
		if err := c.create(ctx); err != nil {
			return fmt.Errorf("%w; logs are in %s", err, c.path("log"))
		}
	}
	if err := errors.Join(c.giveKubeconfig(), c.installCertManager(ctx)); err != nil {
		return err
	}
	c.say("up")
	fmt.Println(kubeconfig(c.root))
	return nil
}

// owner is the checkout whose cluster this is, running or not; "" for nobody's.
func (c *cluster) owner() string {
	root, err := os.ReadFile(c.path("root"))
	if err != nil {
		return ""
	}
	return string(root)
}

// healthy says whether every process runs, from this checkout, and the node is ready.
func (c *cluster) healthy() bool {
	if c.owner() != c.root {
		return false
	}
	for _, component := range c.components() {
		if c.running(component.name) == 0 {
			return false
		}
	}
	out, err := c.kubectl("get", "node", nodeName, "--request-timeout=5s", "-o",
		`jsonpath={.status.conditions[?(@.type=="Ready")].status}`).Output()
	return err == nil && string(out) == "True"
}

func (c *cluster) create(ctx context.Context) error {
	for _, dir := range []string{"log", "pki", "images"} {
		if err := os.MkdirAll(c.path(dir), 0o700); err != nil {
			return err
		}
	}
	c.say("connecting the network namespace %s", namespace)
	if err := errors.Join(c.connect(ctx), c.writePKI(), c.writeConfigs(), c.keepSysctls(), os.WriteFile(c.path("root"), []byte(c.root), 0o600)); err != nil {
		return err
	}
	for _, component := range c.components() {
		c.say("starting %s", component.name)
		if err := c.start(component); err != nil {
			return err
		}
		switch component.name {
		case "kube-apiserver":
			if err := c.await(ctx, component.name, func() error { return c.kubectl("get", "--raw=/readyz").Run() }); err != nil {
				return err
			}
		case "containerd": // The kubelet needs the sandbox's image at once.
			if err := c.await(ctx, component.name, func() error { return c.ctr("version").Run() }); err != nil {
				return err
			}
			if err := errors.Join(c.loadBinary(ctx, pauseImage, "pause"), c.loadBinary(ctx, certManagerImage, "certmanager")); err != nil {
				return err
			}
		}
	}
	c.say("waiting for the node")
	return c.await(ctx, "kubelet", func() error {
		if !c.healthy() {
			return errors.New("not ready")
		}
		return nil
	})
}

// await repeats check until it succeeds, the component ends or time is up.
func (c *cluster) await(ctx context.Context, component string, check func() error) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return nil
		}
		if c.running(component) == 0 {
			return fmt.Errorf("%s ended", component)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", component, err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// installCertManager applies cert-manager's own CRDs and the Deployment of its code.
func (c *cluster) installCertManager(ctx context.Context) error {
	c.say("installing cert-manager")
	out, err := c.goList(ctx, "github.com/cert-manager/cert-manager")
	if err != nil {
		return err
	}
	if err := c.quietly(c.kubectl("apply", "--server-side", "-f", filepath.Join(out, "deploy", "crds"))); err != nil {
		return err
	}
	// kubectl does not wait for an object that has no conditions yet: it fails.
	established := func() error {
		return c.quietly(c.kubectl("wait", "--for=condition=Established", "crd/certificates.cert-manager.io", "crd/issuers.cert-manager.io", "--timeout=60s"))
	}
	if err := c.await(ctx, "kube-apiserver", established); err != nil {
		return err
	}
	apply := c.kubectl("apply", "--server-side", "-f", "-")
	apply.Stdin = strings.NewReader(strings.ReplaceAll(certManager, "{IMAGE}", certManagerImage))
	if err := c.quietly(apply); err != nil {
		return err
	}
	return c.quietly(c.kubectl("-n", "cert-manager", "rollout", "status", "deployment/cert-manager", "--timeout="+readyWithin.String()))
}

// goList gives the folder of a module.
func (c *cluster) goList(ctx context.Context, module string) (string, error) {
	command := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module)
	command.Dir = c.module
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("finding the module %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (c *cluster) kubectl(args ...string) *exec.Cmd {
	return exec.Command(filepath.Join(c.bin, "kubectl"), append([]string{"--kubeconfig=" + c.path("admin.kubeconfig")}, args...)...)
}

// quietly shows what a command says only when it fails.
func (c *cluster) quietly(command *exec.Cmd) error {
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command.Args, " "), err, out)
	}
	return nil
}

// giveKubeconfig puts a copy of the administrator's where people look for it.
func (c *cluster) giveKubeconfig() error {
	text, err := os.ReadFile(c.path("admin.kubeconfig"))
	if err != nil {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(kubeconfig(c.root)), 0o755), os.WriteFile(kubeconfig(c.root), text, 0o600))
}

// sysctls are the settings of the kernel that a kubelet changes for the whole machine.
var sysctls = []string{
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
	"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
}

// keepSysctls remembers them for down.
func (c *cluster) keepSysctls() error {
	kept := map[string]string{}
	for _, name := range sysctls {
		if text, err := os.ReadFile("/proc/sys/" + name); err == nil {
			kept[name] = strings.TrimSpace(string(text))
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return os.WriteFile(c.path("sysctls.json"), text, 0o600)
}
