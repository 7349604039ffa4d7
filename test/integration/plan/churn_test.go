package plan

import (
	"fmt"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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
		// The API server takes an object away although a finalizer has come after it had
		// looked for one. How often is told in the report; it is not in our hands.
		var torn, ended atomic.Int64
		follow(&samplecrdv1.NetworkList{}, func(event watch.Event) {
			network, isNetwork := event.Object.(*samplecrdv1.Network)
			if !isNetwork || event.Type != watch.Deleted || !controllerutil.ContainsFinalizer(network, samplecrdv1.NetworkFinalizer) {
				return
			}
			if network.DeletionTimestamp == nil {
				torn.Add(1)
			} else {
				ended.Add(1)
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
		Eventually(m.backend.Networks).Should(BeEmpty())
		AddReportEntry("torn away, ended with finalizer", fmt.Sprint(torn.Load(), " ", ended.Load()))

		whole := m.quartz.draft("whole", "10.0.0.0/8", class)
		Eventually(func() error { return cluster.Client.Create(ctx, whole) }).Should(Succeed())
		m.quartz.ready(whole)
	})
})
