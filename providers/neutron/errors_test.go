package neutron

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gophercloud/gophercloud/v2"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// answered is an answer that is no success.
func answered(code int, body string, headers ...string) gophercloud.ErrUnexpectedResponseCode {
	header := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	return gophercloud.ErrUnexpectedResponseCode{URL: "http://cloud/v2.0/networks", Method: "POST", Expected: []int{201}, Actual: code, Body: []byte(body), ResponseHeader: header}
}

func neutronBody(kind, message string) string {
	return fmt.Sprintf(`{"NeutronError": {"type": %q, "message": %q, "detail": ""}}`, kind, message)
}

func TestTranslate(t *testing.T) {
	const (
		unavailable = samplecrdv1.NetworkReasonBackendUnavailable
		rejected    = samplecrdv1.NetworkReasonRejected
		quota       = samplecrdv1.NetworkReasonQuotaExceeded
		credentials = samplecrdv1.NetworkReasonCredentialsMissing
		pending     = samplecrdv1.NetworkReasonPending
	)
	pointer := answered(http.StatusConflict, neutronBody("DuplicatedExtension", "taken"))
	date := "Mon, 30 Nov 2026 12:00:00 GMT"
	for name, tc := range map[string]struct {
		err    error
		reason string
		retry  providers.Retry
		// least and most bound After.
		least, most time.Duration
		says        string
	}{
		"Neutron's 400":                     {err: answered(400, neutronBody("InvalidInput", "Invalid input for cidr.")), reason: rejected, retry: providers.RetrySlowly, says: "HTTP 400 InvalidInput: Invalid input for cidr."},
		"a 400 that is one sentence":        {err: answered(400, `{"NeutronError": "Bad prefix"}`), reason: rejected, retry: providers.RetrySlowly, says: "HTTP 400: Bad prefix"},
		"409 by pointer":                    {err: &pointer, reason: rejected, retry: providers.RetrySlowly, says: "HTTP 409 DuplicatedExtension: taken"},
		"409 within another error":          {err: fmt.Errorf("making: %w", &pointer), reason: rejected, retry: providers.RetrySlowly, says: "HTTP 409 DuplicatedExtension"},
		"409 after another authentication":  {err: &gophercloud.ErrErrorAfterReauthentication{ErrOriginal: pointer}, reason: rejected, retry: providers.RetrySlowly, says: "HTTP 409"},
		"404 of what is gone":               {err: answered(404, neutronBody("NetworkNotFound", "gone")), reason: pending, says: "Somebody else changes or removes the network at the same time: HTTP 404 NetworkNotFound: gone"},
		"404 of no Neutron":                 {err: answered(404, "no such page"), reason: rejected, retry: providers.RetrySlowly, says: "HTTP 404: no such page"},
		"413":                               {err: answered(413, ""), reason: rejected, retry: providers.RetrySlowly, says: "HTTP 413"},
		"a redirection":                     {err: answered(302, ""), reason: rejected, retry: providers.RetrySlowly, says: "HTTP 302"},
		"409 OverQuota":                     {err: answered(409, neutronBody("OverQuota", "Quota exceeded for resources: ['network'].")), reason: quota, retry: providers.RetrySlowly, says: "Quota exceeded for resources"},
		"409 of what is used":               {err: answered(409, neutronBody("GatewayIpInUse", "Current gateway ip 10.0.0.1 already in use by port x.")), reason: samplecrdv1.NetworkReasonInUse, retry: providers.RetrySlowly, least: 48 * time.Second, most: 72 * time.Second, says: "HTTP 409 GatewayIpInUse: Current gateway ip 10.0.0.1 already in use"},
		"412":                               {err: answered(412, neutronBody("RevisionNumberConstraintFailed", "x")), reason: pending, says: "Somebody else changes or removes the network at the same time: HTTP 412"},
		"401":                               {err: answered(401, `{"error": {"code": 401, "message": "The request you have made requires authentication.", "title": "Unauthorized"}}`), reason: credentials, least: probing, most: 2 * probing, says: "HTTP 401: The request you have made requires authentication."},
		"403":                               {err: answered(403, neutronBody("PolicyNotAuthorized", "not allowed")), reason: credentials, retry: providers.RetrySlowly, says: "HTTP 403: not allowed"},
		"401 to an authentication":          {err: &gophercloud.ErrUnableToReauthenticate{ErrOriginal: answered(401, ""), ErrReauth: answered(401, `{"error": {"message": "Wrong."}}`)}, reason: credentials, least: probing, most: 2 * probing, says: "HTTP 401: Wrong."},
		"500 to an authentication":          {err: &gophercloud.ErrUnableToReauthenticate{ErrOriginal: answered(401, ""), ErrReauth: answered(500, "")}, reason: unavailable, says: "HTTP 500"},
		"429 to an authentication":          {err: &gophercloud.ErrUnableToReauthenticate{ErrOriginal: answered(401, ""), ErrReauth: answered(429, "", "Retry-After", "300")}, reason: unavailable, least: 300 * time.Second, most: 300 * time.Second, says: "HTTP 429"},
		"404 to an authentication":          {err: &gophercloud.ErrUnableToReauthenticate{ErrOriginal: answered(401, ""), ErrReauth: answered(404, "no such page")}, reason: credentials, least: probing, most: 2 * probing, says: "HTTP 404"},
		"no answer to an authentication":    {err: &gophercloud.ErrUnableToReauthenticate{ErrOriginal: answered(401, ""), ErrReauth: syscall.ECONNREFUSED}, reason: unavailable, says: "connection refused"},
		"408":                               {err: answered(408, ""), reason: unavailable, says: "HTTP 408"},
		"500":                               {err: answered(500, neutronBody("HTTPInternalServerError", "Request Failed: internal server error while processing your request.")), reason: unavailable, says: "HTTP 500 HTTPInternalServerError: Request Failed: internal"},
		"502 with a page":                   {err: answered(502, "<html><body>Bad Gateway</body></html>"), reason: unavailable, says: "HTTP 502: no explanation"},
		"503 with seconds":                  {err: answered(503, "", "Retry-After", "120"), reason: unavailable, least: 120 * time.Second, most: 120 * time.Second, says: "HTTP 503"},
		"503 without":                       {err: answered(503, ""), reason: unavailable, says: "HTTP 503"},
		"429 with seconds":                  {err: answered(429, "slow down", "Retry-After", "7"), reason: unavailable, least: 7 * time.Second, most: 7 * time.Second, says: "HTTP 429: slow down"},
		"429 with a date":                   {err: answered(429, "", "Date", date, "Retry-After", "Mon, 30 Nov 2026 12:01:30 GMT"), reason: unavailable, least: 90 * time.Second, most: 90 * time.Second, says: "HTTP 429"},
		"429 with a date gone by":           {err: answered(429, "", "Date", date, "Retry-After", "Mon, 30 Nov 2026 11:00:00 GMT"), reason: unavailable, least: time.Second, most: time.Second, says: "HTTP 429"},
		"429 with a date and no clock":      {err: answered(429, "", "Retry-After", date), reason: unavailable, least: probing, most: 2 * probing, says: "HTTP 429"},
		"429 with rubbish":                  {err: answered(429, "", "Retry-After", "soon"), reason: unavailable, least: probing, most: 2 * probing, says: "HTTP 429"},
		"429 with a year":                   {err: answered(429, "", "Retry-After", "31536000"), reason: unavailable, least: longestRest, most: longestRest, says: "HTTP 429"},
		"429 with more than a number holds": {err: answered(429, "", "Retry-After", "9223372036854775807"), reason: unavailable, least: time.Second, most: longestRest, says: "HTTP 429"},
		"429 with less than nothing":        {err: answered(429, "", "Retry-After", "-5"), reason: unavailable, least: time.Second, most: time.Second, says: "HTTP 429"},
		"429 without":                       {err: answered(429, ""), reason: unavailable, least: probing, most: 2 * probing, says: "HTTP 429"},
		"nobody listens":                    {err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, reason: unavailable, says: "connection refused"},
		"the time is up":                    {err: &url.Error{Op: "Post", URL: "http://cloud", Err: context.DeadlineExceeded}, reason: unavailable, says: "no answer in time"},
		"the call was cancelled":            {err: &url.Error{Op: "Post", URL: "http://cloud", Err: context.Canceled}, reason: unavailable, says: "the call was cancelled"},
		"the name is not known":             {err: &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "cloud.example.org", Server: "10.0.0.1:53"}}, reason: unavailable, says: "the name cloud.example.org is not known"},
		"an unknown authority":              {err: &url.Error{Op: "Get", URL: "https://cloud", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}, reason: credentials, least: probing, most: 2 * probing, says: "certificate signed by unknown authority; put the certificates"},
		"an answer that breaks off":         {err: io.ErrUnexpectedEOF, reason: unavailable, says: "cannot be read"},
		"an answer that is no JSON":         {err: json.Unmarshal([]byte("<"), &struct{}{}), reason: unavailable, says: "cannot be read"},
		"what is ours already":              {err: fmt.Errorf("so: %w", providers.Conflict("in the way")), reason: samplecrdv1.NetworkReasonConflict, retry: providers.RetrySlowly, says: "in the way"},
	} {
		t.Run(name, func(t *testing.T) {
			got := translate(tc.err, func(text string) string { return text })
			if got.Reason != tc.reason || got.Retry != tc.retry || got.After < tc.least || got.After > tc.most {
				t.Errorf("it is %s, retry %d, after %v", got.Reason, got.Retry, got.After)
			}
			if !strings.Contains(got.Message, tc.says) {
				t.Errorf("it says %q, want %q", got.Message, tc.says)
			}
			if strings.Contains(got.Message, " :") {
				t.Errorf("there is a hole in %q", got.Message)
			}
		})
	}
	if translate(nil, nil) != nil {
		t.Error("nothing becomes an error")
	}
}

// The same fault has to read the same: a message that flaps is a write to the API server
// each time.
func TestMessagesDoNotFlap(t *testing.T) {
	said := map[string]bool{}
	for port := range 3 {
		from := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 40000 + port}
		for _, err := range []error{
			&url.Error{Op: "Post", URL: "http://cloud/v2.0/networks", Err: &net.OpError{Op: "read", Net: "tcp", Source: from, Addr: from, Err: os.NewSyscallError("read", syscall.ECONNRESET)}},
			&url.Error{Op: "Get", URL: "http://cloud/v2.0/networks?marker=x", Err: &net.OpError{Op: "write", Net: "tcp", Source: from, Addr: from, Err: os.NewSyscallError("write", syscall.ECONNRESET)}},
		} {
			said[translate(err, strings.TrimSpace).Message] = true
		}
	}
	if len(said) != 1 {
		t.Errorf("one fault has the messages %v", said)
	}
}

// TestExcerpt: what is shown of an answer is one short line of text, and holds nothing
// secret, wherever that stands in it.
func TestExcerpt(t *testing.T) {
	const secret = "gAAAAABlongtokenlongtokenlongtokenlongtokenlongtokenlongtokenlongtokenlongtokenlongtokenlongtokenlongtokenlongtokenlongtokenlongtokenlongtoken"
	hidden := func(text string) string { return hide(text, secret) }
	bodies := map[string]string{
		"plain text": "X-Auth-Token: " + secret, "nothing": "", "a page": "<p>" + secret + "</p>", "other JSON": `{"token": "` + secret + `"}`,
		"control characters": "one\ntwo\x00\x1b[31mthree\u202e", "no UTF-8": "\xff\xfe\xfd", "long": strings.Repeat("é", 4000),
		"Neutron's": neutronBody("X", "the token "+secret+" is no good"), "Keystone's": `{"error": {"message": "` + secret + `", "title": "` + secret + `"}}`,
	}
	for offset := 0; offset < 2*longestExcerpt; offset += 7 {
		bodies[fmt.Sprintf("a secret after %d characters", offset)] = neutronBody("X", strings.Repeat("a ", offset/2)+secret)
		bodies[fmt.Sprintf("a secret after %d characters of text", offset)] = strings.Repeat("a ", offset/2) + secret
	}
	for name, body := range bodies {
		for _, code := range []int{400, 401, 409, 429, 500} {
			got := translate(answered(code, body, "X-Subject-Token", secret), hidden)
			for _, text := range []string{got.Message, got.Error()} {
				if len(text) > 700 || strings.ContainsAny(text, "\n\x00\x1b<\u202e") || !utf8.ValidString(text) {
					t.Errorf("%s, %d: it says %q", name, code, text)
				}
				if strings.Contains(text, secret[:12]) {
					t.Fatalf("%s, %d: a part of the secret is in %q", name, code, text)
				}
			}
		}
	}
}

// TestUnderway: after an answer that was lost one must wait before the same is asked for
// again; after one that tells that nothing was begun, or that all is over, not.
func TestUnderway(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"nobody listened":              {&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, false},
		"the connection broke":         {&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, true},
		"the connection ended":         {&url.Error{Op: "Post", Err: io.EOF}, true},
		"the time was up":              {context.DeadlineExceeded, true},
		"the call was cancelled":       {context.Canceled, true},
		"a proxy had no answer":        {answered(504, ""), true},
		"a proxy had a bad answer":     {answered(502, ""), true},
		"the server failed":            {answered(500, ""), false},
		"the server refused":           {answered(400, ""), false},
		"the answer could not be read": {io.ErrUnexpectedEOF, false},
	} {
		if got := underway(tc.err); got != tc.want {
			t.Errorf("%s: underway is %t", name, got)
		}
	}
}
