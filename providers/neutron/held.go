package neutron

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	"go4.org/netipx"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// held is a network as Neutron has it, with its subnets.
type held struct {
	network
	subnets []subnet
}

// network is a network as Neutron tells of it, as far as we look at it.
type network struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	ProjectID   string `json:"project_id"`
	MTU         int32  `json:"mtu"`
	Revision    int    `json:"revision_number"`
}

// subnet is a subnet in typed form.
type subnet struct {
	// addressing has Prefix, Gateway, Pools, DNSServers, Routes and DHCP.
	addressing.Subnet
	id, networkID, name, description string
	revision                         int
}

// wire is a subnet as Neutron tells of it.
type wire struct {
	ID              string                   `json:"id"`
	NetworkID       string                   `json:"network_id"`
	Name            string                   `json:"name"`
	Description     string                   `json:"description"`
	CIDR            string                   `json:"cidr"`
	GatewayIP       *string                  `json:"gateway_ip"`
	AllocationPools []subnets.AllocationPool `json:"allocation_pools"`
	DNSNameservers  []string                 `json:"dns_nameservers"`
	HostRoutes      []subnets.HostRoute      `json:"host_routes"`
	EnableDHCP      bool                     `json:"enable_dhcp"`
	Revision        int                      `json:"revision_number"`
}

// parse gives w in typed form; an answer that says what cannot be is an error.
func (w wire) parse() (subnet, error) {
	s := subnet{id: w.ID, networkID: w.NetworkID, name: w.Name, description: w.Description, revision: w.Revision}
	var err error
	if s.Prefix, err = netip.ParsePrefix(w.CIDR); err != nil || w.ID == "" {
		return subnet{}, odd("subnet %q has the CIDR %q", w.ID, w.CIDR)
	}
	if w.GatewayIP != nil && *w.GatewayIP != "" {
		if s.Gateway, err = netip.ParseAddr(*w.GatewayIP); err != nil {
			return subnet{}, odd("subnet %q has the gateway %q", w.ID, *w.GatewayIP)
		}
	}
	for _, pool := range w.AllocationPools {
		parsed, err := netipx.ParseIPRange(pool.Start + "-" + pool.End)
		if err != nil {
			return subnet{}, odd("subnet %q has the pool %q to %q", w.ID, pool.Start, pool.End)
		}
		s.Pools = append(s.Pools, parsed)
	}
	for _, server := range w.DNSNameservers {
		parsed, err := netip.ParseAddr(server)
		if err != nil {
			return subnet{}, odd("subnet %q has the DNS server %q", w.ID, server)
		}
		s.DNSServers = append(s.DNSServers, parsed)
	}
	for _, route := range w.HostRoutes {
		destination, err := netip.ParsePrefix(route.DestinationCIDR)
		hop, hopErr := netip.ParseAddr(route.NextHop)
		if err != nil || hopErr != nil {
			return subnet{}, odd("subnet %q has the route %q by %q", w.ID, route.DestinationCIDR, route.NextHop)
		}
		s.Routes = append(s.Routes, addressing.Route{Destination: destination, NextHop: hop})
	}
	s.DHCP = samplecrdv1.DHCPDisabled
	if w.EnableDHCP {
		s.DHCP = samplecrdv1.DHCPEnabled
	}
	return s, nil
}

// page is how many objects one list call asks for. Neutron may give fewer, or all at
// once where pagination is switched off.
const page = 1000

// The fields that are asked for; what is not needed costs Neutron joins.
const (
	networkFields = "id name description project_id mtu revision_number"
	subnetFields  = "id network_id name description cidr gateway_ip allocation_pools dns_nameservers host_routes enable_dhcp revision_number"
	portFields    = "id device_owner fixed_ips"
)

// list gives all objects of a kind whose field has that value, page by page. What is
// not said to be a list is not taken for an empty one, and the links are followed by
// what they ask for, not to where they lead.
func list[T any](ctx context.Context, s *session, kind, field, value, fields string) ([]T, error) {
	var all []T
	base, known := s.ServiceURL(kind)+"?", map[string]bool{}
	for next := (url.Values{field: {value}, "fields": strings.Fields(fields), "limit": {strconv.Itoa(page)}}).Encode(); next != ""; {
		var answer map[string]json.RawMessage
		_, err := s.Get(ctx, base+next, &answer, nil) //nolint:bodyclose // Get closes what it decodes.
		if isCode(err, http.StatusNotFound) && len(all) > 0 {
			return nil, errPages // The last one of the page before is gone.
		}
		if err != nil {
			return nil, err
		}
		var some []T
		var ids []struct{ ID string }
		if err := errors.Join(json.Unmarshal(answer[kind], &some), json.Unmarshal(answer[kind], &ids)); err != nil || some == nil {
			return nil, odd("it holds no list of %s", kind)
		}
		for _, one := range ids {
			if known[one.ID] {
				return nil, errPages
			}
			known[one.ID] = true
		}
		all = append(all, some...)
		if next = nextOf(answer[kind+"_links"]); len(some) == 0 && next != "" {
			return nil, errPages
		}
	}
	return all, nil
}

// errPages is a list that changed between two of its pages, or whose pages lead back.
var errPages = odd("its pages do not go together")

// nextOf gives the query of the link to the next page; "" on the last one.
func nextOf(links json.RawMessage) string {
	var all []struct{ Rel, Href string }
	if json.Unmarshal(links, &all) != nil {
		return ""
	}
	for _, link := range all {
		if at, err := url.Parse(link.Href); err == nil && link.Rel == "next" {
			return at.RawQuery
		}
	}
	return ""
}

func (s *session) networksBy(ctx context.Context, field, value string) ([]network, error) {
	return list[network](ctx, s, "networks", field, value, networkFields)
}

func (s *session) wiresBy(ctx context.Context, field, value string) ([]wire, error) {
	return list[wire](ctx, s, "subnets", field, value, subnetFields)
}

func (s *session) subnetsOn(ctx context.Context, networkID string) ([]subnet, error) {
	wires, err := s.wiresBy(ctx, "network_id", networkID)
	if err != nil {
		return nil, err
	}
	return parsed(wires)
}

// parsed gives subnets in typed form.
func parsed(wires []wire) ([]subnet, error) {
	var err error
	all := make([]subnet, len(wires))
	for i, w := range wires {
		if all[i], err = w.parse(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// port is a port as Neutron tells of it, as far as we look at it.
type port struct {
	ID          string `json:"id"`
	DeviceOwner string `json:"device_owner"`
	FixedIPs    []struct {
		SubnetID string `json:"subnet_id"`
	} `json:"fixed_ips"`
}

func (s *session) portsOf(ctx context.Context, networkID string) ([]port, error) {
	return list[port](ctx, s, "ports", "network_id", networkID, portFields)
}
