package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	criv1 "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// down ends the cluster, also another checkout's and one of which only parts are left,
// and removes everything of it. Where there is none it does nothing.
func (c *cluster) down(ctx context.Context) error {
	if _, err := os.Stat(c.dir); errors.Is(err, fs.ErrNotExist) {
		return c.disconnect(ctx)
	}
	c.say("ending what runs")
	// First the kubelet, which would start again what ends; then the Pods, in order.
	all := c.stop("kubelet")
	if c.running("containerd") != 0 {
		if err := c.removePods(ctx); err != nil {
			c.say("Pods are killed, since they do not end in order: %v", err)
		}
	}
	components := c.components()
	for _, component := range slices.Backward(components) {
		all = errors.Join(all, c.stop(component.name))
	}
	all = errors.Join(all, c.killRest(), c.unmount(), c.restoreSysctls(), c.disconnect(ctx))
	if all != nil {
		return all
	}
	removeCgroups()
	if owner := c.owner(); owner != "" {
		all = os.RemoveAll(filepath.Dir(kubeconfig(owner)))
	}
	c.say("down")
	return errors.Join(all, os.RemoveAll(c.dir))
}

// removePods asks containerd to end every Pod, with its network and mounts.
func (c *cluster) removePods(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	connection, err := grpc.NewClient("unix://"+c.path("containerd.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { _ = connection.Close() }()
	runtime := criv1.NewRuntimeServiceClient(connection)
	list, err := runtime.ListPodSandbox(ctx, &criv1.ListPodSandboxRequest{})
	if err != nil {
		return err
	}
	var all error
	for _, pod := range list.Items {
		_, stopped := runtime.StopPodSandbox(ctx, &criv1.StopPodSandboxRequest{PodSandboxId: pod.Id})
		_, removed := runtime.RemovePodSandbox(ctx, &criv1.RemovePodSandboxRequest{PodSandboxId: pod.Id})
		all = errors.Join(all, stopped, removed)
	}
	return all
}

// killRest kills what a containerd that was killed itself has left: shims, and
// containers, whose root is a mount of ours.
func (c *cluster) killRest() error {
	for deadline := time.Now().Add(patience); ; {
		rest := c.rest()
		if len(rest) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v do not end", rest)
		}
		for _, id := range rest {
			_ = syscall.Kill(id, syscall.SIGKILL)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (c *cluster) rest() []int {
	var ids []int
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		id, err := strconv.Atoi(filepath.Base(entry))
		if err != nil {
			continue
		}
		arguments, _ := os.ReadFile(filepath.Join(entry, "cmdline"))
		mounts, _ := os.ReadFile(filepath.Join(entry, "mountinfo"))
		if c.isShim(arguments) || c.isContainer(mounts) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (c *cluster) isShim(arguments []byte) bool {
	words := bytes.Split(arguments, []byte{0})
	return filepath.Base(string(words[0])) == "containerd-shim-runc-v2" &&
		slices.ContainsFunc(words, func(word []byte) bool { return string(word) == c.path("containerd.sock") })
}

// isContainer looks for a root that is an overlay of folders of ours (proc(5),
// mountinfo: the fifth field is where it is mounted).
func (c *cluster) isContainer(mounts []byte) bool {
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		if len(fields) > 4 && fields[4] == "/" && strings.Contains(line, "upperdir="+c.dir+"/") {
			return true
		}
	}
	return false
}

// unmount takes down every mount in the folder, the inner ones first.
func (c *cluster) unmount() error {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	var points []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], c.dir+"/") {
			points = append(points, fields[4])
		}
	}
	var all error
	for _, point := range slices.Backward(points) {
		if err := syscall.Unmount(point, syscall.MNT_DETACH); err != nil {
			all = errors.Join(all, fmt.Errorf("unmounting %s: %w", point, err))
		}
	}
	return all
}

func (c *cluster) restoreSysctls() error {
	text, err := os.ReadFile(c.path("sysctls.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var kept map[string]string
	all := json.Unmarshal(text, &kept)
	for name, value := range kept {
		all = errors.Join(all, os.WriteFile("/proc/sys/"+name, []byte(value), 0))
	}
	return all
}

// removeCgroups removes the kubelet's, which stay when it ends. One with a process in
// it, of another kubelet on this machine, say, cannot be removed.
func removeCgroups() {
	for _, pattern := range []string{"/sys/fs/cgroup/kubepods", "/sys/fs/cgroup/*/kubepods"} {
		roots, _ := filepath.Glob(pattern)
		for _, root := range roots {
			var dirs []string
			_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
				if err == nil && entry.IsDir() {
					dirs = append(dirs, path)
				}
				return nil
			})
			for _, dir := range slices.Backward(dirs) {
				_ = syscall.Rmdir(dir)
			}
		}
	}
}
