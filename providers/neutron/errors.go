package neutron

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/gophercloud/gophercloud/v2"
	"k8s.io/apimachinery/pkg/util/wait"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// longestRest bounds what a Retry-After header may ask for.
const longestRest = 10 * time.Minute

// answer gives the HTTP answer behind err that is no success; nil where there was none.
func answer(err error) *gophercloud.ErrUnexpectedResponseCode {
	if again, ok := errors.AsType[*gophercloud.ErrErrorAfterReauthentication](err); ok {
		err = again.ErrOriginal
	}
	if value, ok := errors.AsType[gophercloud.ErrUnexpectedResponseCode](err); ok {
		return &value
	}
	if pointer, ok := errors.AsType[*gophercloud.ErrUnexpectedResponseCode](err); ok {
		return pointer
	}
	return nil
}

// isCode says that err is an HTTP answer with that code.
func isCode(err error, code int) bool {
	response := answer(err)
	return response != nil && response.Actual == code
}

// underway says that the request behind err may still arrive, or be at work.
func underway(err error) bool {
	if response := answer(err); response != nil {
		return response.Actual == http.StatusBadGateway || response.Actual == http.StatusGatewayTimeout
	}
	return !errors.Is(err, syscall.ECONNREFUSED) && !isBroken(err)
}

// isBroken says that an answer came and could not be read.
func isBroken(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	_, odd := errors.AsType[*oddError](err)
	return syntax || kind || odd || errors.Is(err, io.ErrUnexpectedEOF)
}

// oddError is an answer that says what cannot be.
type oddError struct{ text string }

func (e *oddError) Error() string { return e.text }

func odd(format string, args ...any) error { return &oddError{fmt.Sprintf(format, args...)} }

// translate gives err as the contract has it. Nothing of an answer gets into it but its
// code and Neutron's own sentence, without what hide takes out: headers and bodies can
// hold tokens.
func translate(err error, hide func(string) string) *providers.Error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*providers.Error](err); ok {
		return known
	}
	if failed, ok := errors.AsType[*gophercloud.ErrUnableToReauthenticate](err); ok {
		err = failed.ErrReauth
		if response := answer(err); response != nil && !passes(response.Actual) {
			return refused(response, hide)
		}
	}
	response := answer(err)
	if response == nil {
		if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted {
			return providers.CredentialsMissing(wait.Jitter(probing, jitter), "The cloud's certificate is not trusted: %s; put the certificates of who signed it (PEM) under the Secret's key %s", plain(err, hide), keyCACert)
		}
		return providers.Unavailable(errors.New(plain(err, hide)))
	}
	kind, text := neutronError(response.Body, hide)
	said := errors.New(strings.Replace(fmt.Sprintf("HTTP %d %s: %s", response.Actual, kind, text), " : ", ": ", 1))
	switch code := response.Actual; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return refused(response, hide)
	case code == http.StatusTooManyRequests:
		failure := providers.Unavailable(said)
		failure.After = rest(response.ResponseHeader)
		return failure
	case passes(code):
		failure := providers.Unavailable(said)
		if response.ResponseHeader.Get("Retry-After") != "" {
			failure.After = rest(response.ResponseHeader)
		}
		return failure
	case kind == "OverQuota":
		return providers.QuotaExceeded(said)
	case code == http.StatusConflict && strings.HasSuffix(kind, "InUse"):
		return waiting(&providers.Error{Reason: samplecrdv1.NetworkReasonInUse, Message: said.Error(), Retry: providers.RetrySlowly})
	case code == http.StatusPreconditionFailed, code == http.StatusNotFound && strings.HasSuffix(kind, "NotFound"):
		return providers.Contended(said)
	}
	return providers.Rejected(said)
}

// passes says that an HTTP code tells of the server's own state, and not of the request.
func passes(code int) bool {
	return code >= http.StatusInternalServerError || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
}

// refused is an answer to credentials that are not taken, or not for this. Where they are
// not taken at all one Network tries for all: each try may count against the user.
func refused(response *gophercloud.ErrUnexpectedResponseCode, hide func(string) string) *providers.Error {
	_, text := neutronError(response.Body, hide)
	failure := providers.CredentialsMissing(0, "The cloud refuses the credentials: HTTP %d: %s", response.Actual, text)
	if response.Actual == http.StatusForbidden {
		failure.Retry = providers.RetrySlowly
	} else {
		failure.After = wait.Jitter(probing, jitter)
	}
	return failure
}

// rest is how long a Retry-After header asks to wait, in seconds or until a date (RFC
// 9110 10.2.3); as long as between two tries where it says nothing that can be read.
func rest(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return min(max(time.Duration(seconds)*time.Second, time.Second), longestRest)
	}
	if at, err := http.ParseTime(text); err == nil {
		if sent, err := http.ParseTime(header.Get("Date")); err == nil {
			return min(max(at.Sub(sent), time.Second), longestRest)
		}
	}
	return wait.Jitter(probing, jitter)
}

// neutronError gives type and message of an error as Neutron and Keystone send it; of
// anything else, such as a proxy's page, the beginning as far as it is plain text.
func neutronError(body []byte, hide func(string) string) (kind, message string) {
	// What is hidden is looked for before anything is cut.
	clean := func(text string) string { return clean(hide(text)) }
	var answer struct {
		NeutronError json.RawMessage
		Error        struct{ Message, Title string }
	}
	if json.Unmarshal(body, &answer) == nil {
		var detail struct{ Type, Message string }
		if json.Unmarshal(answer.NeutronError, &detail) == nil && detail.Message != "" {
			return clean(detail.Type), clean(detail.Message)
		}
		var sentence string
		if json.Unmarshal(answer.NeutronError, &sentence) == nil && sentence != "" {
			return "", clean(sentence)
		}
		if answer.Error.Message != "" {
			return clean(answer.Error.Title), clean(answer.Error.Message)
		}
	}
	if text := clean(string(body)); text != "" && !bytes.ContainsAny(body, "<{") {
		return "", text
	}
	return "", "no explanation that could be read"
}

// longestExcerpt bounds what is shown of a foreign text, longestWord a word in it, in
// bytes: a longer one may be a token that we do not know any more.
const longestExcerpt, longestWord = 160, 80

// clean makes one short line of printable characters.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	words := strings.Fields(text)
	for i, word := range words {
		if len(word) > longestWord {
			words[i] = hidden
		}
	}
	text = strings.Join(words, " ")
	if len(text) > longestExcerpt {
		text = strings.ToValidUTF8(text[:longestExcerpt], "") + "…"
	}
	return text
}

// plain says what became of a request without an answer; the same fault reads the same
// always, whatever ports and addresses it came about on.
func plain(err error, hide func(string) string) string {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
		return "no answer in time"
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return "the name " + dns.Name + " is not known"
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno.Error()
	}
	if isBroken(err) {
		return "an answer that cannot be read: " + clean(hide(err.Error()))
	}
	if errors.Is(err, context.Canceled) {
		return "the call was cancelled"
	}
	inner := err
	for next := errors.Unwrap(inner); next != nil; next = errors.Unwrap(inner) {
		inner = next
	}
	return clean(hide(inner.Error()))
}
