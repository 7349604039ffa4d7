package neutron

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/matchers"
)

// kubectl is what a person types. It has to succeed.
func (w *world) kubectl(stdin string, arguments ...string) {
	GinkgoHelper()
	result, err := cluster.Kubectl(stdin, append([]string{"--namespace", w.Namespace}, arguments...)...)
	Expect(err).NotTo(HaveOccurred())
	Expect(result.ExitCode).To(BeZero(), result.Stderr)
}

// atRest waits until the project was looked through and nothing is asked any more.
func (w *world) atRest() {
	GinkgoHelper()
	Eventually(w.tape.count(0, "GET subnets 200")).ShouldNot(BeZero(), "the first look through the project")
	w.settled()
	before := w.tape.mark()
	Consistently(w.tape.told).WithArguments(before).Should(BeEmpty())
}

// fieldsOf gives the fields that the body of a request for a kind sends.
func fieldsOf(r request, kind string) []string {
	GinkgoHelper()
	var body map[string]object
	Expect(json.Unmarshal([]byte(r.body), &body)).To(Succeed())
	return slices.Sorted(maps.Keys(body[kind]))
}

// differing gives the fields in which two states of a thing differ, apart from those that
// count and date its changes.
func differing(a, b object) []string {
	var all []string
	for field := range a {
		text := func(o object) string { t, _ := json.Marshal(o[field]); return string(t) }
		if field != "revision_number" && field != "updated_at" && text(a) != text(b) {
			all = append(all, field)
		}
	}
	slices.Sort(all)
	return all
}

var _ = Describe("The walk that this project began with", func() {
	It("makes, changes and removes a real network, with the calls that it takes and no others", func() {
		w := newWorld()
		w.start()
		w.newClass(func(class *samplecrdv1.NetworkClass) {
			class.Annotations = map[string]string{samplecrdv1.AnnotationIsDefaultClass: "true"}
		})
		w.atRest()
		const name = "example-network"

		calls := w.tape.mark()
		w.kubectl("", "apply", "-f", env.Path("config", "samples", "example-network.yaml"))
		Eventually(w.Of(name)).Should(matchers.BeReady())
		created := w.Get(name)
		network, subnet := w.real(created)
		Expect(network).To(And(HaveKeyWithValue("name", w.Namespace+"/"+name), HaveKeyWithValue("project_id", member.project)))
		Expect(subnet).To(And(HaveKeyWithValue("cidr", "192.168.0.0/16"), HaveKeyWithValue("gateway_ip", "192.168.0.1")))
		Expect(created.Status.ProviderID).To(HaveValue(Equal(network.id())))
		Expect(created.Status.Subnets).To(ConsistOf(samplecrdv1.SubnetStatus{
			CIDR: "192.168.0.0/16", Gateway: new("192.168.0.1"), ProviderID: new(subnet.id()), State: samplecrdv1.SubnetActive,
		}))
		Expect(w.tape.told(calls)).To(Equal([]string{"POST networks 201", "POST subnets 201"}))
		Consistently(w.tape.count(calls, "")).WithTimeout(15*time.Second).Should(Equal(2), "no call at rest")

		update := w.tape.mark()
		w.kubectl("", "apply", "-f", env.Path("config", "samples", "example-network-updated.yaml"))
		Eventually(w.Of(name)).Should(matchers.BeReady())
		Expect(w.tape.writes(update)).To(Equal([]string{"PUT subnets/{id} 200"}))
		last := w.tape.since(update)
		Expect(fieldsOf(last[len(last)-1], "subnet")).To(Equal([]string{"allocation_pools", "gateway_ip"}))
		networkNow, subnetNow := w.real(created)
		Expect(differing(network, networkNow)).To(BeEmpty())
		Expect(differing(subnet, subnetNow)).To(Equal([]string{"allocation_pools", "gateway_ip"}))
		Expect(subnetNow).To(And(HaveKeyWithValue("id", subnet.id()), HaveKeyWithValue("gateway_ip", "192.168.1.1")))
		Expect(w.Get(name).Status.Subnets).To(ConsistOf(And(
			HaveField("CIDR", "192.168.0.0/16"), HaveField("Gateway", HaveValue(Equal("192.168.1.1"))), HaveField("ProviderID", HaveValue(Equal(subnet.id()))))))

		deletion := w.tape.mark()
		w.kubectl("", "delete", "-f", env.Path("config", "samples", "example-network.yaml"))
		Expect(w.Gone(name)()).To(BeTrue())
		networks, subnets := made(member, created)
		Expect(networks).To(BeEmpty())
		Expect(subnets).To(BeEmpty())
		Expect(w.tape.writes(deletion)).To(Equal([]string{"DELETE subnets/{id} 204", "DELETE networks/{id} 204"}))
		AddReportEntry("Calls", map[string][]string{
			"create": w.tape.told(calls)[:update-calls], "update": w.tape.told(update)[:deletion-update], "delete": w.tape.told(deletion),
		})
	})

	It("carries all that a manifest can say, and what changes of it", func() {
		w := running()
		manifest := func(rest string) string {
			return `{apiVersion: samplecrd.k8s.io/v1, kind: Network, metadata: {name: full}, spec: {networkClassName: ` + w.Class + `, ` + rest + `}}`
		}
		const before = `cidr: 10.30.0.0/20, gateway: 10.30.0.1, mtu: 1400, dhcp: Disabled, dnsServers: [10.30.0.53, 10.30.0.54],
			allocationPools: [{start: 10.30.1.0, end: 10.30.3.255}, {start: 10.30.8.10, end: 10.30.8.99}],
			routes: [{destination: 172.16.0.0/12, nextHop: 10.30.0.254}],
			additionalSubnets: [{cidr: "2001:db8:30::/64", dnsServers: ["2001:db8:30::53"], dhcp: Enabled,
				allocationPools: [{start: "2001:db8:30::1000", end: "2001:db8:30::1fff"}]}]`
		w.kubectl(manifest(before), "apply", "-f", "-")
		Eventually(w.Of("full")).Should(matchers.BeReady())
		pool := func(start, end string) any { return map[string]any{"start": start, "end": end} }
		look := func() (network, four, six object) {
			networks, subnets := made(member, w.Get("full"))
			Expect(networks).To(HaveLen(1))
			Expect(subnets).To(HaveLen(2))
			slices.SortFunc(subnets, func(a, b object) int { return strings.Compare(a.text("cidr"), b.text("cidr")) })
			return networks[0], subnets[0], subnets[1]
		}
		network, four, six := look()
		Expect(network).To(HaveKeyWithValue("mtu", json.Number("1400")))
		Expect(four).To(And(HaveKeyWithValue("cidr", "10.30.0.0/20"), HaveKeyWithValue("gateway_ip", "10.30.0.1"),
			HaveKeyWithValue("enable_dhcp", false), HaveKeyWithValue("dns_nameservers", Equal([]any{"10.30.0.53", "10.30.0.54"})),
			HaveKeyWithValue("allocation_pools", ConsistOf(pool("10.30.1.0", "10.30.3.255"), pool("10.30.8.10", "10.30.8.99"))),
			HaveKeyWithValue("host_routes", ConsistOf(map[string]any{"destination": "172.16.0.0/12", "nexthop": "10.30.0.254"}))))
		Expect(six).To(And(HaveKeyWithValue("cidr", "2001:db8:30::/64"), HaveKeyWithValue("gateway_ip", "2001:db8:30::1"),
			HaveKeyWithValue("enable_dhcp", true), HaveKeyWithValue("ipv6_address_mode", "dhcpv6-stateful"), HaveKeyWithValue("ipv6_ra_mode", "dhcpv6-stateful"),
			HaveKeyWithValue("dns_nameservers", Equal([]any{"2001:db8:30::53"})),
			HaveKeyWithValue("allocation_pools", ConsistOf(pool("2001:db8:30::1000", "2001:db8:30::1fff")))))

		calls := w.tape.mark()
		const after = `cidr: 10.30.0.0/20, gateway: None, mtu: 1300, dhcp: Enabled, dnsServers: [10.30.0.54],
			routes: [{destination: 172.16.0.0/12, nextHop: 10.30.0.253}],
			additionalSubnets: [{cidr: "2001:db8:30::/64", gateway: "2001:db8:30::2", dhcp: Enabled}]`
		w.kubectl(manifest(after), "apply", "-f", "-")
		Eventually(w.Of("full")).Should(matchers.BeReady())
		Expect(w.tape.writes(calls)).To(ConsistOf("PUT networks/{id} 200", "PUT subnets/{id} 200", "PUT subnets/{id} 200"))
		networkNow, fourNow, sixNow := look()
		Expect(differing(network, networkNow)).To(Equal([]string{"mtu"}))
		Expect(networkNow).To(HaveKeyWithValue("mtu", json.Number("1300")))
		Expect(differing(four, fourNow)).To(Equal([]string{"allocation_pools", "dns_nameservers", "enable_dhcp", "gateway_ip", "host_routes"}))
		Expect(fourNow).To(And(HaveKeyWithValue("gateway_ip", BeNil()), HaveKeyWithValue("enable_dhcp", true),
			HaveKeyWithValue("allocation_pools", ConsistOf(pool("10.30.0.1", "10.30.15.254")))))
		Expect(differing(six, sixNow)).To(Equal([]string{"allocation_pools", "dns_nameservers", "gateway_ip"}))
		Expect(sixNow).To(HaveKeyWithValue("gateway_ip", "2001:db8:30::2"))
	})
})
