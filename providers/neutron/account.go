package neutron

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

const (
	// callTimeout bounds one call, its answer read.
	callTimeout = 30 * time.Second
	// maxAnswer bounds an answer, in bytes.
	maxAnswer = 32 << 20
	// atOnce is how many Networks of one cloud are worked on at once; less than a
	// controller has workers.
	atOnce = 8
)

// accountKey tells credentials apart: a Secret, and a cloud in its clouds.yaml.
type accountKey struct{ secret, cloud string }

// account is a set of credentials: one client and one token for all who use them.
type account struct {
	provider *Provider
	accountKey
	// door is shut while the credentials are missing or not taken.
	door *gate

	// gate is that of the cloud which the credentials were for when they were last
	// looked at; nil before.
	gate atomic.Pointer[gate]

	mu sync.Mutex
	// looked is when the Secret was last read.
	looked time.Time
	// version is that of the Secret which session was made from.
	version string
	session *session
	opening *opening
}

// session is a client with a token.
type session struct {
	*gophercloud.ServiceClient
	// project is the one of the token.
	project string
	// credentials are what the token was got with.
	credentials credentials
}

// projectOf is the project of the networks of a class that names one, or names none.
func (s *session) projectOf(named string) string { return cmp.Or(named, s.project) }

// in makes call with a session of the class's credentials, past the gates.
func (p *Provider) in(ctx context.Context, name types.NamespacedName, spec *samplecrdv1.NeutronSpec, call func(*session) error) error {
	a := p.account(spec)
	if err := a.gate.Load().bars(name); err != nil && !a.due() {
		return err
	}
	if err := a.door.enter(name); err != nil {
		return err
	}
	var failure *providers.Error
	defer func() { a.door.leave(ofCredentials(failure), true) }()
	failure = a.through(ctx, name, call)
	if failure == nil {
		return nil
	}
	return failure
}

// due says that the Secret has not been read for a while: it may name another cloud by
// now, which is not the one that bars.
func (a *account) due() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.provider.clock.Since(a.looked) >= probing
}

// ofCredentials gives a failure that all who use the same credentials would meet; nil
// for another one.
func ofCredentials(failure *providers.Error) *providers.Error {
	if failure != nil && failure.Reason == samplecrdv1.NetworkReasonCredentialsMissing && failure.Retry == providers.RetrySoon {
		return failure
	}
	return nil
}

// ofCloud gives a failure that is the cloud's own; nil for another one.
func ofCloud(failure *providers.Error) *providers.Error {
	if failure != nil && failure.Reason == samplecrdv1.NetworkReasonBackendUnavailable {
		return failure
	}
	return nil
}

// through passes the cloud's gate.
func (a *account) through(ctx context.Context, name types.NamespacedName, call func(*session) error) (failure *providers.Error) {
	secret, err := a.read(ctx)
	if err != nil {
		return providers.AsError(err)
	}
	parsed, err := a.parse(secret)
	if err != nil {
		return a.missing("Secret %q: %v", a.secret, err)
	}
	gate := a.provider.cloud(parsed)
	a.gate.Store(gate)
	if err := gate.enter(name); err != nil {
		return providers.AsError(err)
	}
	defer func() {
		down := ofCloud(failure)
		// One that says how long to wait means everybody.
		gate.leave(down, down != nil && down.After > 0)
	}()
	hide := parsed.hide
	s, err := a.open(ctx, secret.ResourceVersion, parsed)
	if err == nil {
		hide = s.hide
		err = call(s)
	}
	return translate(err, hide)
}

// missing says that the credentials are not there, or cannot be used.
func (a *account) missing(format string, args ...any) *providers.Error {
	return providers.CredentialsMissing(wait.Jitter(probing, jitter), "Credentials missing: "+format, args...)
}

// read gives the Secret as it is now: who takes it away takes away the right to act.
func (a *account) read(ctx context.Context) (*corev1.Secret, error) {
	if a.provider.namespace == "" {
		return nil, a.missing("it is not known which namespace is the manager's own; see --leader-election-namespace")
	}
	a.mu.Lock()
	a.looked = a.provider.clock.Now()
	a.mu.Unlock()
	var secret corev1.Secret
	err := a.provider.live.Get(ctx, client.ObjectKey{Namespace: a.provider.namespace, Name: a.secret}, &secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, a.missing("there is no Secret %q in namespace %s, the manager's", a.secret, a.provider.namespace)
	case apierrors.IsForbidden(err):
		return nil, a.missing("the manager may not read Secret %q in its namespace %s; deploy it with config/components/neutron", a.secret, a.provider.namespace)
	case err != nil:
		return nil, fmt.Errorf("reading Secret %q: %w", a.secret, err)
	}
	return &secret, nil
}

// hide takes out of a text what nobody is to see.
func (s *session) hide(text string) string { return hide(s.credentials.hide(text), s.Token()) }

// opening is a session in the making, for all who wait for it.
type opening struct {
	version string
	done    chan struct{}
	session *session
	err     error
}

// open gives the session of a Secret's version, made once for all if it is not there.
func (a *account) open(ctx context.Context, version string, c credentials) (*session, error) {
	a.mu.Lock()
	if a.session != nil && a.version == version {
		defer a.mu.Unlock()
		return a.session, nil
	}
	o := a.opening
	if o != nil && o.version == version {
		a.mu.Unlock()
		select {
		case <-o.done:
			return o.session, o.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	o = &opening{version: version, done: make(chan struct{})}
	a.opening = o
	a.mu.Unlock()

	o.session, o.err = a.authenticate(ctx, c)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.opening == o {
		a.opening, a.session, a.version = nil, o.session, version
	}
	close(o.done)
	return o.session, o.err
}

// authenticate gets a token, and from the catalog where Neutron is.
func (a *account) authenticate(ctx context.Context, c credentials) (*session, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig, transport.MaxIdleConnsPerHost = c.tls, atOnce
	authenticated, err := config.NewProviderClient(ctx, c.auth, config.WithHTTPClient(http.Client{
		Transport: a.provider.transport(transport),
		Timeout:   callTimeout,
		// A token goes where the catalog says, and nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}))
	if isOfCredentials(err) {
		if response := answer(err); response != nil {
			return nil, refused(response, c.hide)
		}
		return nil, a.missing("cloud %q: %s", a.cloud, plain(err, c.hide))
	}
	if err != nil {
		return nil, err
	}
	authenticated.UserAgent.Prepend("samplecrd-controller")
	s := &session{credentials: c}
	if s.ServiceClient, err = openstack.NewNetworkV2(authenticated, c.endpoint); err != nil {
		return nil, a.missing("the cloud's catalog has no network service in region %q for the interface %q", c.endpoint.Region, c.endpoint.Availability)
	}
	if scoped, ok := authenticated.GetAuthResult().(tokens.CreateResult); ok {
		if project, err := scoped.ExtractProject(); err == nil && project != nil {
			s.project = project.ID
		}
	}
	if s.project == "" {
		return nil, a.missing("cloud %q names no project", a.cloud)
	}
	return s, nil
}

// isOfCredentials says that an authentication failed for what the credentials say: no
// request came about, or Keystone did not want it.
func isOfCredentials(err error) bool {
	if err == nil {
		return false
	}
	if response := answer(err); response != nil {
		return !passes(response.Actual)
	}
	_, asked := errors.AsType[*url.Error](err)
	return !asked && !isBroken(err)
}

// account gives the account of a class.
func (p *Provider) account(spec *samplecrdv1.NeutronSpec) *account {
	key := scopeOf(spec).accountKey
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.accounts[key]
	if a == nil {
		a = &account{provider: p, accountKey: key, door: newGate(p.clock, math.MaxInt, p.wake)}
		p.accounts[key] = a
	}
	return a
}

// cloud gives the gate of a cloud: of a Keystone, and of the Neutron that it is asked for.
func (p *Provider) cloud(c credentials) *gate {
	key := strings.Join([]string{c.auth.IdentityEndpoint, c.endpoint.Region, string(c.endpoint.Availability)}, " ")
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.clouds[key]
	if g == nil {
		g = newGate(p.clock, atOnce, p.wake)
		p.clouds[key] = g
	}
	return g
}

// limited bounds the answers of a transport.
type limited struct{ http.RoundTripper }

// RoundTrip gives an answer whose body fails past maxAnswer bytes.
func (l limited) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(request)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxAnswer)
	}
	return response, err
}
