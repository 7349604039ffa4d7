package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Fault answers a request, or has next do so.
type Fault func(request *http.Request, next http.RoundTripper) (*http.Response, error)

// Refused keeps a request back: nobody listens.
func Refused() Fault {
	return failed(&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)})
}

// Reset keeps a request back: the connection breaks.
func Reset() Fault {
	return failed(&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)})
}

// TimedOut keeps a request back: no answer comes in time. It does not wait itself.
func TimedOut() Fault {
	return failed(&net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded})
}

func failed(err error) Fault {
	return func(request *http.Request, _ http.RoundTripper) (*http.Response, error) {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		return nil, err
	}
}

// Hang keeps a request back until its context ends.
func Hang() Fault {
	return func(request *http.Request, _ http.RoundTripper) (*http.Response, error) {
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
}

// Committed has the server carry a request out, and fault come in place of the answer.
func Committed(fault Fault) Fault {
	return func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		return fault(request, next)
	}
}

// Late gives no answer in time, as TimedOut does; the server carries the request out
// when arrive is closed, and then done is.
func Late(arrive <-chan struct{}, done chan<- struct{}) Fault {
	return func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		late := request.Clone(context.WithoutCancel(request.Context()))
		if request.Body != nil {
			body, err := io.ReadAll(request.Body)
			if err != nil {
				return nil, err
			}
			late.Body = io.NopCloser(bytes.NewReader(body))
		}
		go func() {
			defer close(done)
			<-arrive
			if response, err := next.RoundTrip(late); err == nil {
				_ = response.Body.Close()
			}
		}()
		return TimedOut()(request, next)
	}
}

// Answer keeps a request back and gives an answer with these pairs of header and value.
func Answer(code int, body string, headers ...string) Fault {
	return func(request *http.Request, _ http.RoundTripper) (*http.Response, error) {
		if request.Body != nil {
			_ = request.Body.Close()
		}
		response := &http.Response{
			Status: strconv.Itoa(code) + " " + http.StatusText(code), StatusCode: code,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{"Content-Type": {"application/json"}}, Request: request,
		}
		for i := 0; i+1 < len(headers); i += 2 {
			response.Header.Set(headers[i], headers[i+1])
		}
		setBody(response, []byte(body))
		return response, nil
	}
}

// Failure is an answer with an error as Neutron writes it.
func Failure(code int, kind, message string, headers ...string) Fault {
	body, err := json.Marshal(map[string]any{"NeutronError": map[string]string{"type": kind, "message": message, "detail": ""}})
	if err != nil {
		panic(err) // Strings can always be written.
	}
	return Answer(code, string(body), headers...)
}

// OverQuota is Neutron's answer when a quota of the kind is used up.
func OverQuota(kind string) Fault {
	return Failure(http.StatusConflict, "OverQuota", "Quota exceeded for resources: ['"+kind+"'].")
}

// TooMany asks to come again later; after is the header Retry-After, "" for none.
func TooMany(after string) Fault {
	if after == "" {
		return Answer(http.StatusTooManyRequests, "Too many requests")
	}
	return Answer(http.StatusTooManyRequests, "Too many requests", "Retry-After", after)
}

// Echo is an answer whose body has all of the request, headers and tokens among it; as
// Neutron's error with that message, or where plain is set as mere text.
func Echo(code int, plain bool) Fault {
	return func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		var said strings.Builder
		said.WriteString(request.Method + " " + request.URL.String() + " ")
		for _, name := range slices.Sorted(maps.Keys(request.Header)) {
			said.WriteString(name + ": " + strings.Join(request.Header[name], ", ") + " ")
		}
		if request.Body != nil {
			body, err := io.ReadAll(request.Body)
			if err != nil {
				return nil, err
			}
			said.Write(body)
		}
		if plain {
			return Answer(code, said.String())(request, next)
		}
		return Failure(code, "Echo", said.String())(request, next)
	}
}

// Latency has a request arrive later, unless its context ends before.
func Latency(delay time.Duration) Fault {
	return func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-timer.C:
			return next.RoundTrip(request)
		case <-request.Context().Done():
			return nil, request.Context().Err()
		}
	}
}

// Truncated breaks an answer off in its middle.
func Truncated() Fault {
	return changed(func(response *http.Response, body []byte) {
		half := body[:len(body)/2]
		response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(half), broken{}))
	})
}

type broken struct{}

// Read says that more was promised.
func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// Reordered gives the lists of an answer from back to front.
func Reordered() Fault {
	return changed(func(response *http.Response, body []byte) {
		var answer map[string]json.RawMessage
		if json.Unmarshal(body, &answer) != nil {
			return
		}
		for name, value := range answer {
			var list []json.RawMessage
			if strings.HasSuffix(name, "_links") || json.Unmarshal(value, &list) != nil {
				continue
			}
			slices.Reverse(list)
			answer[name], _ = json.Marshal(list)
		}
		body, _ = json.Marshal(answer)
		setBody(response, body)
	})
}

// Edited gives the body of an answer that edit makes of the server's.
func Edited(edit func(body []byte) []byte) Fault {
	return changed(func(response *http.Response, body []byte) { setBody(response, edit(body)) })
}

// Huge is an answer of that many bytes, all of one string.
func Huge(code int, size int64) Fault {
	return func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := Answer(code, "")(request, next)
		if err == nil {
			response.ContentLength = size
			response.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"networks": [{"name": "`), io.LimitReader(endless{}, size)))
		}
		return response, err
	}
}

type endless struct{}

// Read gives as much as there is room for.
func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

// changed has the server answer, and change what it said.
func changed(change func(response *http.Response, body []byte)) Fault {
	return func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			return nil, err
		}
		setBody(response, body)
		change(response, body)
		return response, nil
	}
}

// setBody gives a response another body.
func setBody(response *http.Response, body []byte) {
	response.Body = io.NopCloser(bytes.NewReader(body))
	response.ContentLength = int64(len(body))
	response.Header.Set("Content-Length", strconv.Itoa(len(body)))
}
