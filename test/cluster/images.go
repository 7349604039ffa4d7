package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// load builds the manager's image from a checkout whose bin/ holds the binary, by its
// own Dockerfile, and brings it to the node.
func (c *cluster) load(ctx context.Context, name, checkout string) error {
	if !c.healthy() {
		return errors.New("the cluster is not up; run `make cluster-up` first")
	}
	checkout, err := filepath.Abs(checkout)
	if err != nil {
		return err
	}
	// Nothing is pulled: a binary that was built before, and nothing else.
	return c.loadImage(ctx, name, checkout, filepath.Join(checkout, "Dockerfile"), "--build-arg=BINARY=prebuilt", "--build-arg=BASE=scratch")
}

// loadBinary makes an image of one of our own static binaries.
func (c *cluster) loadBinary(ctx context.Context, name, binary string) error {
	dir := c.path("images", binary)
	file := filepath.Join(dir, "Dockerfile")
	text := fmt.Sprintf("FROM scratch\nCOPY %[1]s /%[1]s\nUSER 65532:65532\nENTRYPOINT [\"/%[1]s\"]\n", binary)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(file, []byte(text), 0o600),
		c.command(ctx, "cp", filepath.Join(c.bin, binary), dir).Run()); err != nil {
		return err
	}
	return c.loadImage(ctx, name, dir, file)
}

func (c *cluster) loadImage(ctx context.Context, name, folder, dockerfile string, args ...string) error {
	c.say("building the image %s", name)
	archive := c.path("images", strings.NewReplacer("/", "_", ":", "_").Replace(name)+".tar")
	if err := os.Remove(archive); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// A short name means Docker Hub's to the kubelet.
	full := name
	if !strings.Contains(name, "/") {
		full = "docker.io/library/" + name
	}
	for _, command := range []*exec.Cmd{
		c.buildah(ctx, append(append([]string{"bud", "--isolation=chroot", "--tag=" + full, "--file=" + dockerfile}, args...), folder)...),
		c.buildah(ctx, "push", full, "docker-archive:"+archive+":"+full),
		c.ctr("-n", "k8s.io", "images", "import", archive),
	} {
		if err := c.quietly(command); err != nil {
			return fmt.Errorf("image %s: %w", name, err)
		}
	}
	return os.Remove(archive)
}

// buildah keeps its layers with all else, in the one way that works everywhere.
func (c *cluster) buildah(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "buildah", append([]string{
		"--storage-driver=vfs", "--root=" + c.path("buildah", "root"), "--runroot=" + c.path("buildah", "run"),
	}, args...)...)
}

func (c *cluster) ctr(args ...string) *exec.Cmd {
	return exec.Command(filepath.Join(c.bin, "ctr"), append([]string{"--address=" + c.path("containerd.sock")}, args...)...)
}
