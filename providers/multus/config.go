package multus

import (
	"encoding/json"
	"fmt"
	"net/netip"
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
}

// ipamConfig is the configuration of the CNI plugin "host-local".
type ipamConfig struct {
	Type   string        `json:"type"`
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
	subnet := plan.Subnets[0]
	gateway := addressText(subnet.Gateway)
	cni := bridgeConfig{
		CNIVersion:   cniVersion,
		Name:         string(uid),
		Type:         "bridge",
		Bridge:       bridgeName(uid),
		IsGateway:    subnet.Gateway.IsValid(),
		ForceAddress: subnet.Gateway.IsValid(),
		MTU:          plan.MTU,
		IPAM:         ipamConfig{Type: "host-local"},
	}
	if class.VLANID != nil {
		cni.VLAN = *class.VLANID
	}
	ranges := []ipamRange{{Subnet: subnet.Prefix.String(), Gateway: gateway}}
	if len(subnet.Pools) > 0 {
		ranges = nil
	}
	for _, pool := range subnet.Pools {
		ranges = append(ranges, ipamRange{Subnet: subnet.Prefix.String(), Gateway: gateway, RangeStart: pool.From().String(), RangeEnd: pool.To().String()})
	}
	cni.IPAM.Ranges = [][]ipamRange{ranges}
	for _, route := range subnet.Routes {
		cni.IPAM.Routes = append(cni.IPAM.Routes, ipamRoute{Destination: route.Destination.String(), NextHop: route.NextHop.String()})
	}
	text, err := json.Marshal(cni)
	if err != nil {
		return "", fmt.Errorf("writing CNI configuration: %w", err)
	}
	return string(text), nil
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
