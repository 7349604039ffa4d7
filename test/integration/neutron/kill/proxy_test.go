package kill

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// manner says what becomes of the call at which the manager dies.
type manner int

const (
	// lost never arrives at Neutron.
	lost manner = iota
	// late arrives there while the next manager is at work.
	late
	// unheard is carried out, and nobody hears the answer.
	unheard
	manners
)

func (m manner) String() string { return [...]string{"lost", "late", "unheard"}[m] }

// proxy is where the manager finds Neutron. It counts the calls, and at one of them the
// manager dies. Other calls that are under way then go on to Neutron or do not, as it
// happens on a real network.
type proxy struct {
	forward *httputil.ReverseProxy
	// delay is for how long a late call is under way.
	delay time.Duration
	// under are the late calls.
	under sync.WaitGroup

	mu    sync.Mutex
	calls int
	// at is the number of the call to die at; 0 for none.
	at  int
	how manner
	// what is the call that the manager died at.
	what string
	// kill ends the manager, and returns when it is dead.
	kill func()
}

// newProxy gives a proxy before Neutron, and the URL that it has until the test ends.
func newProxy(neutron string) (*proxy, string) {
	GinkgoHelper()
	target, err := url.Parse(neutron)
	Expect(err).NotTo(HaveOccurred())
	p := &proxy{forward: &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) },
		// A connection that Neutron closes meanwhile would be a fault of the proxy's.
		Transport: &http.Transport{DisableKeepAlives: true},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() == nil {
				_, _ = fmt.Fprintf(GinkgoWriter, "proxy: %s %s: %v\n", r.Method, r.URL.Path, err)
			}
			w.WriteHeader(http.StatusBadGateway)
		},
	}}
	server := httptest.NewServer(p)
	DeferCleanup(server.Close)
	return p, server.URL
}

// arm counts from 1 again, and has the manager die at a call; 0 for at none.
func (p *proxy) arm(at int, how manner, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls, p.at, p.how, p.what, p.delay = 0, at, how, "", delay
}

// disarm says how many calls there were, and what the one was at which the manager died;
// "" for none.
func (p *proxy) disarm() (calls int, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = 0
	return p.calls, p.what
}

// count is how many calls there were so far.
func (p *proxy) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}

// counts says whether the manager has to die at this call.
func (p *proxy) counts(r *http.Request) (kill func(), how manner, delay time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if p.calls != p.at {
		return nil, lost, 0
	}
	p.at, p.what = 0, r.Method+" "+r.URL.Path
	return p.kill, p.how, p.delay
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kill, how, delay := p.counts(r)
	if kill == nil {
		p.forward.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	detached := r.Clone(context.WithoutCancel(r.Context()))
	detached.Body = io.NopCloser(bytes.NewReader(body))
	if how == unheard {
		p.forward.ServeHTTP(httptest.NewRecorder(), detached)
	}
	if how == late {
		p.under.Go(func() {
			time.Sleep(delay)
			p.forward.ServeHTTP(httptest.NewRecorder(), detached)
		})
	}
	kill()
	panic(http.ErrAbortHandler)
}
