package plan

import (
	"crypto/tls"
	"crypto/x509"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// front stands where the installed webhook configurations point, as a Service does,
// and hands what it is asked to several servers in turn.
type front struct {
	server *http.Server
	asked  atomic.Uint64

	mu       sync.Mutex
	answered map[answer]int
}

// answer is one that the webhook at a path gave on a port.
type answer struct{ port, path string }

// newFront serves until close. It answers for the servers at ports of this machine,
// which bear the same certificate.
func newFront(ports []int) *front {
	GinkgoHelper()
	hooks := cluster.Webhooks
	trusted := x509.NewCertPool()
	Expect(trusted.AppendCertsFromPEM(hooks.LocalServingCAData)).To(BeTrue())
	f := &front{answered: map[answer]int{}}
	said := log.New(GinkgoWriter, "front: ", 0)
	f.server = &http.Server{ErrorLog: said, Handler: &httputil.ReverseProxy{
		ErrorLog: said,
		Rewrite: func(request *httputil.ProxyRequest) {
			port := ports[int(f.asked.Add(1))%len(ports)]
			request.SetURL(&url.URL{Scheme: "https", Host: net.JoinHostPort(hooks.LocalServingHost, strconv.Itoa(port))})
		},
		ModifyResponse: func(response *http.Response) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.answered[answer{response.Request.URL.Port(), response.Request.URL.Path}]++
			return nil
		},
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, MaxIdleConnsPerHost: 100},
	}}
	listener, err := net.Listen("tcp", net.JoinHostPort(hooks.LocalServingHost, strconv.Itoa(hooks.LocalServingPort)))
	Expect(err).NotTo(HaveOccurred())
	go func() {
		defer GinkgoRecover()
		in := func(name string) string { return filepath.Join(hooks.LocalServingCertDir, name) }
		Expect(f.server.ServeTLS(listener, in("tls.crt"), in("tls.key"))).To(MatchError(http.ErrServerClosed))
	}()
	return f
}

func (f *front) close() { Expect(f.server.Close()).To(Succeed()) }

// answers counts what a port answered at a path.
func (f *front) answers(port int, path string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answered[answer{strconv.Itoa(port), path}]
}

// freePorts finds ports that are free, each another one.
func freePorts(count int) []int {
	GinkgoHelper()
	ports, listeners := make([]int, count), make([]net.Listener, count)
	for i := range ports {
		listener, err := net.Listen("tcp", ":0")
		Expect(err).NotTo(HaveOccurred())
		ports[i], listeners[i] = listener.Addr().(*net.TCPAddr).Port, listener
	}
	for _, listener := range listeners {
		Expect(listener.Close()).To(Succeed())
	}
	return ports
}
