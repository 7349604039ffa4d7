package certs

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// serving is a server that runs, at noon.
type serving struct {
	*Server
	now     *clocktesting.FakeClock
	address string
	client  *http.Client
	stop    context.CancelFunc
	drained context.Context
	ended   chan error
}

const delay = 5 * time.Second

func serve(t *testing.T) *serving {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	pair := newFiles(t, 1)
	options := Options{Port: port, Dir: t.TempDir()}
	mount(t, options.Dir, pair)
	s := &serving{Server: options.Server(), now: clocktesting.NewFakeClock(noon), address: fmt.Sprintf("127.0.0.1:%d", port), ended: make(chan error, 1)}
	s.clock, s.pair.clock = s.now, s.now
	s.Register("/judge", http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(response, "judged") }))

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pair["tls.crt"])
	transport := &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, Time: s.now.Now}}
	t.Cleanup(transport.CloseIdleConnections)
	s.client = &http.Client{Transport: transport, Timeout: time.Minute}

	var ctx context.Context
	ctx, s.stop = context.WithCancel(t.Context())
	s.drained = s.Drain(ctx, delay)
	go func() { s.ended <- s.Start(s.drained) }()
	eventually(t, "ready", func() bool { return s.Ready(nil) == nil })
	return s
}

// eventually waits for what another goroutine does.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("never %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// call says whether the answer asks to close the connection.
func (s *serving) call(t *testing.T) bool {
	t.Helper()
	response, err := s.client.Post("https://"+s.address+"/judge", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK || response.ProtoMajor != 1 {
		t.Fatalf("got %s by %s, want 200 by HTTP/1.1", response.Status, response.Proto)
	}
	return response.Close
}

func TestDrain(t *testing.T) {
	s := serve(t)
	if s.call(t) {
		t.Error("an answer closes its connection before the drain")
	}

	s.stop()
	eventually(t, "not ready", func() bool { return s.Ready(nil) != nil })
	eventually(t, "draining", s.now.HasWaiters)
	if err := s.Ready(nil); err.Error() != "the webhook server is about to stop" {
		t.Errorf("got %v", err)
	}
	s.now.Step(delay - 1)
	for range 2 {
		if !s.call(t) {
			t.Error("an answer leaves its connection open during the drain")
		}
	}
	select {
	case err := <-s.ended:
		t.Fatalf("ended before the drain's end: %v", err)
	case <-s.drained.Done():
		t.Fatal("the context ended before the drain's end")
	default:
	}

	s.now.Step(1)
	<-s.drained.Done()
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", s.address); err == nil {
		t.Error("still takes connections after its end")
	}
}

func TestDrainWithoutDelay(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	server := (&Options{Dir: t.TempDir()}).Server()
	drained := server.Drain(ctx, 0)
	if drained.Err() != nil {
		t.Error("ended before its parent")
	}
	stop()
	<-drained.Done()
}

func TestServerWithoutPairEndsInOrder(t *testing.T) {
	server := (&Options{Port: 1, Dir: t.TempDir()}).Server()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	if err := server.Ready(nil); err == nil || !strings.HasPrefix(err.Error(), "no webhook certificate in ") {
		t.Errorf("got %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestReadyOnlyWithAValidPair(t *testing.T) {
	s := serve(t)
	s.now.SetTime(expires)
	if err := s.Ready(nil); err == nil || !strings.Contains(err.Error(), "expired at 2026-05-30T00:00:00Z") {
		t.Errorf("got %v", err)
	}
	s.now.SetTime(noon)
	if err := s.Ready(nil); err != nil {
		t.Error(err)
	}
}

func TestProtocol(t *testing.T) {
	s := serve(t)
	for name, tc := range map[string]struct {
		config *tls.Config
		want   string
	}{
		"HTTP/2 is not spoken, though a client offers it": {&tls.Config{NextProtos: []string{"h2", "http/1.1"}}, "http/1.1"},
		"TLS 1.2 is spoken":     {&tls.Config{NextProtos: []string{"http/1.1"}, MaxVersion: tls.VersionTLS12}, "http/1.1"},
		"TLS 1.1 is not spoken": {&tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, "protocol version not supported"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.config.InsecureSkipVerify = true
			connection, err := tls.Dial("tcp", s.address, tc.config)
			if err != nil {
				if !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v, want %q", err, tc.want)
				}
				return
			}
			defer func() { _ = connection.Close() }()
			if got := connection.ConnectionState().NegotiatedProtocol; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
