package foo

import (
	"io"
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/test/env"
)

// gate holds back what a manager's cache is told of Deployments.
type gate struct {
	mu sync.Mutex
	// up is closed while the gate is.
	up chan struct{}
}

// behindGate starts the manager of a world, whose cache lags while the gate is down.
func behindGate(w *world, opts env.ManagerOptions) *gate {
	GinkgoHelper()
	g := &gate{up: make(chan struct{})}
	g.lift()
	DeferCleanup(g.lift)
	gated := *w.Env
	gated.Config = rest.CopyConfig(w.Config)
	gated.Config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return &gatedTransport{inner, g} })
	direct := w.Env
	w.Env = &gated
	w.start(opts)
	w.Env = direct
	return g
}

func (g *gate) lift() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.up:
	default:
		close(g.up)
	}
}

func (g *gate) lower() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.up = make(chan struct{})
}

func (g *gate) isUp() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.up
}

type gatedTransport struct {
	http.RoundTripper
	gate *gate
}

func (t *gatedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(request)
	if err == nil && strings.HasSuffix(request.URL.Path, "/deployments") && request.URL.Query().Has("watch") {
		response.Body = &gatedBody{ReadCloser: response.Body, gate: t.gate, closed: make(chan struct{})}
	}
	return response, err
}

type gatedBody struct {
	io.ReadCloser
	gate   *gate
	once   sync.Once
	closed chan struct{}
}

func (b *gatedBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	select {
	case <-b.gate.isUp():
	case <-b.closed:
	}
	return n, err
}

func (b *gatedBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.ReadCloser.Close()
}

var _ = Describe("A cache that lags behind the Deployments", func() {
	var (
		w   *world
		p   *proxy
		lag *gate
	)

	BeforeEach(func() {
		w, p = newWorld(bare), &proxy{}
		lag = behindGate(w, p.runs())
	})

	// made is a Foo that has its Deployment, and a cache that knows it.
	made := func() {
		GinkgoHelper()
		foo := w.foo("a", "web", replicas(1))
		w.made(foo, "web")
		w.report("web")
		Eventually(w.of("a")).Should(beReady())
		settled()
	}

	It("has nothing made twice, and does not keep the Foo from being Ready", func() {
		lag.lower()
		foo := w.foo("a", "web", replicas(1))
		w.made(foo, "web")
		Eventually(w.of("a")).Should(And(beWaiting(samplev1alpha1.FooReasonProgressing), speakOf("web")))
		w.touch("a")
		w.touch("a")
		Expect(p.calls("apply")).To(HaveLen(1))
		Expect(w.get("a")).To(And(beWaiting(samplev1alpha1.FooReasonProgressing), speakOf("web"), count(0, 0)))
		w.report("web")
		Consistently(w.of("a")).ShouldNot(beReady(), "nobody has told the manager")
		w.touch("a")
		Eventually(w.of("a")).Should(And(beReady(), count(1, 1)))
		lag.lift()
		w.touch("a")
		Expect(w.get("a")).To(And(beReady(), count(1, 1)))
		Expect(p.calls("apply")).To(HaveLen(1))
	})

	It("does not hide a Deployment that somebody else has made", func() {
		lag.lower()
		w.create(strange("web"))
		web := w.deployment("web")
		w.foo("a", "web")
		Eventually(w.of("a")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
		w.touch("a")
		Expect(w.deployment("web")).To(Equal(web))
		Expect(w.get("a")).To(beStalled(samplev1alpha1.FooReasonResourceExists))
		lag.lift()
		w.touch("a")
		Expect(w.deployment("web")).To(Equal(web))
		Expect(w.events("a")(Default)).To(Equal([]string{"Warning ErrResourceExists"}))
	})

	It("does not pass another's Deployment off as the Foo's own", func() {
		made()
		lag.lower()
		w.removeDeployment("web")
		w.create(strange("web"))
		web := w.deployment("web")
		w.change("a", replicas(2))
		Eventually(w.of("a")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
		lag.lift()
		w.touch("a")
		Expect(w.get("a")).To(beStalled(samplev1alpha1.FooReasonResourceExists))
		Expect(w.deployment("web")).To(Equal(web))
		Expect(w.events("a")(Default)).NotTo(ContainElement("Warning Rejected"))
	})

	It("does not have another's Deployment deleted after a change of deploymentName", func() {
		made()
		lag.lower()
		w.change("a", naming("new"))
		Eventually(p.count("apply new")).Should(Equal(1))
		w.removeDeployment("web")
		w.create(strange("web"))
		web := w.deployment("web")
		w.report("new")
		w.touch("a")
		Eventually(p.count("delete web")).Should(BeNumerically(">=", 1))
		Expect(w.deployment("web")).To(Equal(web))
		lag.lift()
		Eventually(w.of("a")).Should(And(beReady(), speakOf("new")))
		settled()
		Expect(w.deployment("web")).To(Equal(web))
	})

	It("does not let a Deployment be forgotten whose name was given up before it was seen", func() {
		lag.lower()
		foo := w.foo("a", "web")
		w.made(foo, "web")
		Eventually(w.of("a")).Should(speakOf("web"))
		w.change("a", naming("new"))
		w.made(foo, "new")
		Eventually(w.of("a")).Should(speakOf("new"))
		w.report("new")
		w.touch("a")
		lag.lift()
		Eventually(w.names).Should(ConsistOf("new"))
		Eventually(w.of("a")).Should(And(beReady(), speakOf("new")))
	})
})
