package e2e

import (
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// Network namespaces of this machine in which the plugins run.
const (
	cniNode = "samplecrd-e2e-node"
	cniPod  = "samplecrd-e2e-pod"
)

// cniConfig is what is looked at of a CNI configuration.
type cniConfig struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Bridge string `json:"bridge"`
	IPAM   struct {
		Ranges [][]struct {
			Subnet  netip.Prefix `json:"subnet"`
			Gateway netip.Addr   `json:"gateway"`
		} `json:"ranges"`
	} `json:"ipam"`
}

// cniResult is what is looked at of what a CNI plugin answers.
type cniResult struct {
	IPs []struct {
		Address netip.Prefix `json:"address"`
		Gateway netip.Addr   `json:"gateway"`
	} `json:"ips"`
}

// attach lets the CNI plugins give a Pod an interface by each configuration, in turn
// and on one node, as Multus would.
func attach(ctx context.Context, configs []string) {
	GinkgoHelper()
	plugins := filepath.Join(root, "bin", "cluster")
	if _, err := os.Stat(filepath.Join(plugins, "bridge")); err != nil || os.Geteuid() != 0 {
		Skip("needs the CNI plugins in bin/cluster and to be root, to make network namespaces")
	}
	Expect(configs).NotTo(BeEmpty())
	netns(ctx, cniNode)
	for _, text := range configs {
		var said cniConfig
		Expect(json.Unmarshal([]byte(text), &said)).To(Succeed())
		Expect(said.Name).NotTo(BeEmpty())
		// host-local keeps leases there, for as long as there is a node.
		DeferCleanup(os.RemoveAll, "/var/lib/cni/networks/"+said.Name)
		netns(ctx, cniPod)
		plugin := func(verb string) string {
			command := exec.CommandContext(ctx, "nsenter", "--net=/run/netns/"+cniNode, "--", filepath.Join(plugins, said.Type))
			command.Env = []string{
				"PATH=" + os.Getenv("PATH"), "CNI_PATH=" + plugins, "CNI_COMMAND=" + verb, "CNI_CONTAINERID=e2e",
				"CNI_NETNS=/run/netns/" + cniPod, "CNI_IFNAME=net1",
			}
			answer := run(command, text)
			Expect(answer.code).To(BeZero(), "%s: %s%s", verb, answer.stdout, answer.stderr)
			return answer.stdout
		}
		var result cniResult
		Expect(json.Unmarshal([]byte(plugin("ADD")), &result)).To(Succeed())
		wanted := said.IPAM.Ranges[0][0]
		Expect(result.IPs).To(HaveLen(1))
		Expect(result.IPs[0].Gateway).To(Equal(wanted.Gateway))
		given := result.IPs[0].Address
		Expect(wanted.Subnet.Contains(given.Addr())).To(BeTrue(), "%s is not in %s", given, wanted.Subnet)
		Expect(given.Addr()).NotTo(Equal(wanted.Gateway))
		Expect(addresses(ctx, cniPod, "net1")).To(ConsistOf(given.String()))
		Expect(addresses(ctx, cniNode, said.Bridge)).To(ConsistOf(netip.PrefixFrom(wanted.Gateway, wanted.Subnet.Bits()).String()))
		plugin("DEL")
		Expect(run(exec.CommandContext(ctx, "ip", "-netns", cniPod, "link", "show", "net1"), "").code).NotTo(BeZero())
	}
}

// netns makes a network namespace, in place of one of that name.
func netns(ctx context.Context, name string) {
	GinkgoHelper()
	remove := func(ctx context.Context) { run(exec.CommandContext(ctx, "ip", "netns", "delete", name), "") }
	remove(ctx)
	answer := run(exec.CommandContext(ctx, "ip", "netns", "add", name), "")
	Expect(answer.code).To(BeZero(), answer.stderr)
	DeferCleanup(remove)
}

// addresses are those of IPv4 that an interface has.
func addresses(ctx context.Context, namespace, link string) []string {
	GinkgoHelper()
	answer := run(exec.CommandContext(ctx, "ip", "-netns", namespace, "-json", "-4", "address", "show", link), "")
	Expect(answer.code).To(BeZero(), answer.stderr)
	var links []struct {
		Info []struct {
			Local  netip.Addr `json:"local"`
			Length int        `json:"prefixlen"`
		} `json:"addr_info"`
	}
	Expect(json.Unmarshal([]byte(answer.stdout), &links)).To(Succeed())
	var all []string
	for _, each := range links {
		for _, info := range each.Info {
			all = append(all, netip.PrefixFrom(info.Local, info.Length).String())
		}
	}
	return all
}
