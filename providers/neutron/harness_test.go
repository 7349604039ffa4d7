package neutron

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/samplecrd/samplecrd/addressing"
	"github.com/samplecrd/samplecrd/apis"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/test/faults"
	servers "github.com/samplecrd/samplecrd/test/openstack"
)

// The names of what the manager finds in its own namespace.
const system, secretName = "samplecrd-system", "cloud"

// TestMain has what is logged without a logger in the context go nowhere.
func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	m.Run()
}

// backend is a provider on the real Neutron, and a way to look behind it.
type backend struct {
	*Provider
	// kube is what the provider reads of Kubernetes.
	kube client.Client
	// eye is a member of the same project.
	eye *gophercloud.ServiceClient
	// namespace is the test's own; all its networks are named after it.
	namespace string
	// calls disturbs the provider's requests, and has a log of them.
	calls  *faults.Transport
	serial *atomic.Int32
}

// writes counts the provider's writes to Neutron, reads its reads, tokens its calls of
// Keystone.
func (b *backend) writes() int {
	return b.count(func(c faults.Call) bool { return onNeutron(c) && c.Method != http.MethodGet })
}

func (b *backend) reads() int {
	return b.count(func(c faults.Call) bool { return onNeutron(c) && c.Method == http.MethodGet })
}

func (b *backend) tokens() int {
	return b.count(func(c faults.Call) bool { return !onNeutron(c) && c.Method == http.MethodPost })
}

func (b *backend) count(what func(faults.Call) bool) int {
	n := 0
	for _, call := range b.calls.Calls() {
		if what(call) {
			n++
		}
	}
	return n
}

func onNeutron(c faults.Call) bool { return strings.HasPrefix(c.Path, "/v2.0/") }

// cloudsYAML skips the test where there is no Neutron.
func cloudsYAML(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(servers.Need(t))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// dial gives a client of that cloud in clouds.yaml.
func dial(t testing.TB, cloud string) *gophercloud.ServiceClient {
	t.Helper()
	c, err := servers.Client(t.Context(), cloudsYAML(t), cloud)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newBackend gives a provider with the credentials of a cloud in clouds.yaml.
func newBackend(t testing.TB, options func(*Options)) *backend {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apis.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	b := &backend{serial: &atomic.Int32{}, namespace: "test-" + string(uuid.NewUUID())[:8]}
	b.eye = dial(t, servers.Member)
	b.kube = fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: uuid.NewUUID()}},
		secret(t),
	).Build()
	b = b.restarted(options)
	t.Cleanup(b.cleanUp(t))
	return b
}

// restarted gives another process's provider, which knows nothing of the first one's.
func (b *backend) restarted(options func(*Options)) *backend {
	anew := *b
	anew.calls = faults.New(http.DefaultTransport)
	o := Options{
		Live: b.kube, Cached: b.kube, Namespace: system, Transport: anew.calls.Over,
		// Nothing was made before this process.
		Settle: time.Nanosecond,
	}
	if options != nil {
		options(&o)
	}
	anew.Provider = New(o)
	return &anew
}

// token is the one that the provider has.
func (b *backend) token() string { return b.account(class().Neutron).session.Token() }

func secret(t testing.TB) *corev1.Secret {
	t.Helper()
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: secretName},
		Data:       map[string][]byte{keyClouds: cloudsYAML(t)},
	}
}

// named gives the networks that are named after the test.
func (b *backend) named(ctx context.Context) ([]network, error) {
	all, err := list[network](ctx, &session{ServiceClient: b.eye}, "networks", "limit", "1000", networkFields)
	return slices.DeleteFunc(all, func(n network) bool { return !strings.HasPrefix(n.Name, b.namespace) }), err
}

// cleanUp removes them.
func (b *backend) cleanUp(t testing.TB) func() {
	return func() {
		ctx, s := context.Background(), &session{ServiceClient: b.eye}
		all, err := b.named(ctx)
		if err != nil {
			t.Error(err)
		}
		for _, n := range all {
			err := networks.Delete(ctx, b.eye, n.ID).ExtractErr()
			if err == nil {
				continue
			}
			held, err := s.portsOf(ctx, n.ID)
			if err != nil {
				t.Error(err)
			}
			for _, p := range held {
				if err := ports.Delete(ctx, b.eye, p.ID).ExtractErr(); err != nil {
					t.Error(err)
				}
			}
			if err := networks.Delete(ctx, b.eye, n.ID).ExtractErr(); err != nil {
				t.Error(err)
			}
		}
	}
}

func class() *samplecrdv1.NetworkClassSpec {
	return &samplecrdv1.NetworkClassSpec{
		Provider: samplecrdv1.ProviderNeutron,
		Neutron:  &samplecrdv1.NeutronSpec{CredentialsSecretName: secretName, Cloud: servers.Member},
	}
}

func (b *backend) identity(testing.TB) providers.Identity {
	return providers.Identity{
		UID:            uuid.NewUUID(),
		NamespacedName: types.NamespacedName{Namespace: b.namespace, Name: fmt.Sprintf("network-%d", b.serial.Add(1))},
	}
}

// planOf is what a Network that says spec asks for.
func planOf(t testing.TB, spec samplecrdv1.NetworkSpec) addressing.Plan {
	t.Helper()
	plan, errs := addressing.Parse(&spec, field.NewPath("spec"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return plan
}

// networks gives those of a description; with one that is empty, those of id's name
// without any.
func (b *backend) networks(t *testing.T, id providers.Identity, description string) []held {
	t.Helper()
	s := &session{ServiceClient: b.eye}
	found, err := s.networksBy(t.Context(), "name", nameOf(id))
	if err != nil {
		t.Fatal(err)
	}
	var all []held
	for _, n := range found {
		if n.Description != description {
			continue
		}
		on, err := s.subnetsOn(t.Context(), n.ID)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, held{network: n, subnets: on})
	}
	return all
}

// ours gives what bears the mark of id.
func (b *backend) ours(t *testing.T, id providers.Identity) []held {
	t.Helper()
	cluster, err := b.clusterUID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b.networks(t, id, mark(cluster, id.UID))
}

// sees has the provider look at the project.
func (b *backend) sees(t *testing.T) {
	t.Helper()
	spec := class().Neutron
	err := b.in(t.Context(), sweeper, spec, func(s *session) error { return b.sweep(t.Context(), s, scopeOf(spec)) })
	if err != nil {
		t.Fatal(err)
	}
}
