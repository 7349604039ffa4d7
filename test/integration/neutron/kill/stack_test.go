package kill

import (
	"context"
	"os"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	gopher "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/regions"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/samplecrd/samplecrd/test/openstack"
)

// stack is the OpenStack API as people use it: nothing of the manager's is in between.
type stack struct {
	// text is clouds.yaml.
	text []byte
	// member sees the project that the Networks are made in.
	member *gophercloud.ServiceClient
	// admin writes Keystone's catalog.
	admin *gophercloud.ServiceClient
}

func dial(path string) *stack {
	GinkgoHelper()
	text, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	member, err := openstack.Client(ctx, text, openstack.Member)
	Expect(err).NotTo(HaveOccurred())
	admin, err := openstack.Client(ctx, text, openstack.Admin)
	Expect(err).NotTo(HaveOccurred())
	catalog, err := gopher.NewIdentityV3(admin.ProviderClient, gophercloud.EndpointOpts{})
	Expect(err).NotTo(HaveOccurred())
	return &stack{text: text, member: member, admin: catalog}
}

// detour enters a region in Keystone's catalog whose Neutron is at url, until the end of
// the test, and gives the member's clouds.yaml for it.
func (s *stack) detour(region, url string) []byte {
	GinkgoHelper()
	pages, err := services.List(s.admin, services.ListOpts{ServiceType: "network"}).AllPages(ctx)
	Expect(err).NotTo(HaveOccurred())
	found, err := services.ExtractServices(pages)
	Expect(err).NotTo(HaveOccurred())
	Expect(found).To(HaveLen(1))
	Expect(regions.Create(ctx, s.admin, regions.CreateOpts{ID: region, Description: "A test's"}).Err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(regions.Delete(ctx, s.admin, region).ExtractErr()).To(Succeed()) })
	entered, err := endpoints.Create(ctx, s.admin, endpoints.CreateOpts{
		Availability: gophercloud.AvailabilityPublic, Name: region, Region: region, ServiceID: found[0].ID, URL: url,
	}).Extract()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(endpoints.Delete(ctx, s.admin, entered.ID).ExtractErr()).To(Succeed()) })

	var file struct {
		Clouds map[string]map[string]any `json:"clouds"`
	}
	Expect(yaml.Unmarshal(s.text, &file)).To(Succeed())
	member := file.Clouds[openstack.Member]
	member["region_name"] = region
	text, err := yaml.Marshal(map[string]any{"clouds": map[string]any{openstack.Member: member}})
	Expect(err).NotTo(HaveOccurred())
	return text
}

// made is a network as the OpenStack API shows it.
type made struct {
	id string
	// subnets are texts as describe gives them.
	subnets []string
}

// describe tells of a subnet what matters here.
func describe(cidr, gateway string) string { return cidr + " by " + gateway }

// of gives the networks of a world, by the UID that they are marked with; of those that
// bear no mark of it the name tells.
func (s *stack) of(ctx context.Context, w *world) (map[types.UID][]made, error) {
	pages, err := networks.List(s.member, networks.ListOpts{Limit: 500}).AllPages(ctx)
	if err != nil {
		return nil, err
	}
	all, err := networks.ExtractNetworks(pages)
	if err != nil {
		return nil, err
	}
	if pages, err = subnets.List(s.member, subnets.ListOpts{Limit: 500}).AllPages(ctx); err != nil {
		return nil, err
	}
	parts, err := subnets.ExtractSubnets(pages)
	if err != nil {
		return nil, err
	}
	on := map[string][]string{}
	for _, part := range parts {
		on[part.NetworkID] = append(on[part.NetworkID], describe(part.CIDR, part.GatewayIP))
	}
	found := map[types.UID][]made{}
	for _, n := range all {
		uid, marked := strings.CutPrefix(n.Description, mark(w.cluster))
		if !marked {
			uid = "no mark, named " + n.Name
		}
		if marked || strings.HasPrefix(n.Name, w.namespace+"/") {
			found[types.UID(uid)] = append(found[types.UID(uid)], made{id: n.ID, subnets: on[n.ID]})
		}
	}
	return found, nil
}

// mark begins the description of what the manager makes for a cluster; the Network's UID
// ends it.
func mark(cluster types.UID) string {
	return "samplecrd-controller cluster=" + string(cluster) + " network="
}

// remove removes what is of a world, and says how many networks that was.
func (s *stack) remove(ctx context.Context, w *world) (int, error) {
	found, err := s.of(ctx, w)
	if err != nil {
		return 0, err
	}
	removed := 0
	for _, all := range found {
		for _, n := range all {
			if err := networks.Delete(ctx, s.member, n.id).ExtractErr(); err != nil {
				return removed, err
			}
			removed++
		}
	}
	return removed, nil
}
