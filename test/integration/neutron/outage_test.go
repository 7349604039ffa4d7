package neutron

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/builders"
	"github.com/samplecrd/samplecrd/test/matchers"
	"github.com/samplecrd/samplecrd/test/openstack"
)

// outage is how long Neutron is away, under how many Networks, and how soon all is well
// when it is back. NEUTRON_FULL=1 asks for all that is promised, which takes more than
// four minutes, and a machine that has nothing else to do.
func outage() (networks int, away, well time.Duration) {
	if os.Getenv("NEUTRON_FULL") == "1" {
		return 100, 2 * time.Minute, time.Minute
	}
	return 20, 45 * time.Second, 4 * time.Minute
}

// idle gives how much of the time from then until now no request to Neutron was under
// way.
func (t *tape) idle(from, until time.Time) time.Duration {
	var idle time.Duration
	for _, call := range t.since(0) {
		if call.ended.IsZero() {
			call.ended = until // It is under way still.
		}
		if call.ended.After(from) {
			idle += max(0, call.at.Sub(from))
			from = call.ended
		}
	}
	return idle + max(0, until.Sub(from))
}

// gaps gives the times between requests to Neutron that were not answered, from a time
// on, without so many first ones.
func (t *tape) gaps(from time.Time, first int) []time.Duration {
	var all []time.Duration
	var last time.Time
	for _, call := range t.since(0) {
		if call.code != 0 || call.at.Before(from) || strings.HasSuffix(call.path, "/auth/tokens") {
			continue
		}
		if first--; first >= 0 {
			continue
		}
		if !last.IsZero() {
			all = append(all, call.at.Sub(last))
		}
		last = call.at
	}
	return all
}

var _ = Describe("A cloud", Label("outage"), func() {
	It("that goes away and comes back is asked seldom, and all is well soon after", func() {
		count, away, well := outage()
		w := running(swept)
		before := w.many("before", 1, count/2)
		Eventually(w.unready(before)).WithTimeout(2 * time.Minute).Should(BeEmpty())
		w.settled()

		DeferCleanup(openstack.StartNeutron)
		Expect(openstack.StopNeutron(ctx)).To(Succeed())
		stopped := time.Now()
		during := w.many("during", 2, count/2)
		changed, deleted := before[:count/10], before[count/10:count/5]
		for i, name := range changed {
			w.Change(name, builders.Gateway(fmt.Sprintf("10.1.%d.9", i)))
		}
		for _, name := range deleted {
			w.Remove(name)
		}
		for _, name := range slices.Concat(during, changed, deleted) {
			Eventually(w.Of(name)).Should(beUnready(samplecrdv1.NetworkReasonBackendUnavailable))
		}
		time.Sleep(time.Until(stopped.Add(away)))
		for _, name := range before[count/5:] {
			Expect(w.Get(name)).To(matchers.BeReady(), "nothing is the matter with it")
		}
		// After five tries in a row that failed.
		gaps := w.tape.gaps(stopped, 5)
		Expect(gaps).NotTo(BeEmpty())
		for _, gap := range gaps {
			Expect(gap).To(BeNumerically(">=", 10*time.Second))
		}

		Expect(openstack.StartNeutron(ctx)).To(Succeed())
		back := time.Now()
		all := slices.Concat(during, changed, before[count/5:])
		Eventually(w.unready(all)).WithTimeout(well).Should(BeEmpty())
		for _, name := range deleted {
			Eventually(w.Gone(name)).WithTimeout(max(0, time.Until(back.Add(well)))).Should(BeTrue())
		}
		idle := w.tape.idle(back, time.Now())
		AddReportEntry("Outage", map[string]any{
			"Networks": count, "away": away.String(), "between tries": gaps, "all well after": time.Since(back).String(), "of that idle": idle.String(),
		})
		// The rest is what Neutron itself takes, which on a loaded machine is much.
		Expect(idle).To(BeNumerically("<", 30*time.Second))
		for _, version := range told.versions(w.Namespace) {
			Expect(&version).NotTo(beStalled())
		}
		// Pending is one whose request went down with Neutron, or got lost in its start.
		Expect(told.reasons(w.Namespace)).To(Or(
			ConsistOf(samplecrdv1.NetworkReasonBackendUnavailable),
			ConsistOf(samplecrdv1.NetworkReasonBackendUnavailable, samplecrdv1.NetworkReasonPending)))
	})

	It("that accepts and never answers keeps nobody else waiting", func() {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		hang := sync.OnceFunc(func() { Expect(listener.Close()).To(Succeed()) })
		DeferCleanup(hang)
		go hold(listener)
		w := running()
		w.putSecret("hanging", cloudsWith(authURL("http://"+listener.Addr().String()+"/v3")))
		hanging := w.newClass(of("hanging", openstack.Member))
		const count = 20
		stuck := w.many("stuck", 1, count, builders.OfClass(hanging))
		// Whoever can be stuck is, by now.
		time.Sleep(3 * time.Second)
		begun := time.Now()
		good := w.many("good", 2, count/2)
		// Less than one call to the other cloud takes.
		Eventually(w.unready(good)).WithTimeout(25 * time.Second).Should(BeEmpty())
		AddReportEntry("Beside a cloud that hangs", map[string]any{"Networks": len(good), "Ready after": time.Since(begun).String()})
		Eventually(w.Of(stuck[0])).WithTimeout(2 * time.Minute).Should(beUnready(samplecrdv1.NetworkReasonBackendUnavailable, ContainSubstring("no answer in time")))

		w.putSecret("hanging", credentials)
		hang()
		Eventually(w.unready(stuck)).WithTimeout(2 * time.Minute).Should(BeEmpty())
	})
})

// hold accepts connections and never says anything on them, until listener is closed.
func hold(listener net.Listener) {
	var held []net.Conn
	for {
		connection, err := listener.Accept()
		if err != nil {
			break
		}
		held = append(held, connection)
	}
	for _, connection := range held {
		_ = connection.Close()
	}
}
