package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	nodeName = "node-1"
	apiURL   = "https://" + nodeAddress + ":6443"
	// pauseImage is the sandbox of Pods, and what runs in the Pods of tests.
	pauseImage       = "samplecrd.test/pause:1"
	certManagerImage = "samplecrd.test/certmanager:1"
)

// component is a process of the cluster.
type component struct {
	name string // of the binary, the log and the file with its process id
	args []string
}

// components are all processes, in the order in which they start.
func (c *cluster) components() []component {
	pki := func(name string) string { return c.path("pki", name) }
	return []component{
		{"etcd", []string{
			"--data-dir=" + c.path("etcd"), "--unsafe-no-fsync", "--log-level=warn",
			"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
			"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
			"--initial-cluster=default=http://127.0.0.1:2380",
		}},
		{"kube-apiserver", []string{
			"--etcd-servers=http://127.0.0.1:2379",
			"--advertise-address=" + nodeAddress,
			"--service-cluster-ip-range=" + serviceRange,
			"--allow-privileged",
			"--anonymous-auth=false",
			"--authorization-mode=Node,RBAC",
			// PodSecurity is on by itself.
			"--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement",
			"--client-ca-file=" + pki("ca.crt"),
			"--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"),
			"--cert-dir=" + c.path("pki"),
			"--kubelet-client-certificate=" + pki("kubelet-client.crt"), "--kubelet-client-key=" + pki("kubelet-client.key"),
			// Node names do not resolve.
			"--kubelet-preferred-address-types=InternalIP",
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file=" + pki("service-accounts.key"),
			"--service-account-signing-key-file=" + pki("service-accounts.key"),
			"--audit-policy-file=" + c.path("audit-policy.yaml"), "--audit-log-path=" + c.auditLog(),
		}},
		{"kube-controller-manager", []string{
			"--kubeconfig=" + c.path("controller-manager.kubeconfig"),
			"--leader-elect=false", "--use-service-account-credentials",
			"--service-account-private-key-file=" + pki("service-accounts.key"), "--root-ca-file=" + pki("ca.crt"),
			"--cluster-signing-cert-file=" + pki("ca.crt"), "--cluster-signing-key-file=" + pki("ca.key"),
			"--allocate-node-cidrs", "--cluster-cidr=" + podRange, "--service-cluster-ip-range=" + serviceRange,
			"--cert-dir=" + c.path("controller-manager"),
		}},
		{"kube-scheduler", []string{
			"--kubeconfig=" + c.path("scheduler.kubeconfig"), "--leader-elect=false", "--cert-dir=" + c.path("scheduler"),
		}},
		{"containerd", []string{"--config=" + c.path("containerd.toml")}},
		{"kubelet", []string{
			"--config=" + c.path("kubelet.yaml"), "--kubeconfig=" + c.path("kubelet.kubeconfig"),
			"--hostname-override=" + nodeName, "--node-ip=" + nodeAddress,
			"--root-dir=" + c.path("kubelet"), "--cert-dir=" + c.path("kubelet", "pki"),
		}},
		{"kube-proxy", []string{"--config=" + c.path("proxy.yaml")}},
	}
}

// auditLog tells who asked the API server for what.
func (c *cluster) auditLog() string { return c.path("log", "audit.log") }

//go:embed manifests/audit-policy.yaml
var auditPolicy string

//go:embed manifests/containerd.toml
var containerdConfig string

//go:embed manifests/kubelet.yaml
var kubeletConfig string

//go:embed manifests/proxy.yaml
var proxyConfig string

// writeConfigs writes what the components read, with their paths filled in.
func (c *cluster) writeConfigs() error {
	fill := strings.NewReplacer(
		"{DIR}", c.dir, "{BIN}", c.bin, "{PAUSE}", pauseImage, "{NODE}", nodeName,
		"{ADDRESS}", nodeAddress, "{PODS}", podRange,
	)
	files := map[string]string{
		"audit-policy.yaml":          auditPolicy,
		"containerd.toml":            fill.Replace(containerdConfig),
		"kubelet.yaml":               fill.Replace(kubeletConfig),
		"proxy.yaml":                 fill.Replace(proxyConfig),
		"resolv.conf":                "", // Pods here ask no name server.
		"cni/net.d/10-pods.conflist": fmt.Sprintf(cniConfig, c.path("cni", "addresses"), nodePodRange),
	}
	var all error
	for name, text := range files {
		path := c.path(name)
		all = errors.Join(all, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
	}
	return all
}
