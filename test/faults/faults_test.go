package faults_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/samplecrd/samplecrd/test/faults"
)

// client gives one that reaches a server by faults, and counts what the server does.
func client(t *testing.T) (*http.Client, *faults.Transport, string, *atomic.Int32) {
	t.Helper()
	done := &atomic.Int32{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		done.Add(1)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"things":[1,2,3],"things_links":["a","b"]}`)
	}))
	t.Cleanup(server.Close)
	transport := faults.New(http.DefaultTransport)
	return &http.Client{Transport: transport}, transport, server.URL, done
}

func TestFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		fault faults.Fault
		// answered is the code and a part of the body; "" for no answer.
		answered string
		// is the error where there is none.
		is   error
		done int32
	}{
		"nobody listens":                      {fault: faults.Refused(), is: syscall.ECONNREFUSED},
		"the connection breaks":               {fault: faults.Reset(), is: syscall.ECONNRESET},
		"the connection breaks after it all":  {fault: faults.Committed(faults.Reset()), is: syscall.ECONNRESET, done: 1},
		"a failure":                           {fault: faults.Failure(500, "Internal", "no"), answered: `500 {"NeutronError":{"detail":"","message":"no","type":"Internal"}}`},
		"a failure after it all":              {fault: faults.Committed(faults.Failure(500, "Internal", "no")), answered: `500 {"NeutronError"`, done: 1},
		"too many":                            {fault: faults.TooMany("7"), answered: "429 Too many"},
		"the quota is used up":                {fault: faults.OverQuota("network"), answered: `409 {"NeutronError":{"detail":"","message":"Quota exceeded for resources: ['network'].","type":"OverQuota"}}`},
		"the request comes back":              {fault: faults.Echo(400, true), answered: "X-Auth-Token: secret"},
		"the lists are turned round":          {fault: faults.Reordered(), answered: `201 {"things":[3,2,1],"things_links":["a","b"]}`, done: 1},
		"the answer breaks off":               {fault: faults.Truncated(), is: io.ErrUnexpectedEOF, done: 1},
		"the request is late":                 {fault: faults.Latency(time.Millisecond), answered: "201 ", done: 1},
		"the answer is another one":           {fault: faults.Edited(func([]byte) []byte { return []byte("else") }), answered: "201 else", done: 1},
		"the answer is huge":                  {fault: faults.Huge(200, 1<<10), answered: "200 {"},
		"no answer comes, and the time is up": {fault: faults.Hang(), is: context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			c, transport, url, done := client(t)
			transport.Add(faults.Rule{}, tc.fault)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if errors.Is(tc.is, context.DeadlineExceeded) {
				ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
				defer cancel()
			}
			got, err := post(ctx, c, url)
			if !errors.Is(err, tc.is) || !strings.Contains(got, tc.answered) {
				t.Errorf("it gives %q and %v, want %q and %v", got, err, tc.answered, tc.is)
			}
			if done.Load() != tc.done {
				t.Errorf("the server has done %d requests, want %d", done.Load(), tc.done)
			}
		})
	}
}

func TestTimedOut(t *testing.T) {
	c, transport, url, _ := client(t)
	transport.Add(faults.Rule{}, faults.TimedOut())
	_, err := post(t.Context(), c, url)
	if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
		t.Errorf("it is %v, want a timeout", err)
	}
}

func TestRules(t *testing.T) {
	c, transport, url, _ := client(t)
	transport.Add(faults.Rule{Method: http.MethodGet}, faults.Reset())
	transport.Add(faults.Rule{Path: "/elsewhere"}, faults.Reset())
	transport.Add(faults.Rule{Path: "/v2", From: 2, Times: 2}, faults.Answer(503, ""))
	end := transport.Add(faults.Rule{From: 6}, faults.Committed(faults.Reset()))
	for range 6 {
		_, _ = post(t.Context(), c, url+"/v2/things")
	}
	end()
	_, _ = post(t.Context(), c, url+"/v2/others")
	ok := faults.Call{Method: http.MethodPost, Path: "/v2/things", Code: 201, Done: 201}
	failed := faults.Call{Method: http.MethodPost, Path: "/v2/things", Code: 503}
	lost := faults.Call{Method: http.MethodPost, Path: "/v2/things", Done: 201}
	other := faults.Call{Method: http.MethodPost, Path: "/v2/others", Code: 201, Done: 201}
	if got, want := transport.Calls(), []faults.Call{ok, failed, failed, ok, ok, lost, other}; !reflect.DeepEqual(got, want) {
		t.Errorf("the log is\n%v, want\n%v", got, want)
	}
}

func TestSeveralFaultsAtOnce(t *testing.T) {
	c, transport, url, done := client(t)
	transport.Add(faults.Rule{}, faults.Reordered())
	transport.Add(faults.Rule{}, faults.Edited(func(body []byte) []byte { return append(body[:0], `{"things":[7,8]}`...) }))
	if got, err := post(t.Context(), c, url); err != nil || got != `201 {"things":[8,7]}` || done.Load() != 1 {
		t.Errorf("it gives %q and %v", got, err)
	}
}

func post(ctx context.Context, c *http.Client, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return "", err
	}
	request.Header.Set("X-Auth-Token", "secret")
	response, err := c.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, body), err
}
