package plan

import (
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"
)

// lag delays what watches of Networks tell, each time by another while, longest at
// the most. The order stays as it is.
type lag struct {
	http.RoundTripper
	longest time.Duration
}

// lagging is a transport that lags.
func lagging(longest time.Duration) func(http.RoundTripper) http.RoundTripper {
	return func(inner http.RoundTripper) http.RoundTripper { return lag{inner, longest} }
}

func (l lag) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(request)
	watches := request.URL.Query().Get("watch")
	if err == nil && (watches == "true" || watches == "1") && strings.HasSuffix(request.URL.Path, "/networks") {
		response.Body = newLate(response.Body, l.longest)
	}
	return response, err
}

// late is a body that is read as it comes and given on later.
type late struct {
	inner  io.ReadCloser
	pieces chan piece
	// now is what is due and not given on yet.
	now    piece
	closed chan struct{}
	close  func()
}

// piece is what one read gave.
type piece struct {
	text []byte
	err  error
	due  time.Time
}

func newLate(inner io.ReadCloser, longest time.Duration) *late {
	l := &late{inner: inner, pieces: make(chan piece, 4096), closed: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.closed) })
	go l.receive(longest)
	return l
}

// receive reads until the inner one ends.
func (l *late) receive(longest time.Duration) {
	next := piece{due: time.Now()}
	for next.err == nil {
		text := make([]byte, 16<<10)
		n, err := l.inner.Read(text)
		due := time.Now().Add(rand.N(longest))
		if due.Before(next.due) {
			due = next.due
		}
		next = piece{text[:n], err, due}
		select {
		case l.pieces <- next:
		case <-l.closed:
			return
		}
	}
}

// Read gives what is due.
func (l *late) Read(into []byte) (int, error) {
	for len(l.now.text) == 0 {
		if l.now.err != nil {
			return 0, l.now.err
		}
		select {
		case l.now = <-l.pieces:
		case <-l.closed:
			return 0, io.EOF
		}
		select {
		case <-time.After(time.Until(l.now.due)):
		case <-l.closed:
			return 0, io.EOF
		}
	}
	n := copy(into, l.now.text)
	l.now.text = l.now.text[n:]
	return n, nil
}

// Close ends the inner one.
func (l *late) Close() error {
	l.close()
	return l.inner.Close()
}
