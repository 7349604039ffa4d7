package neutron

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/test/faults"
	servers "github.com/samplecrd/samplecrd/test/openstack"
)

// everyFault is one of each kind.
var everyFault = map[string]faults.Fault{
	"refused":             faults.Refused(),
	"reset":               faults.Reset(),
	"timed out":           faults.TimedOut(),
	"lost":                faults.Committed(faults.Reset()),
	"500":                 faults.Failure(http.StatusInternalServerError, "HTTPInternalServerError", "no"),
	"500 after it all":    faults.Committed(faults.Failure(http.StatusInternalServerError, "HTTPInternalServerError", "no")),
	"503":                 faults.Answer(http.StatusServiceUnavailable, "<html>no</html>", "Retry-After", "5"),
	"429":                 faults.TooMany("5"),
	"429 without a time":  faults.TooMany(""),
	"over quota":          faults.OverQuota("network"),
	"400":                 faults.Failure(http.StatusBadRequest, "InvalidInput", "no"),
	"a redirection":       faults.Answer(http.StatusFound, "", "Location", "http://elsewhere.example.org/"),
	"truncated":           faults.Truncated(),
	"huge":                faults.Huge(http.StatusOK, 2*maxAnswer),
	"another code":        faults.Answer(http.StatusTeapot, `{"a": 1}`),
	"no JSON":             faults.Answer(http.StatusOK, "<html>"),
	"nothing":             faults.Answer(http.StatusCreated, ""),
	"an empty object":     faults.Answer(http.StatusOK, "{}"),
	"an echo with 400":    faults.Echo(http.StatusBadRequest, false),
	"an echo with 401":    faults.Echo(http.StatusUnauthorized, false),
	"an echo with 403":    faults.Echo(http.StatusForbidden, true),
	"an echo with 409":    faults.Echo(http.StatusConflict, true),
	"an echo with 429":    faults.Echo(http.StatusTooManyRequests, true),
	"an echo with 500":    faults.Echo(http.StatusInternalServerError, false),
	"a plain echo of 500": faults.Echo(http.StatusInternalServerError, true),
	"an echo with 200":    faults.Echo(http.StatusOK, true),
}

// collected is all that anybody may come to see.
type collected struct {
	mu      sync.Mutex
	texts   []string
	secrets map[string]bool
}

func (c *collected) add(texts ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.texts = append(c.texts, texts...)
}

// listen learns the tokens that pass.
func (c *collected) listen(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	response, err := next.RoundTrip(request)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.secrets[request.Header.Get("X-Auth-Token")] = true
	if err == nil {
		c.secrets[response.Header.Get("X-Subject-Token")] = true
	}
	return response, err
}

func (c *collected) context(ctx context.Context) context.Context {
	return ctrllog.IntoContext(ctx, funcr.New(func(_, args string) { c.add(args) }, funcr.Options{Verbosity: 10}))
}

// check searches all for secrets, and for the beginnings of them.
func (c *collected) check(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.secrets, "")
	if len(c.secrets) < 3 || len(c.texts) < 10 {
		t.Fatalf("there are %d secrets and %d texts", len(c.secrets), len(c.texts))
	}
	for _, text := range c.texts {
		for secret := range c.secrets {
			if strings.Contains(text, secret[:min(len(secret), 20)]) {
				t.Fatalf("a secret is in %q", text)
			}
		}
		if strings.Contains(text, "Auth-Token") && !strings.Contains(text, hidden) {
			t.Errorf("a header is in %q", text)
		}
	}
	t.Logf("%d secrets are in none of %d texts", len(c.secrets), len(c.texts))
}

// passwords are those of clouds.yaml, by cloud.
func passwords(t *testing.T) map[string]string {
	t.Helper()
	var file struct {
		Clouds map[string]struct{ Auth map[string]string }
	}
	if err := yaml.Unmarshal(cloudsYAML(t), &file); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for name, cloud := range file.Clouds {
		all[name] = cmp.Or(cloud.Auth["password"], cloud.Auth["application_credential_secret"])
		if all[name] == "" {
			t.Fatalf("cloud %s has no secret", name)
		}
	}
	return all
}

func newCollected(t *testing.T) *collected {
	t.Helper()
	c := &collected{secrets: map[string]bool{}}
	for _, secret := range passwords(t) {
		c.secrets[secret] = true
	}
	return c
}

func TestNothingSecretIsSaid(t *testing.T) {
	c := newCollected(t)
	all := newBackend(t, nil)
	for _, cloud := range []string{servers.Member, servers.ApplicationCredential} {
		now := clocktesting.NewFakeClock(noon)
		fresh := func() *backend {
			b := all.restarted(func(o *Options) { o.Clock = now })
			b.calls.Add(faults.Rule{}, c.listen)
			return b
		}
		b := fresh()
		some := maps.Clone(everyFault)
		for _, code := range []int{400, 401, 409, 500} {
			// In a sentence. A password is no word that is too long to be shown at all.
			some[fmt.Sprintf("a sentence with the secret and %d", code)] = faults.Failure(code, "X", "the password "+passwords(t)[cloud]+" is not right")
			some[fmt.Sprintf("only the secret and %d", code)] = faults.Answer(code, passwords(t)[cloud])
		}
		for name, fault := range some {
			// With a token that Keystone gave, and without one.
			end := b.calls.Add(faults.Rule{Path: "/v2.0/"}, fault)
			c.provoke(t, b, cloud, now, name)
			end()
			unknown := fresh()
			unknown.calls.Add(faults.Rule{Path: "/auth/tokens"}, fault)
			c.provoke(t, unknown, cloud, now, name+" of Keystone")
		}
	}
	c.check(t)
}

// provoke makes calls of every kind, and keeps what their errors say.
func (c *collected) provoke(t *testing.T, b *backend, cloud string, now *clocktesting.FakeClock, name string) {
	t.Helper()
	ctx, spec, id := c.context(t.Context()), class(), b.new(t)
	spec.Neutron.Cloud = cloud
	for _, call := range []func() error{
		func() error {
			_, err := b.Ensure(ctx, id, spec, planOf(t, seed))
			return err
		},
		func() error {
			id.New = false
			_, err := b.Ensure(ctx, id, spec, planOf(t, seed))
			return err
		},
		func() error { return b.Delete(ctx, id, spec) },
	} {
		now.Step(time.Hour) // Whatever gate was shut, one may try.
		err := call()
		if err == nil {
			continue
		}
		failure := providers.AsError(err)
		c.add(err.Error(), failure.Message, fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", failure.Cause))
		if len(failure.Message) > 512 || strings.ContainsAny(failure.Message, "\n{") || strings.Contains(failure.Message, "<html") {
			t.Errorf("%s: it says %q", name, failure.Message)
		}
	}
}

// TestNothingSecretIsLogged: of the sweep, whose failures nobody but the log tells.
func TestNothingSecretIsLogged(t *testing.T) {
	c := newCollected(t)
	b := newBackend(t, nil)
	network := &samplecrdv1.NetworkClass{ObjectMeta: metav1.ObjectMeta{Name: "real"}, Spec: *class()}
	if err := b.kube.Create(t.Context(), network); err != nil {
		t.Fatal(err)
	}
	for name, fault := range everyFault {
		b := b.restarted(nil)
		b.calls.Add(faults.Rule{}, c.listen)
		b.calls.Add(faults.Rule{Path: "/v2.0/"}, fault)
		lines := &collected{}
		ctx, cancel := context.WithTimeout(lines.context(t.Context()), time.Minute)
		ended := make(chan error, 1)
		go func() { ended <- b.Start(ctx) }()
		for lines.count() == 0 && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		if ctx.Err() != nil {
			t.Errorf("%s: nothing is logged", name)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("%s: Start ends with %v", name, err)
		}
		c.add(lines.texts...)
	}
	c.check(t)
}

func (c *collected) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.texts)
}
