package foo

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/test/env"
)

var _ = Describe("The Events of a Foo", func() {
	const synced, exists, missing = "Normal Synced", "Warning ErrResourceExists", "Warning TemplateNotFound"

	It("are one for each transition, and none for a look that changes nothing", func() {
		w := onWhole()
		w.foreign("theirs")
		foo := w.foo("a", "web")
		w.made(foo, "web")
		Eventually(w.events("a")).Should(Equal([]string{synced}), "the Deployment was made")
		w.touch("a")
		w.report("web")
		Eventually(w.events("a")).Should(Equal([]string{synced, synced}), "its replicas are available")
		w.touch("a")

		w.change("a", naming("theirs"))
		Eventually(w.events("a")).Should(Equal([]string{synced, synced, exists}))
		w.touch("a")
		w.change("a", replicas(2))
		Eventually(w.of("a")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
		w.change("a", naming("web"), replicas(1), madeFrom("missing"))
		Eventually(w.events("a")).Should(Equal([]string{synced, synced, exists, missing}))
		w.change("a", madeFrom(""))
		Eventually(w.of("a")).Should(beReady())
		Eventually(w.events("a")).Should(Equal([]string{synced, synced, exists, missing, synced}))
		settled()
		Consistently(w.events("a")).Should(HaveLen(5))
	})

	It("do not come again with a new manager", func() {
		w := newWorld(bare)
		w.start(env.ManagerOptions{Controllers: true})
		w.play()
		w.foreign("theirs")
		w.foo("a", "web")
		w.foo("b", "theirs")
		w.foo("c", "web-c", madeFrom("missing"))
		want := map[string][]string{"a": {synced, synced}, "b": {exists}, "c": {missing}}
		for name := range want {
			Eventually(w.events(name)).Should(Equal(want[name]))
		}
		Eventually(w.of("a")).Should(beReady())
		w.stop()
		w.start(env.ManagerOptions{Controllers: true})
		for name := range want {
			w.touch(name)
		}
		for name := range want {
			Consistently(w.events(name)).Should(Equal(want[name]))
		}
	})
})
