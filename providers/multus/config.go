package multus

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// cniVersion is the version of the CNI specification that the configuration is
// written in.
const cniVersion = "1.0.0"

// bridgeConfig is the configuration of the CNI plugin "bridge".
type bridgeConfig struct {
	CNIVersion string `json:"cniVersion"`
	Name       string `json:"name"`
	Type       string `json:"type"`
	Bridge     string `json:"bridge"`
	IsGateway  bool   `json:"isGateway,omitempty"`
	// ForceAddress lets a changed gateway replace the old one on a bridge that
	// exists; without it every ADD fails from then on.
	ForceAddress bool       `json:"forceAddress,omitempty"`
	MTU          int32      `json:"mtu,omitempty"`
	VLAN         int32      `json:"vlan,omitempty"`
	IPAM         ipamConfig `json:"ipam"`
	// DNS goes into the result as it is.
	DNS *dnsConfig `json:"dns,omitempty"`
}

type dnsConfig struct {
	Nameservers []string `json:"nameservers"`
}

// ipamConfig is the configuration of the CNI plugin "host-local".
type ipamConfig struct {
	Type string `json:"type"`
	// Ranges are sets of ranges: a Pod gets one address of each. With no set
	// host-local refuses, and the Pod waits.
	Ranges [][]ipamRange `json:"ranges"`
	Routes []ipamRoute   `json:"routes,omitempty"`
}

type ipamRange struct {
	Subnet     string `json:"subnet"`
	RangeStart string `json:"rangeStart,omitempty"`
	RangeEnd   string `json:"rangeEnd,omitempty"`
	// Gateway is never allocated. Where there is none, host-local keeps the first
	// address free all the same.
	Gateway string `json:"gateway,omitempty"`
}

type ipamRoute struct {
	Destination string `json:"dst"`
	NextHop     string `json:"gw"`
}

// config writes the CNI configuration of a Network. The CNI network's name and
// the bridge's come from the UID: host-local keeps its leases in a folder of that
// name on each node, and a Network created anew must not inherit them.
func config(uid types.UID, class *samplecrdv1.MultusSpec, plan addressing.Plan) (string, error) {
	routed := slices.ContainsFunc(plan.Subnets, func(subnet addressing.Subnet) bool { return subnet.Gateway.IsValid() })
	cni := bridgeConfig{
		CNIVersion:   cniVersion,
		Name:         string(uid),
		Type:         "bridge",
		Bridge:       bridgeName(uid),
		IsGateway:    routed,
		ForceAddress: routed,
		MTU:          plan.MTU,
		IPAM:         ipamConfig{Type: "host-local", Ranges: [][]ipamRange{}},
		DNS:          dns(plan),
	}
	if class.VLANID != nil {
		cni.VLAN = *class.VLANID
	}
	for _, subnet := range plan.Subnets {
		cni.IPAM.Ranges = append(cni.IPAM.Ranges, ranges(subnet))
		for _, route := range subnet.Routes {
			cni.IPAM.Routes = append(cni.IPAM.Routes, ipamRoute{Destination: route.Destination.String(), NextHop: route.NextHop.String()})
		}
	}
	text, err := json.Marshal(cni)
	if err != nil {
		return "", fmt.Errorf("writing CNI configuration: %w", err)
	}
	return string(text), nil
}

// ranges is the set that addresses of subnet come from: its pools, or all of it.
func ranges(subnet addressing.Subnet) []ipamRange {
	whole := ipamRange{Subnet: subnet.Prefix.String(), Gateway: addressText(subnet.Gateway)}
	if len(subnet.Pools) == 0 {
		return []ipamRange{whole}
	}
	set := make([]ipamRange, len(subnet.Pools))
	for i, pool := range subnet.Pools {
		set[i] = whole
		set[i].RangeStart, set[i].RangeEnd = pool.From().String(), pool.To().String()
	}
	return set
}

// dns lists the name servers of all subnets, each once, in order; nil for none.
func dns(plan addressing.Plan) *dnsConfig {
	var all []string
	for _, subnet := range plan.Subnets {
		for _, server := range subnet.DNSServers {
			if text := server.String(); !slices.Contains(all, text) {
				all = append(all, text)
			}
		}
	}
	if all == nil {
		return nil
	}
	return &dnsConfig{Nameservers: all}
}

// bridgeName fits the 15 characters that Linux gives an interface's name.
func bridgeName(uid types.UID) string {
	digits := strings.ReplaceAll(string(uid), "-", "")
	return "br-" + digits[:min(len(digits), 12)]
}

func addressText(addr netip.Addr) string {
	if !addr.IsValid() {
		return ""
	}
	return addr.String()
}
