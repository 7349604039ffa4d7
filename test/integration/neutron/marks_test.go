package neutron

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/faults"
	"github.com/samplecrd/samplecrd/test/matchers"
)

// orphans gives what the manager's metric says.
func (w *world) orphans(g Gomega) float64 {
	registry := prometheus.NewPedanticRegistry()
	g.Expect(registry.Register(w.provider.Metrics())).To(Succeed())
	families, err := registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	total := 0.0
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == "samplecrd_neutron_orphans" {
				total += metric.GetGauge().GetValue()
			}
		}
	}
	return total
}

// forgetful is a client that cannot write the status of a Network whose network is
// known, so many times.
type forgetful struct{ left atomic.Int64 }

func (f *forgetful) client(config *rest.Config, options client.Options) (client.Client, error) {
	inner, err := client.NewWithWatch(config, options)
	if err != nil {
		return nil, err
	}
	return interceptor.NewClient(inner, interceptor.Funcs{SubResourcePatch: f.patch}), nil
}

func (f *forgetful) patch(ctx context.Context, inner client.Client, subResource string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	network, isNetwork := object.(*samplecrdv1.Network)
	if isNetwork && network.Status.ProviderID != nil && f.left.Add(-1) >= 0 {
		return errors.New("etcd is away")
	}
	return inner.SubResource(subResource).Patch(ctx, object, patch, opts...)
}

var _ = Describe("The mark on a network", func() {
	It("PR-11: is what counts, not the name", func() {
		w := running()
		var strangers []object
		for range 2 {
			strangers = append(strangers, member.create("networks", object{"name": w.Namespace + "/a"}))
		}
		network := w.ready("a", "10.1.0.0/24")
		held, _ := w.real(network)
		Expect(member.find("networks", "name", w.Namespace+"/a")).To(HaveLen(3))
		for _, stranger := range strangers {
			Expect(held.id()).NotTo(Equal(stranger.id()))
		}
		w.Remove("a")
		Eventually(w.Gone("a")).Should(BeTrue())
		for _, stranger := range strangers {
			Expect(member.find("networks", "id", stranger.id())).To(ConsistOf(HaveKeyWithValue("revision_number", stranger["revision_number"])))
		}
	})

	It("PR-11: stops everything when two networks bear the same one", func() {
		w := running(swept)
		network := w.ready("a", "10.1.0.0/24")
		held, _ := w.real(network)
		double := member.create("networks", object{"name": w.Namespace + "/double", "description": held.text("description")})
		Eventually(w.Of("a")).Should(And(beUnready(samplecrdv1.NetworkReasonAmbiguous, ContainSubstring(held.id()), ContainSubstring(double.id())), beStalled()))
		w.Remove("a")
		Consistently(w.Of("a")).WithTimeout(5 * time.Second).Should(matchers.BeHeld())
		Expect(slices.ContainsFunc(w.tape.writes(0), func(call string) bool { return call[:6] == "DELETE" })).To(BeFalse())
		networks, subnets := made(member, network)
		Expect(networks).To(HaveLen(2))
		Expect(subnets).To(HaveLen(1))
		member.remove("networks", double.id())
		w.touch("a")
		Eventually(w.Gone("a")).Should(BeTrue())
	})

	DescribeTable("PR-12: finds the network again that the status could not tell of", func(failures int64, restart bool) {
		w := newWorld()
		store := &forgetful{}
		w.start(func(options *env.ManagerOptions) { options.Client = store.client })
		w.Class = w.newClass()
		store.left.Store(failures)
		network := w.Network("a", "10.1.0.0/24")
		if restart {
			Eventually(w.tape.count(0, "POST subnets 201")).Should(Equal(1))
			w.stop()
			Expect(w.Get("a").Status.ProviderID).To(BeNil())
			w.start()
		}
		Eventually(w.Of("a")).Should(matchers.BeReady())
		held, subnet := w.real(network)
		Expect(w.Get("a").Status.ProviderID).To(HaveValue(Equal(held.id())))
		Expect(w.Get("a").Status.Subnets).To(ConsistOf(HaveField("ProviderID", HaveValue(Equal(subnet.id())))))
		Expect(w.tape.writes(0)).To(Equal([]string{"POST networks 201", "POST subnets 201"}))
		if !restart {
			Expect(store.left.Load()).To(BeNumerically("<", 0))
		}
	},
		Entry("when the write fails five times", int64(5), false),
		Entry("when the manager ends before", int64(1_000_000), true),
	)

	It("PR-21: tells the network of a Network that was torn away from that of the next one of its name", func() {
		w := running(swept)
		before := w.ready("pr-21", "10.1.0.0/24")
		left, leftSubnet := w.real(before)
		for _, thing := range []object{left, leftSubnet} {
			w.faults.Add(faults.Rule{Method: http.MethodDelete, Path: thing.id()}, faults.Failure(http.StatusInternalServerError, "HTTPInternalServerError", "no"))
		}
		w.Remove("pr-21")
		Eventually(w.Of("pr-21")).Should(beUnready(samplecrdv1.NetworkReasonBackendUnavailable))
		w.Change("pr-21", func(network *samplecrdv1.Network) { network.Finalizers = nil })
		Eventually(w.Gone("pr-21")).Should(BeTrue())

		after := w.ready("pr-21", "10.2.0.0/24")
		held, subnet := w.real(after)
		Expect(held.id()).NotTo(Equal(left.id()))
		Expect(subnet).To(HaveKeyWithValue("cidr", "10.2.0.0/24"))
		Eventually(w.orphans).Should(Equal(1.0))
		Eventually(told.logged).WithArguments("bears the mark of a Network that is gone", left.id(), string(before.UID)).Should(HaveLen(1))
		_, remains := w.real(before)
		Expect(remains).To(HaveKeyWithValue("cidr", "10.1.0.0/24"))
		member.remove("networks", left.id())
		Eventually(w.orphans).Should(BeZero())
	})
})
