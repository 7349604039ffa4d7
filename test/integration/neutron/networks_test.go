package neutron

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/matchers"
	"github.com/samplecrd/samplecrd/test/metrics"
)

type httpTransport = http.RoundTripper

// ready creates a Network and waits until it is Ready.
func (w *world) ready(name, cidr string, changes ...func(*samplecrdv1.Network)) *samplecrdv1.Network {
	GinkgoHelper()
	w.Network(name, cidr, changes...)
	Eventually(w.Of(name)).Should(matchers.BeReady())
	w.settled()
	return w.Get(name)
}

func importing(id string) func(*samplecrdv1.Network) {
	return func(network *samplecrdv1.Network) { network.Spec.ImportID = id }
}

// touch has the controller look again soon, where it would wait for minutes.
func (w *world) touch(name string) {
	GinkgoHelper()
	w.Change(name, func(network *samplecrdv1.Network) {
		metav1.SetMetaDataAnnotation(&network.ObjectMeta, "touched", network.ResourceVersion)
	})
}

// settled waits until the controller has nothing in its hands.
func (w *world) settled() {
	GinkgoHelper()
	Expect(metrics.Settle(ctx, "network", 250*time.Millisecond)).To(Succeed())
}

// many creates Networks of a name and a number each, in the ranges 10.second.number.0/24.
func (w *world) many(prefix string, second, count int, changes ...func(*samplecrdv1.Network)) []string {
	GinkgoHelper()
	var names []string
	var group sync.WaitGroup
	for i := range count {
		names = append(names, fmt.Sprintf("%s-%03d", prefix, i))
		group.Go(func() {
			defer GinkgoRecover()
			w.Network(names[i], fmt.Sprintf("10.%d.%d.0/24", second, i), changes...)
		})
	}
	group.Wait()
	return names
}

// unready gives those of the Networks that are not Ready, with what they say.
func (w *world) unready(names []string) func(Gomega) map[string]string {
	return func(g Gomega) map[string]string {
		all, err := w.List()
		g.Expect(err).NotTo(HaveOccurred())
		said := map[string]string{}
		for i := range all {
			if slices.Contains(names, all[i].Name) && !matchers.IsReady(&all[i]) {
				said[all[i].Name] = message(&all[i])
			}
		}
		return said
	}
}

// mark is the description of what is made for a Network.
func mark(network *samplecrdv1.Network) string {
	GinkgoHelper()
	var system corev1.Namespace
	Expect(cluster.Client.Get(ctx, types.NamespacedName{Name: metav1.NamespaceSystem}, &system)).To(Succeed())
	return "samplecrd-controller cluster=" + string(system.UID) + " network=" + string(network.UID)
}

// made is what the cloud holds of a Network.
func made(e *eye, network *samplecrdv1.Network) (networks, subnets []object) {
	GinkgoHelper()
	return e.find("networks", "description", mark(network)), e.find("subnets", "description", mark(network))
}

// real gives the network of a Network and its subnet, of which there is one each.
func (w *world) real(network *samplecrdv1.Network) (object, object) {
	GinkgoHelper()
	networks, subnets := made(member, network)
	Expect(networks).To(HaveLen(1))
	Expect(subnets).To(HaveLen(1))
	Expect(subnets[0]).To(HaveKeyWithValue("network_id", networks[0].id()))
	return networks[0], subnets[0]
}
