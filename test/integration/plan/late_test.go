package plan

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

var _ = Describe("Two Networks of one range that come before their class", func() {
	It("are decided by their age when it comes, each time", func() {
		m := newMarket(samplecrdv1.OverlapClass, nil)
		var decided []string
		for i := range 10 {
			class, cidr := fmt.Sprint("awaited-", i), fmt.Sprintf("10.40.%d.0/24", i)
			m.quartz.chapter = fmt.Sprint(i)
			for _, network := range []*samplecrdv1.Network{m.quartz.create("1-older", cidr, class), m.quartz.create("2-younger", cidr, class)} {
				m.quartz.says(network, samplecrdv1.NetworkConditionAccepted, samplecrdv1.NetworkReasonClassNotFound)
			}
			m.class(called(class))
			for _, name := range []string{"1-older", "2-younger"} {
				var reason string
				Eventually(func(g Gomega) {
					reason = m.quartz.condition(g, m.quartz.draft(name, "", ""), samplecrdv1.NetworkConditionReady).Reason
					g.Expect(reason).To(Or(Equal(samplecrdv1.NetworkReasonReady), Equal(samplecrdv1.NetworkReasonOverlap)))
				}).Should(Succeed())
				decided = append(decided, name+" "+reason)
			}
		}
		Expect(decided).To(HaveEach(Or(Equal("1-older Ready"), Equal("2-younger Overlap"))))
	})
})
