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
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/metrics"
)

type httpTransport = http.RoundTripper

func (w *world) draft(name, cidr string, changes ...func(*samplecrdv1.Network)) *samplecrdv1.Network {
	network := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	network.Spec.CIDR, network.Spec.NetworkClassName = cidr, w.class
	for _, change := range changes {
		change(network)
	}
	return network
}

// network creates a Network of the world's class.
func (w *world) network(name, cidr string, changes ...func(*samplecrdv1.Network)) *samplecrdv1.Network {
	GinkgoHelper()
	network := w.draft(name, cidr, changes...)
	Expect(cluster.Client.Create(ctx, network)).To(Succeed())
	return network
}

// ready creates a Network and waits until it is Ready.
func (w *world) ready(name, cidr string, changes ...func(*samplecrdv1.Network)) *samplecrdv1.Network {
	GinkgoHelper()
	w.network(name, cidr, changes...)
	Eventually(w.of(name)).Should(beReady())
	w.settled()
	return w.get(name)
}

func ofClass(name string) func(*samplecrdv1.Network) {
	return func(network *samplecrdv1.Network) { network.Spec.NetworkClassName = name }
}

func gateway(address string) func(*samplecrdv1.Network) {
	return func(network *samplecrdv1.Network) { network.Spec.Gateway = address }
}

func importing(id string) func(*samplecrdv1.Network) {
	return func(network *samplecrdv1.Network) { network.Spec.ImportID = id }
}

func retained(network *samplecrdv1.Network) {
	network.Spec.DeletionPolicy = new(samplecrdv1.DeletionRetain)
}

// get reads a Network that has to exist.
func (w *world) get(name string) *samplecrdv1.Network {
	GinkgoHelper()
	return w.of(name)(Default)
}

// of is get for Eventually and Consistently.
func (w *world) of(name string) func(Gomega) *samplecrdv1.Network {
	return func(g Gomega) *samplecrdv1.Network {
		network := &samplecrdv1.Network{}
		g.Expect(cluster.Client.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, network)).To(Succeed())
		return network
	}
}

func (w *world) gone(name string) func() bool {
	return func() bool {
		err := cluster.Client.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, &samplecrdv1.Network{})
		return apierrors.IsNotFound(err)
	}
}

func (w *world) list() ([]samplecrdv1.Network, error) {
	var networks samplecrdv1.NetworkList
	err := cluster.Client.List(ctx, &networks, client.InNamespace(w.namespace))
	return networks.Items, err
}

// change patches a Network.
func (w *world) change(name string, change func(*samplecrdv1.Network)) *samplecrdv1.Network {
	GinkgoHelper()
	network := w.get(name)
	before := network.DeepCopy()
	change(network)
	Expect(cluster.Client.Patch(ctx, network, client.MergeFrom(before))).To(Succeed())
	return network
}

// touch has the controller look again soon, where it would wait for minutes.
func (w *world) touch(name string) {
	GinkgoHelper()
	w.change(name, func(network *samplecrdv1.Network) {
		metav1.SetMetaDataAnnotation(&network.ObjectMeta, "touched", network.ResourceVersion)
	})
}

func (w *world) remove(name string) {
	GinkgoHelper()
	Expect(cluster.Client.Delete(ctx, w.draft(name, ""))).To(Succeed())
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
			w.network(names[i], fmt.Sprintf("10.%d.%d.0/24", second, i), changes...)
		})
	}
	group.Wait()
	return names
}

// unready gives those of the Networks that are not Ready, with what they say.
func (w *world) unready(names []string) func(Gomega) map[string]string {
	return func(g Gomega) map[string]string {
		all, err := w.list()
		g.Expect(err).NotTo(HaveOccurred())
		said := map[string]string{}
		for i := range all {
			if slices.Contains(names, all[i].Name) && !isReady(&all[i]) {
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

// events gives the type, reason and note of every Event about a Network, as often as it
// came.
func (w *world) events(name string) func(Gomega) []string {
	return func(g Gomega) []string {
		var events eventsv1.EventList
		g.Expect(cluster.Client.List(ctx, &events, client.InNamespace(w.namespace))).To(Succeed())
		var found []string
		for _, event := range events.Items {
			if event.Regarding.Kind == "Network" && event.Regarding.Name == name {
				times := 1
				if event.Series != nil {
					times = int(event.Series.Count)
				}
				found = append(found, slices.Repeat([]string{event.Type + " " + event.Reason + ": " + event.Note}, times)...)
			}
		}
		return found
	}
}
