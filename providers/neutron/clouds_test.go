package neutron

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/test/faults"
	servers "github.com/samplecrd/samplecrd/test/openstack"
)

// asks gives how many requests call causes, Keystone's among them.
func (b *backend) asks(call func()) int {
	before := len(b.calls.Calls())
	call()
	return len(b.calls.Calls()) - before
}

// ofSecret is a class with other credentials, which are stored.
func (b *backend) ofSecret(t *testing.T, name, clouds string) *samplecrdv1.NetworkClassSpec {
	t.Helper()
	stored := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: name}, Data: map[string][]byte{keyClouds: []byte(clouds)}}
	if err := b.kube.Create(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	spec := class()
	spec.Neutron.CredentialsSecretName = name
	return spec
}

// TestRestIsForAll: what a cloud says of how long to wait holds for all of its Networks,
// however few it was said to, and ends.
func TestRestIsForAll(t *testing.T) {
	now := clocktesting.NewFakeClock(noon)
	b := newBackend(t, func(o *Options) { o.Clock = now })
	b.ensures(t, b.new(t), planOf(t, seed))
	b.calls.Add(faults.Rule{Path: "/v2.0/", Times: 1}, faults.TooMany("60"))
	try := func() error {
		_, err := b.Ensure(t.Context(), b.new(t), class(), planOf(t, seed))
		return err
	}
	if failure := checkFails(t, try(), samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon, "HTTP 429"); failure.After != time.Minute {
		t.Errorf("who was told waits %v", failure.After)
	}
	asked := b.asks(func() {
		for range 11 {
			now.Step(5 * time.Second)
			if failure := checkFails(t, try(), samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon, "HTTP 429"); failure.After <= 0 {
				t.Error("who was not let in is not told when to come again")
			}
		}
	})
	if asked > 0 {
		t.Errorf("the cloud was asked %d times in the minute that it wished for", asked)
	}
	now.Step(5 * time.Second)
	if err := try(); err != nil {
		t.Errorf("a minute has gone by: %v", err)
	}
}

// TestOneGateForOneCloud: two sets of credentials for one cloud ask it as seldom as one
// does while it is down.
func TestOneGateForOneCloud(t *testing.T) {
	now := clocktesting.NewFakeClock(noon)
	b := newBackend(t, func(o *Options) { o.Clock = now })
	end := b.calls.Add(faults.Rule{}, faults.Refused())
	classes := []*samplecrdv1.NetworkClassSpec{class(), class()}
	classes[1].Neutron.Cloud = servers.ApplicationCredential
	try := func(i int) error {
		_, err := b.Ensure(t.Context(), b.new(t), classes[i%2], planOf(t, seed))
		return err
	}
	for i := range 2 * tolerated {
		_ = try(i)
	}
	asked := b.asks(func() {
		for range 100 {
			now.Step(time.Second)
			for i := range 2 {
				checkFails(t, try(i), samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon, "connection refused")
			}
		}
	})
	if asked < 9 || asked > 10 {
		t.Errorf("it was asked %d times in 100 seconds", asked)
	}
	end()
	now.Step(probing)
	for i := range 2 {
		if err := try(i); err != nil {
			t.Errorf("it is back: %v", err)
		}
	}
}

// TestBadCredentialsAreNotTheCloudsFault: whoever cannot even ask, or is not wanted, does
// not keep those out whose credentials are good.
func TestBadCredentialsAreNotTheCloudsFault(t *testing.T) {
	now := clocktesting.NewFakeClock(noon)
	all := newBackend(t, nil)
	const auth = "auth_url: http://127.0.0.1:15000/v3, username: u, password: wr0ng"
	for name, tc := range map[string]struct {
		clouds, says string
	}{
		"no domain":         {"clouds: {openstack: {auth: {" + auth + ", project_name: p}}}", `cloud "openstack": `},
		"no password":       {"clouds: {openstack: {auth: {auth_url: http://127.0.0.1:15000/v3, username: u, user_domain_name: Default, project_name: p}}}", `cloud "openstack": `},
		"a wrong password":  {"clouds: {openstack: {auth: {" + auth + ", user_domain_name: Default, project_name: p, project_domain_name: Default}}}", "HTTP 401"},
		"no such API there": {"clouds: {openstack: {auth: {" + strings.Replace(auth, "/v3", "/elsewhere/v3", 1) + ", user_domain_name: Default, project_name: p, project_domain_name: Default}}}", "HTTP 404"},
	} {
		t.Run(name, func(t *testing.T) {
			b := all.restarted(func(o *Options) { o.Clock = now })
			bad := b.ofSecret(t, strings.ReplaceAll(name, " ", "-"), tc.clouds)
			for range 2 * tolerated {
				now.Step(2 * probing)
				_, err := b.Ensure(t.Context(), b.new(t), bad, planOf(t, seed))
				failure := checkFails(t, err, samplecrdv1.NetworkReasonCredentialsMissing, providers.RetrySoon, tc.says)
				if failure.After <= 0 || failure.After > 2*probing || strings.Contains(failure.Message, "wr0ng") {
					t.Errorf("it is %+v", failure)
				}
			}
			if _, err := b.Ensure(t.Context(), b.new(t), class(), planOf(t, seed)); err != nil {
				t.Errorf("the same cloud with good credentials: %v", err)
			}
		})
	}
}

// TestASecretThatNamesAnotherCloud is read again though the cloud that it named before
// wants nobody for a while.
func TestASecretThatNamesAnotherCloud(t *testing.T) {
	now := clocktesting.NewFakeClock(noon)
	b := newBackend(t, func(o *Options) { o.Clock = now })
	spec := b.ofSecret(t, "moving", string(cloudsYAML(t)))
	try := func() error {
		_, err := b.Ensure(t.Context(), b.new(t), spec, planOf(t, seed))
		return err
	}
	end := b.calls.Add(faults.Rule{Path: "/v2.0/", Times: 1}, faults.TooMany("600"))
	checkFails(t, try(), samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon, "HTTP 429")
	end()
	stored := &corev1.Secret{}
	if err := b.kube.Get(t.Context(), client.ObjectKey{Namespace: system, Name: "moving"}, stored); err != nil {
		t.Fatal(err)
	}
	// The same servers by another name.
	stored.Data[keyClouds] = []byte(strings.ReplaceAll(string(stored.Data[keyClouds]), "127.0.0.1:15000", "localhost:15000"))
	if err := b.kube.Update(t.Context(), stored); err != nil {
		t.Fatal(err)
	}
	checkFails(t, try(), samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon, "HTTP 429")
	now.Step(probing)
	for range 2 {
		if err := try(); err != nil {
			t.Errorf("it is another cloud: %v", err)
		}
	}
}

// TestClassesThatSayNothingOfACloud are gone, or were stored past the floor.
func TestClassesThatSayNothingOfACloud(t *testing.T) {
	p := New(Options{})
	id := providers.Identity{UID: uidA}
	for name, class := range map[string]*samplecrdv1.NetworkClassSpec{"none": nil, "one without its part": {Provider: samplecrdv1.ProviderNeutron}} {
		t.Run(name, func(t *testing.T) {
			for what, letGo := range map[string]func(context.Context, providers.Identity, *samplecrdv1.NetworkClassSpec) error{"Delete": p.Delete, "Release": p.Release} {
				recorded := id
				recorded.Recorded = "n"
				failure := checkFails(t, letGo(t.Context(), recorded, class), samplecrdv1.NetworkReasonCredentialsMissing, providers.RetrySoon, "no NetworkClass")
				if failure.After <= 0 {
					t.Errorf("%s is not repeated by itself", what)
				}
				if err := letGo(t.Context(), id, class); err != nil {
					t.Errorf("%s of what was never made: %v", what, err)
				}
			}
		})
	}
	kube := fake.NewClientBuilder().WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "cluster"}}).Build()
	_, err := New(Options{Live: kube}).Ensure(t.Context(), id, &samplecrdv1.NetworkClassSpec{Provider: samplecrdv1.ProviderNeutron}, planOf(t, seed))
	checkFails(t, err, samplecrdv1.NetworkReasonCredentialsMissing, providers.RetrySoon, "no NetworkClass")
}

// TestSecretsThatCannotBeRead say what would help.
func TestSecretsThatCannotBeRead(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	for name, tc := range map[string]struct {
		namespace string
		answer    error
		reason    string
		says      string
	}{
		"the manager's namespace is not known": {"", nil, samplecrdv1.NetworkReasonCredentialsMissing, "--leader-election-namespace"},
		"there is none":                        {system, apierrors.NewNotFound(secrets, secretName), samplecrdv1.NetworkReasonCredentialsMissing, `there is no Secret "cloud" in namespace samplecrd-system, the manager's`},
		"it is forbidden":                      {system, apierrors.NewForbidden(secrets, secretName, nil), samplecrdv1.NetworkReasonCredentialsMissing, "deploy it with config/components/neutron"},
		"the API server is away":               {system, errors.New("no route"), samplecrdv1.NetworkReasonBackendUnavailable, `reading Secret "cloud": no route`},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientBuilder().WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "cluster"}}).
				WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
					if _, secret := into.(*corev1.Secret); secret {
						return tc.answer
					}
					return c.Get(ctx, key, into, opts...)
				}}).Build()
			p := New(Options{Live: kube, Namespace: tc.namespace, Transport: func(http.RoundTripper) http.RoundTripper {
				t.Error("somebody is asked without credentials")
				return nil
			}})
			_, err := p.Ensure(t.Context(), providers.Identity{UID: uidA, New: true}, class(), planOf(t, seed))
			checkFails(t, err, tc.reason, providers.RetrySoon, tc.says)
		})
	}
}
