package neutron

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// tape is a log of a manager's requests to clouds, with what they said and when.
type tape struct {
	mu    sync.Mutex
	calls []*request
}

// request is one that was sent, answered or not.
type request struct {
	at, ended    time.Time
	method, path string
	query, body  string
	// code is the answer's; 0 for none.
	code int
}

var id = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// String is the request in short: "PUT subnets/{id} 200".
func (r request) String() string {
	path := strings.TrimPrefix(r.path, "/v2.0/")
	return fmt.Sprintf("%s %s %d", r.method, id.ReplaceAllString(path, "{id}"), r.code)
}

func (t *tape) over(inner http.RoundTripper) http.RoundTripper {
	return roundTripper(func(sent *http.Request) (*http.Response, error) {
		call := &request{at: time.Now(), method: sent.Method, path: sent.URL.Path, query: sent.URL.RawQuery}
		authenticates := strings.HasSuffix(sent.URL.Path, "/auth/tokens")
		if sent.Body != nil && !authenticates {
			body, err := io.ReadAll(sent.Body)
			if err != nil {
				return nil, err
			}
			sent = sent.Clone(sent.Context())
			sent.Body = io.NopCloser(bytes.NewReader(body))
			call.body = string(body)
		}
		t.mu.Lock()
		t.calls = append(t.calls, call)
		t.mu.Unlock()
		answer, err := inner.RoundTrip(sent)
		t.mu.Lock()
		call.ended = time.Now()
		t.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if token := answer.Header.Get("X-Subject-Token"); token != "" {
			told.token(token)
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		call.code = answer.StatusCode
		return answer, nil
	})
}

// mark is a place on the tape, for since.
func (t *tape) mark() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.calls)
}

// since gives the requests after a mark, in order.
func (t *tape) since(mark int) []request {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []request
	for _, call := range t.calls[mark:] {
		all = append(all, *call)
	}
	return all
}

// told gives the requests after a mark, in short.
func (t *tape) told(mark int) []string {
	all := []string{}
	for _, call := range t.since(mark) {
		all = append(all, call.String())
	}
	return all
}

// writes gives those of them that change something, in short.
func (t *tape) writes(mark int) []string {
	all := []string{}
	for _, call := range t.since(mark) {
		if call.method != http.MethodGet && !strings.HasSuffix(call.path, "/auth/tokens") {
			all = append(all, call.String())
		}
	}
	return all
}

// count gives how many requests since the mark begin, in short, with a text.
func (t *tape) count(mark int, prefix string) func() int {
	return func() int {
		found := 0
		for _, call := range t.told(mark) {
			if strings.HasPrefix(call, prefix) {
				found++
			}
		}
		return found
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
