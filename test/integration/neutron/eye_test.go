package neutron

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/samplecrd/samplecrd/test/openstack"
)

// object is what the OpenStack API says of a thing.
type object map[string]any

func (o object) text(field string) string {
	text, _ := o[field].(string)
	return text
}

func (o object) id() string { return o.text("id") }

// eye is a person with the OpenStack API.
type eye struct {
	*gophercloud.ServiceClient
	project string
}

func newEye(cloud string) *eye {
	GinkgoHelper()
	network, err := openstack.Client(ctx, credentials, cloud)
	Expect(err).NotTo(HaveOccurred())
	project, err := network.GetAuthResult().(tokens.CreateResult).ExtractProject()
	Expect(err).NotTo(HaveOccurred())
	return &eye{network, project.ID}
}

// find gives the things of a kind, "networks", that have these values, in pairs.
func (e *eye) find(kind string, pairs ...string) []object {
	GinkgoHelper()
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		query.Add(pairs[i], pairs[i+1])
	}
	var answer map[string][]object
	_, err := e.Get(ctx, e.ServiceURL(kind)+"?"+query.Encode(), &answer, nil) //nolint:bodyclose // Get closes what it decodes.
	Expect(err).NotTo(HaveOccurred())
	return answer[kind]
}

// create makes a thing of a kind, and change changes one.
func (e *eye) create(kind string, fields object) object {
	GinkgoHelper()
	singular := strings.TrimSuffix(kind, "s")
	var answer map[string]object
	_, err := e.Post(ctx, e.ServiceURL(kind), map[string]any{singular: fields}, &answer, nil) //nolint:bodyclose // Post closes what it decodes.
	Expect(err).NotTo(HaveOccurred())
	return answer[singular]
}

func (e *eye) change(kind, id string, fields object) {
	GinkgoHelper()
	options := &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}}
	var answer any
	_, err := e.Put(ctx, e.ServiceURL(kind, id), map[string]any{strings.TrimSuffix(kind, "s"): fields}, &answer, options) //nolint:bodyclose // Put closes what it decodes.
	Expect(err).NotTo(HaveOccurred())
}

// remove removes a thing, unless it is gone already.
func (e *eye) remove(kind, id string) {
	GinkgoHelper()
	_, err := e.Delete(ctx, e.ServiceURL(kind, id), &gophercloud.RequestOpts{OkCodes: []int{http.StatusNoContent, http.StatusNotFound}}) //nolint:bodyclose // No body.
	Expect(err).NotTo(HaveOccurred())
}

// port makes a port by hand that has an address of a subnet.
func (e *eye) port(networkID, subnetID, owner string) string {
	GinkgoHelper()
	return e.create("ports", object{
		"network_id": networkID, "device_owner": owner, "fixed_ips": []object{{"subnet_id": subnetID}},
	}).id()
}

// tidy removes all networks whose names begin so, with their ports; of those that remain
// because somebody holds them it tells.
func (e *eye) tidy(prefix string) {
	GinkgoHelper()
	for _, network := range e.find("networks", "fields", "id", "fields", "name", "project_id", e.project) {
		if strings.HasPrefix(network.text("name"), prefix) {
			e.removePorts(network.id())
			e.remove("networks", network.id())
		}
	}
}

func (e *eye) removePorts(networkID string) {
	GinkgoHelper()
	for _, port := range e.find("ports", "network_id", networkID, "fields", "id") {
		e.remove("ports", port.id())
	}
}
