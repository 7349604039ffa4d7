// Package faults puts faults of the network and of the server between an HTTP client
// and a server that is real: what comes back when nothing is the matter is the server's.
package faults

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Transport passes requests on, disturbs those that a Rule tells of, and keeps a log.
// It may be used by several at once, and its rules may change while it is.
type Transport struct {
	inner http.RoundTripper

	mu    sync.Mutex
	rules []*rule
	calls []*Call
}

// Call is a request as the client saw it.
type Call struct {
	Method, Path string
	// Code is the answer's; 0 for none.
	Code int
	// Done is the code that the server itself gave; 0 where it was never asked.
	Done int
}

// Rule says which requests a fault befalls.
type Rule struct {
	// Method is theirs; "" for any.
	Method string
	// Path is a part of theirs; "" for any.
	Path string
	// From is the first of those that it befalls, counted from 1; 0 like 1.
	From int
	// Times is how many it befalls; 0 for all from then on.
	Times int
}

type rule struct {
	Rule
	fault Fault
	met   int
}

// New gives a transport without faults in front of inner.
func New(inner http.RoundTripper) *Transport { return &Transport{inner: inner} }

// Over gives one in front of another inner, with the same rules and the same log.
func (t *Transport) Over(inner http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) { return t.pass(request, inner) })
}

// Add has fault befall the requests of a rule, from now on and until end is called. Of
// several rules that tell of a request the one that was added first is the nearest to
// the client.
func (t *Transport) Add(of Rule, fault Fault) (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	added := &rule{Rule: of, fault: fault}
	t.rules = append(t.rules, added)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.rules = slices.DeleteFunc(t.rules, func(r *rule) bool { return r == added })
	}
}

// Clear ends all faults.
func (t *Transport) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rules = nil
}

// Calls gives the log, in the order in which the requests came. One that is on its way
// has no codes yet.
func (t *Transport) Calls() []Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]Call, len(t.calls))
	for i, call := range t.calls {
		all[i] = *call
	}
	return all
}

// RoundTrip passes a request on, unless a fault keeps it back.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	return t.pass(request, t.inner)
}

func (t *Transport) pass(request *http.Request, inner http.RoundTripper) (*http.Response, error) {
	call, faults := t.begin(request)
	var next http.RoundTripper = roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := inner.RoundTrip(request)
		if err == nil {
			t.note(func() { call.Done = response.StatusCode })
		}
		return response, err
	})
	for _, fault := range slices.Backward(faults) {
		after := next
		next = roundTripper(func(request *http.Request) (*http.Response, error) { return fault(request, after) })
	}
	response, err := next.RoundTrip(request)
	if err == nil {
		t.note(func() { call.Code = response.StatusCode })
	}
	return response, err
}

// begin logs a request and gives the faults that befall it.
func (t *Transport) begin(request *http.Request) (*Call, []Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	call := &Call{Method: request.Method, Path: request.URL.Path}
	t.calls = append(t.calls, call)
	var faults []Fault
	for _, r := range t.rules {
		if r.Method != "" && r.Method != request.Method || !strings.Contains(request.URL.Path, r.Path) {
			continue
		}
		r.met++
		if first := max(r.From, 1); r.met >= first && (r.Times == 0 || r.met < first+r.Times) {
			faults = append(faults, r.fault)
		}
	}
	return call, faults
}

func (t *Transport) note(change func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change()
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls f.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
