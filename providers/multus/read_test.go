package multus_test

import (
	"encoding/json"
	"fmt"
	"net/netip"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers/providertest"
)

// cniConfig is what the CNI plugins bridge and host-local read of a configuration.
type cniConfig struct {
	MTU       int32
	IsGateway bool
	DNS       struct{ Nameservers []netip.Addr }
	IPAM      struct {
		Ranges [][]struct {
			Subnet                        netip.Prefix
			Gateway, RangeStart, RangeEnd netip.Addr
		}
		Routes []struct {
			Dst netip.Prefix
			GW  netip.Addr
		}
	}
}

// read understands a NetworkAttachmentDefinition with the eyes of these plugins.
func read(nad *unstructured.Unstructured) (providertest.Held, error) {
	held := providertest.Held{ID: nad.GetName()}
	text, _, err := unstructured.NestedString(nad.Object, "spec", "config")
	if err != nil {
		return held, err
	}
	var cni cniConfig
	if err := json.Unmarshal([]byte(text), &cni); err != nil {
		return held, fmt.Errorf("reading %q: %w", text, err)
	}
	held.MTU, held.DNSServers = cni.MTU, cni.DNS.Nameservers
	strays := len(cni.IPAM.Routes)
	for _, set := range cni.IPAM.Ranges {
		// There is no DHCP server. A set is of one subnet; its first range names it.
		subnet := providertest.Subnet{DHCP: samplecrdv1.DHCPDisabled, Prefix: set[0].Subnet, Gateway: set[0].Gateway}
		for _, r := range set {
			if r.Subnet != subnet.Prefix || r.Gateway != subnet.Gateway || cni.IsGateway != r.Gateway.IsValid() {
				return held, fmt.Errorf("a set of ranges has no one subnet and gateway: %s", text)
			}
			if r.RangeStart.IsValid() {
				subnet.Pools = append(subnet.Pools, netipx.IPRangeFrom(r.RangeStart, r.RangeEnd))
			}
		}
		for _, route := range cni.IPAM.Routes {
			if subnet.Prefix.Contains(route.GW) {
				subnet.Routes = append(subnet.Routes, addressing.Route{Destination: route.Dst, NextHop: route.GW})
				strays--
			}
		}
		held.Subnets = append(held.Subnets, subnet)
	}
	if strays != 0 {
		return held, fmt.Errorf("%d next hops lie in no subnet: %s", strays, text)
	}
	return held, nil
}
