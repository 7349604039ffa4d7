package plan

import (
	"fmt"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

var _ = Describe("Networks that go as soon as they come", func() {
	It("leave no range taken, and nothing on the backend", func() {
		m := newMarket(samplecrdv1.OverlapClass, nil)
		class := m.class()
		mine := client.MatchingFields{samplecrdv1.FieldNetworkClassName: class}
		var torn sync.Map
		follow(&samplecrdv1.NetworkList{}, func(event watch.Event) {
			// The API server takes an object away in which a finalizer came after it had
			// looked for one. What was made of such a Network nobody is told to remove.
			if network, isNetwork := event.Object.(*samplecrdv1.Network); isNetwork && event.Type == watch.Deleted &&
				controllerutil.ContainsFinalizer(network, samplecrdv1.NetworkFinalizer) {
				torn.Store(network.UID, true)
			}
		}, mine)

		const creators, each = 16, 40
		atOnce(creators, func(creator int) {
			for i := range each {
				network := m.quartz.draft(fmt.Sprintf("%d-%d", creator, i), fmt.Sprintf("10.%d.0.0/%d", creator/4, 16+i%8), class)
				// Some are refused for another one that is about to go.
				if cluster.Client.Create(ctx, network) == nil {
					Expect(cluster.Client.Delete(ctx, network)).To(Succeed())
				}
			}
		})
		Eventually(func(g Gomega) []samplecrdv1.Network {
			var networks samplecrdv1.NetworkList
			g.Expect(cluster.Client.List(ctx, &networks, mine)).To(Succeed())
			return networks.Items
		}).Should(BeEmpty())
		Eventually(func() []types.UID {
			var left []types.UID
			for uid := range m.backend.Networks() {
				if _, isTorn := torn.Load(uid); !isTorn {
					left = append(left, uid)
				}
			}
			return left
		}).Should(BeEmpty())

		whole := m.quartz.draft("whole", "10.0.0.0/8", class)
		Eventually(func() error { return cluster.Client.Create(ctx, whole) }).Should(Succeed())
		m.quartz.ready(whole)
	})
})
