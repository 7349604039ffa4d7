// Package builders makes the Networks of a test, and finds them again.
package builders

import (
	"context"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// Place is a namespace of a test's own.
type Place struct {
	client    client.Client
	Namespace string
	// Class is what Draft gives to every Network; empty for none.
	Class string
}

// NewPlace makes the namespace, with a name that begins so.
func NewPlace(c client.Client, prefix string) Place {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix}}
	Expect(c.Create(context.Background(), namespace)).To(Succeed())
	return Place{client: c, Namespace: namespace.Name}
}

// Draft is a Network that is not stored yet.
func (p Place) Draft(name, cidr string, changes ...func(*samplecrdv1.Network)) *samplecrdv1.Network {
	network := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name}}
	network.Spec.CIDR, network.Spec.NetworkClassName = cidr, p.Class
	for _, change := range changes {
		change(network)
	}
	return network
}

// Network creates a Network of the place's class.
func (p Place) Network(name, cidr string, changes ...func(*samplecrdv1.Network)) *samplecrdv1.Network {
	GinkgoHelper()
	network := p.Draft(name, cidr, changes...)
	Expect(p.client.Create(context.Background(), network)).To(Succeed())
	return network
}

// Get reads a Network that has to exist.
func (p Place) Get(name string) *samplecrdv1.Network {
	GinkgoHelper()
	return p.Of(name)(Default)
}

// Of is Get for Eventually and Consistently.
func (p Place) Of(name string) func(Gomega) *samplecrdv1.Network {
	return func(g Gomega) *samplecrdv1.Network {
		network, err := p.read(name)
		g.Expect(err).NotTo(HaveOccurred())
		return network
	}
}

// Gone says that a Network is there no more.
func (p Place) Gone(name string) func() bool {
	return func() bool {
		_, err := p.read(name)
		return apierrors.IsNotFound(err)
	}
}

func (p Place) read(name string) (*samplecrdv1.Network, error) {
	network := &samplecrdv1.Network{}
	return network, p.client.Get(context.Background(), types.NamespacedName{Namespace: p.Namespace, Name: name}, network)
}

// List gives all Networks of the place.
func (p Place) List() ([]samplecrdv1.Network, error) {
	var networks samplecrdv1.NetworkList
	err := p.client.List(context.Background(), &networks, client.InNamespace(p.Namespace))
	return networks.Items, err
}

// Change patches a Network.
func (p Place) Change(name string, change func(*samplecrdv1.Network)) *samplecrdv1.Network {
	GinkgoHelper()
	network := p.Get(name)
	before := network.DeepCopy()
	change(network)
	Expect(p.client.Patch(context.Background(), network, client.MergeFrom(before))).To(Succeed())
	return network
}

// Remove deletes a Network, and does not wait.
func (p Place) Remove(name string) {
	GinkgoHelper()
	Expect(p.client.Delete(context.Background(), p.Draft(name, ""))).To(Succeed())
}

// Events gives every Event about a Network, "Warning InUse: its note", as often as it
// came: one that came again is stored as a series.
func (p Place) Events(name string) func(Gomega) []string {
	return func(g Gomega) []string {
		var events eventsv1.EventList
		g.Expect(p.client.List(context.Background(), &events, client.InNamespace(p.Namespace))).To(Succeed())
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
