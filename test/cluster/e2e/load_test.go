package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

const (
	loadNamespace = "load"
	// One of so many creates is of a bad Network, which must be refused.
	badShare = 10
	// How long one create may take before it counts as failed.
	createLimit = 15 * time.Second
	// What admission answers when no webhook could be asked; API server's text.
	unreachable = "failed calling webhook"
)

// load creates objects at a steady rate, whatever the answers: an open loop, so that
// answers that are late do not thin it out. Each good one is deleted at once.
type load struct {
	stop    context.CancelFunc
	ended   sync.WaitGroup
	mutex   sync.Mutex
	counted counts
}

// counts are what became of the creates.
type counts struct {
	what                      string
	good, refused             int // as they should
	unchecked                 int // bad ones that were stored
	webhook, other            int // failed for want of a webhook, or otherwise
	firstWebhook, lastWebhook time.Time
	errors                    map[string]int
	slowest                   time.Duration
}

func (n counts) failed() int { return n.unchecked + n.webhook + n.other }

// outage is from the first to the last create that no webhook answered.
func (n counts) outage() time.Duration { return n.lastWebhook.Sub(n.firstWebhook) }

func (n counts) String() string {
	text := fmt.Sprintf("%s: %d creates: %d good, %d refused by policy, %d bad ones stored, %d without a webhook, %d failed otherwise; slowest %s",
		n.what, n.good+n.refused+n.failed(), n.good, n.refused, n.unchecked, n.webhook, n.other, n.slowest.Round(time.Millisecond))
	for message, times := range n.errors {
		text += fmt.Sprintf("\n  %d × %s", times, message)
	}
	return text
}

// startLoad begins to create so many a second, until end.
func startLoad(ctx context.Context, rate int) *load {
	GinkgoHelper()
	// Like the one that was there: the specs use one after the other.
	if kubectl(ctx, "", "get", "namespace", loadNamespace).code != 0 {
		mustKubectl(ctx, "create", "namespace", loadNamespace)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	l := &load{stop: stop, counted: counts{errors: map[string]int{}}}
	DeferCleanup(func() { stop(); l.ended.Wait() })
	begun := time.Now()
	l.ended.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				l.ended.Go(func() { l.one(context.WithoutCancel(ctx), fmt.Sprintf("n%d-%d", begun.UnixMilli(), n), n) })
			}
		}
	})
	return l
}

// one creates one object and counts the answer.
func (l *load) one(parent context.Context, name string, n int) {
	bad := n%badShare == badShare-1
	var object client.Object
	switch {
	case bad:
		network := newNetwork(loadNamespace, name, "198.51.100.0/24")
		network.Spec.Gateway = "203.0.113.1"
		object = network
	case n%2 == 0:
		// A range of its own: overlap is not what is tested here.
		object = newNetwork(loadNamespace, name, fmt.Sprintf("100.%d.%d.%d/30", 64+n/16384%64, n/64%256, n%64*4))
	default:
		object = newFoo(loadNamespace, name, 0)
	}
	ctx, cancel := context.WithTimeout(parent, createLimit)
	defer cancel()
	begun := time.Now()
	err := c.Create(ctx, object)
	l.count(bad, begun, time.Since(begun), err)
	if err == nil {
		_ = c.Delete(parent, object)
	}
}

func (l *load) count(bad bool, begun time.Time, took time.Duration, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	n := &l.counted
	n.slowest = max(n.slowest, took)
	switch {
	case err == nil && bad:
		n.unchecked++
	case err == nil:
		n.good++
	case apierrors.IsInvalid(err) && bad:
		n.refused++
	case apierrors.IsInternalError(err) && strings.Contains(err.Error(), unreachable):
		n.webhook++
		if n.firstWebhook.IsZero() {
			n.firstWebhook = begun
		}
		n.lastWebhook = begun.Add(took)
	default:
		n.other++
	}
	if err != nil && !(apierrors.IsInvalid(err) && bad) {
		// Without what differs from one to the next.
		message := err.Error()
		if at := strings.Index(message, unreachable); at >= 0 {
			message = message[at:]
		}
		n.errors[message]++
	}
}

// end stops the load, waits for the answers that are due, and prints the counts.
func (l *load) end(ctx context.Context, what string) counts {
	GinkgoHelper()
	l.stop()
	l.ended.Wait()
	l.counted.what = what
	AddReportEntry(l.counted.String(), ReportEntryVisibilityAlways)
	// Nothing bad is there, whatever was answered.
	var stored samplecrdv1.NetworkList
	Expect(c.List(ctx, &stored, client.InNamespace(loadNamespace))).To(Succeed())
	for _, network := range stored.Items {
		Expect(network.Spec.Gateway).NotTo(Equal("203.0.113.1"), "%s was stored unchecked", network.Name)
	}
	return l.counted
}
