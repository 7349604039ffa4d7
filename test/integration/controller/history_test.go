package controller

import (
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// history is every version of the Networks of a namespace that was ever stored,
// in order: one write, one version.
type history struct {
	mu       sync.Mutex
	versions []samplecrdv1.Network
}

// record begins a history; it ends with the spec.
func (w *world) record() *history {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(w.Config, client.Options{Scheme: w.Scheme})
	Expect(err).NotTo(HaveOccurred())
	var networks samplecrdv1.NetworkList
	Expect(w.Client.List(ctx, &networks, client.InNamespace(w.Namespace))).To(Succeed())
	stream, err := watcher.Watch(ctx, &samplecrdv1.NetworkList{}, client.InNamespace(w.Namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: networks.ResourceVersion}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stream.Stop)
	h := &history{}
	go func() {
		for event := range stream.ResultChan() {
			if network, ok := event.Object.(*samplecrdv1.Network); ok && event.Type != watch.Deleted {
				h.mu.Lock()
				h.versions = append(h.versions, *network)
				h.mu.Unlock()
			}
		}
	}()
	return h
}

// of gives the versions of one Network.
func (h *history) of(name string) []samplecrdv1.Network {
	var found []samplecrdv1.Network
	for _, version := range h.all() {
		if version.Name == name {
			found = append(found, version)
		}
	}
	return found
}

func (h *history) all() []samplecrdv1.Network {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]samplecrdv1.Network(nil), h.versions...)
}
