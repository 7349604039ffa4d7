package neutron

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/builders"
	"github.com/samplecrd/samplecrd/test/faults"
	"github.com/samplecrd/samplecrd/test/matchers"
	"github.com/samplecrd/samplecrd/test/openstack"
)

// limit gives the other project quotas of its own, until the spec ends.
func limit(changes quotas.UpdateOpts) {
	GinkgoHelper()
	DeferCleanup(unlimit)
	Expect(quotas.Update(ctx, admin.ServiceClient, other.project, changes).Err).NotTo(HaveOccurred())
}

// unlimit gives it Neutron's defaults again.
func unlimit() {
	GinkgoHelper()
	err := quotas.Delete(ctx, admin.ServiceClient, other.project).Err
	if !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		Expect(err).NotTo(HaveOccurred())
	}
}

var _ = Describe("What Neutron cannot do", func() {
	It("PR-09: for want of a quota waits for one", func() {
		w := running(of(secretName, openstack.Other))
		limit(quotas.UpdateOpts{Network: new(0)})
		w.Network("a", "10.1.0.0/24")
		Eventually(w.Of("a")).Should(And(beUnready(samplecrdv1.NetworkReasonQuotaExceeded, ContainSubstring("409"), ContainSubstring("network")), Not(beStalled())))
		w.settled()
		calls := w.tape.mark()
		Consistently(w.tape.told).WithArguments(calls).WithTimeout(5*time.Second).Should(BeEmpty(), "it is minutes until the next try")
		unlimit()
		w.touch("a")
		Eventually(w.Of("a")).Should(matchers.BeReady())
	})

	It("PR-09, PR-13: for want of a quota of subnets keeps the network that it has made", func() {
		w := running(of(secretName, openstack.Other))
		limit(quotas.UpdateOpts{Subnet: new(0)})
		network := w.Network("a", "10.1.0.0/24")
		Eventually(w.Of("a")).Should(beUnready(samplecrdv1.NetworkReasonQuotaExceeded, ContainSubstring("subnet")))
		w.touch("a")
		Eventually(w.tape.count(0, "POST subnets 409")).Should(Equal(2))
		networks, _ := made(other, network)
		Expect(networks).To(HaveLen(1))
		Expect(w.Get("a").Status.ProviderID).To(HaveValue(Equal(networks[0].id())))
		unlimit()
		w.touch("a")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		networksNow, subnets := made(other, network)
		Expect(networksNow).To(ConsistOf(HaveKeyWithValue("id", networks[0].id())))
		Expect(subnets).To(HaveLen(1))
	})

	It("PR-13: is not called Ready while the subnet is missing, nor begun again", func() {
		w := running()
		end := w.faults.Add(faults.Rule{Method: http.MethodPost, Path: "/subnets"}, faults.Failure(http.StatusInternalServerError, "HTTPInternalServerError", "Request Failed: internal server error"))
		network := w.Network("a", "10.1.0.0/24", builders.Gateway("10.1.0.7"))
		Eventually(w.Of("a")).Should(And(beUnready(samplecrdv1.NetworkReasonBackendUnavailable, ContainSubstring("500")), Not(beStalled())))
		Consistently(w.Of("a")).WithTimeout(20 * time.Second).ShouldNot(matchers.BeReady())
		Expect(w.tape.count(0, "POST subnets 500")()).To(BeNumerically(">", 1), "it was tried again")
		networks, subnets := made(member, network)
		Expect(networks).To(HaveLen(1))
		Expect(subnets).To(BeEmpty())
		end()
		Eventually(w.Of("a")).Should(matchers.BeReady())
		held, subnet := w.real(network)
		Expect(held.id()).To(Equal(networks[0].id()))
		Expect(subnet).To(And(HaveKeyWithValue("cidr", "10.1.0.0/24"), HaveKeyWithValue("gateway_ip", "10.1.0.7")))
		Expect(w.tape.count(0, "POST networks")()).To(Equal(1))
	})

	It("PR-22: is told in the condition and one Event, by its code and an excerpt, and no more when it is over", func() {
		w := running()
		const excerpt = "The database has gone away"
		end := w.faults.Add(faults.Rule{Method: http.MethodPost, Path: "/networks"},
			faults.Failure(http.StatusInternalServerError, "DBError", excerpt+" "+strings.Repeat("and away ", 500)))
		w.Network("a", "10.1.0.0/24")
		Eventually(w.Of("a")).Should(beUnready(samplecrdv1.NetworkReasonBackendUnavailable, ContainSubstring("HTTP 500"), ContainSubstring(excerpt)))
		Eventually(w.tape.count(0, "POST networks 500")).Should(BeNumerically(">=", 3))
		Expect(len(message(w.Get("a")))).To(BeNumerically("<", 320))
		one := ConsistOf(And(HavePrefix("Warning BackendUnavailable"), ContainSubstring("HTTP 500"), ContainSubstring(excerpt)))
		Eventually(w.Events("a")).Should(one)
		Consistently(w.Events("a")).Should(one)
		end()
		Eventually(w.Of("a")).Should(matchers.BeReady())
		for _, condition := range w.Get("a").Status.Conditions {
			Expect(condition.Message).NotTo(ContainSubstring(excerpt))
		}
		Eventually(w.Events("a")).Should(ConsistOf(HavePrefix("Warning BackendUnavailable"), HavePrefix("Normal Ready")))
	})

	DescribeTable("PR-22: is told without the token and the headers of the request, though the answer repeats them", func(code int, plain bool, reason, says string) {
		w := running()
		end := w.faults.Add(faults.Rule{Method: http.MethodPost, Path: "/networks"}, faults.Echo(code, plain))
		w.Network("a", "10.1.0.0/24")
		// What is secret in it the suite's last check would find.
		Eventually(w.Of("a")).Should(beUnready(reason, ContainSubstring(says)))
		end()
		w.touch("a")
		Eventually(w.Of("a")).Should(matchers.BeReady())
	},
		Entry("as an error of Neutron's", http.StatusInternalServerError, false, samplecrdv1.NetworkReasonBackendUnavailable, "HTTP 500 Echo: POST"),
		Entry("as mere text", http.StatusBadRequest, true, samplecrdv1.NetworkReasonRejected, "HTTP 400: no explanation that could be read"),
	)

	It("PR-10: because of what is asked is told, and not asked again and again", func() {
		w := running()
		end := w.faults.Add(faults.Rule{Method: http.MethodPost, Path: "/subnets"}, faults.Failure(http.StatusBadRequest, "InvalidInput", "Invalid input for cidr"))
		w.Network("a", "10.1.0.0/24")
		Eventually(w.Of("a")).Should(And(beUnready(samplecrdv1.NetworkReasonRejected, ContainSubstring("Invalid input for cidr")), beStalled()))
		w.settled()
		calls := w.tape.mark()
		Consistently(w.tape.told).WithArguments(calls).WithTimeout(5 * time.Second).Should(BeEmpty())
		end()
		w.Change("a", cidr("10.2.0.0/24"))
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), Not(beStalled())))
		Expect(slices.Contains(w.tape.told(calls), "POST networks 201")).To(BeFalse(), "the network was there")
	})
})
