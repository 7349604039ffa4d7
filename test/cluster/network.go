package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
)

// The cluster's addresses are from what RFC 2544 keeps for benchmarks, which no
// example and no real network uses.
const (
	namespace    = "samplecrd-cluster"
	hostLink     = "samplecrd-host"
	nodeLink     = "samplecrd-node"
	hostAddress  = "198.18.1.1"
	nodeAddress  = "198.18.1.2"
	podRange     = "198.18.64.0/18"
	nodePodRange = "198.18.64.0/24" // the first that the controller manager gives away
	serviceRange = "198.19.0.0/16"
	firstService = "198.19.0.1"
)

// cniConfig routes every Pod by itself: without a bridge, what kube-proxy translates
// needs no netfilter for bridges.
const cniConfig = `{
  "cniVersion": "1.0.0",
  "name": "pods",
  "plugins": [{
    "type": "ptp",
    "ipam": {
      "type": "host-local",
      "dataDir": %q,
      "ranges": [[{"subnet": %q}]],
      "routes": [{"dst": "0.0.0.0/0"}]
    }
  }]
}
`

// connect makes the network namespace with a cable to the host. It has no default
// route: what asks for an image that is not there fails at once.
func (c *cluster) connect(ctx context.Context) error {
	for _, args := range [][]string{
		{"netns", "add", namespace},
		{"link", "add", hostLink, "type", "veth", "peer", "name", nodeLink, "netns", namespace},
		{"address", "add", hostAddress + "/30", "dev", hostLink},
		{"link", "set", hostLink, "up"},
		{"-netns", namespace, "address", "add", nodeAddress + "/30", "dev", nodeLink},
		{"-netns", namespace, "link", "set", nodeLink, "up"},
		{"-netns", namespace, "link", "set", "lo", "up"},
		// kube-proxy translates what has a route; this one goes nowhere by itself.
		{"-netns", namespace, "route", "add", serviceRange, "via", hostAddress},
	} {
		if err := c.command(ctx, "ip", args...).Run(); err != nil {
			return fmt.Errorf("ip %s: %w", strings.Join(args, " "), err)
		}
	}
	return nil
}

// disconnect removes the namespace, and with it every link, route and rule in it.
func (c *cluster) disconnect(ctx context.Context) error {
	var all error
	if _, err := net.InterfaceByName(hostLink); err == nil {
		all = c.command(ctx, "ip", "link", "delete", hostLink).Run()
	}
	if _, err := os.Stat("/run/netns/" + namespace); err == nil {
		all = errors.Join(all, c.command(ctx, "ip", "netns", "delete", namespace).Run())
	}
	return all
}

// inside runs a program in the network namespace. nsenter becomes the program, so
// that its process is the program's.
func inside(program string, args ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"--net=/run/netns/" + namespace, "--", program}, args...)...)
}
