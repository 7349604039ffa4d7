// Package multus makes a Network a NetworkAttachmentDefinition that Multus and a
// CNI plugin turn into interfaces of Pods.
package multus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// FieldOwner is the field manager of every write to a NetworkAttachmentDefinition.
const FieldOwner = "network"

// +kubebuilder:rbac:groups=k8s.cni.cncf.io,resources=network-attachment-definitions,verbs=get;list;watch;create;update;delete

// Provider keeps one NetworkAttachmentDefinition per Network, of the same name in
// the same namespace. What marks it as ours is the owner reference with the
// Network's UID; one without is never touched.
type Provider struct {
	// client reads from the cache, live from the API server.
	client client.Client
	live   client.Reader
	cache  cache.Cache
	// seen has, by the Network's UID, the last resource version that was written or
	// read live: a cache that is behind it would have us take an old configuration
	// for the present one.
	seen sync.Map
}

var (
	_ providers.Provider = &Provider{}
	_ providers.Watcher  = &Provider{}
)

// New gives a provider that writes with c, reads what it watches from informers
// and, where certainty is needed, from live.
func New(c client.Client, live client.Reader, informers cache.Cache) *Provider {
	return &Provider{client: c, live: live, cache: informers}
}

// Limits are those of host-local, which allocates from no prefix longer than /30
// or /126 and serves no DHCP, and of the plugin bridge, which keeps one IPv4
// address on a bridge and, where it keeps any, one for every subnet. DNS servers
// are told to whoever looks: they stand in the CNI result and so in the Pod's
// annotation k8s.v1.cni.cncf.io/network-status; nobody writes them into a Pod's
// resolv.conf.
func (p *Provider) Limits(*samplecrdv1.NetworkClassSpec) addressing.Limits {
	return addressing.Limits{
		Backend: "Multus with host-local", LongestIPv4: 30, LongestIPv6: 126,
		NoDHCP: true, OneIPv4Gateway: true, GatewaysAllOrNone: true, NoImport: true,
	}
}

// Source watches NetworkAttachmentDefinitions once their kind is served.
func (p *Provider) Source() (source.Source, error) {
	if _, err := p.client.RESTMapper().RESTMapping(Kind.GroupKind(), Kind.Version); err != nil {
		return nil, fromAPI(err)
	}
	// A NetworkAttachmentDefinition has the name of its Network, so that one which
	// is not ours and stands in the way leads to the right Network as well.
	return source.Kind(p.cache, newNAD("", ""), &handler.TypedEnqueueRequestForObject[*unstructured.Unstructured]{}), nil
}

// Ensure makes the NetworkAttachmentDefinition say what plan says, at once: Pods
// that run keep their addresses until they restart.
func (p *Provider) Ensure(ctx context.Context, id providers.Identity, class *samplecrdv1.NetworkClassSpec, plan addressing.Plan) (providers.Observed, error) {
	text, err := config(id.UID, class.Multus, plan)
	if err != nil {
		return providers.Observed{}, providers.Rejected(err)
	}
	observed, err := p.ensure(ctx, cached, id, text)
	if maybeStale(err) {
		observed, err = p.ensure(ctx, live, id, text)
		observed.Unconfirmed = true
	}
	observed.Unconfirmed = observed.Unconfirmed || observed.Changed
	return observed, fromAPI(err)
}

// view is where a pass looks.
type view bool

const cached, live view = false, true

// errBehind is a cache that does not show what we have seen.
var errBehind = errors.New("the cache is behind")

// behind says that nad is older than what was seen of the Network's.
func (p *Provider) behind(id providers.Identity, nad *unstructured.Unstructured) bool {
	version, known := p.seen.Load(id.UID)
	if !known {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(nad.GetResourceVersion(), version.(string))
	return err == nil && order < 0
}

// maybeStale says that a cache which lags behind may be all that is wrong: it can
// show an object that is gone or lack one that is there, even our own.
func maybeStale(err error) bool {
	conflict, placed := errors.AsType[*providers.Error](err)
	return errors.Is(err, errBehind) || apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) ||
		(placed && conflict.Reason == samplecrdv1.NetworkReasonConflict)
}

// ensure writes on top of what it sees.
func (p *Provider) ensure(ctx context.Context, look view, id providers.Identity, text string) (providers.Observed, error) {
	observed := providers.Observed{ID: id.Name}
	nad := newNAD(id.Namespace, id.Name)
	reader := client.Reader(p.client)
	if look == live {
		reader = p.live
	}
	err := reader.Get(ctx, id.NamespacedName, nad)
	switch {
	case apierrors.IsNotFound(err):
		// Create, not apply: on a foreign one that has appeared meanwhile an apply
		// would succeed, and make it ours.
		mark(nad, id)
		setConfig(nad, text)
		if err := p.client.Create(ctx, nad, client.FieldOwner(FieldOwner)); err != nil {
			return providers.Observed{}, err
		}
		p.seen.Store(id.UID, nad.GetResourceVersion())
		observed.Changed = true
		return observed, nil
	case err != nil:
		return providers.Observed{}, err
	case look == cached && p.behind(id, nad):
		return observed, errBehind
	case !isOurs(nad, id):
		return providers.Observed{}, foreign(id)
	case nad.GetDeletionTimestamp() != nil:
		return observed, providers.Deleting("The NetworkAttachmentDefinition was deleted by hand; it is made anew when it is gone")
	}

	want := nad.DeepCopy()
	mark(want, id)
	setConfig(want, text)
	if equality.Semantic.DeepEqual(nad.Object, want.Object) {
		if look == live {
			p.seen.Store(id.UID, nad.GetResourceVersion())
		}
		return observed, nil
	}
	// The resource version goes along, so that nothing is written over an edit
	// that has not been looked at.
	if err := p.client.Update(ctx, want, client.FieldOwner(FieldOwner)); err != nil {
		return observed, err
	}
	p.seen.Store(id.UID, want.GetResourceVersion())
	observed.Changed = true
	return observed, nil
}

// Delete removes the NetworkAttachmentDefinition, if it is ours. It asks the API
// server itself: a cache that lags behind would let the Network go too early.
func (p *Provider) Delete(ctx context.Context, id providers.Identity, _ *samplecrdv1.NetworkClassSpec) error {
	p.seen.Delete(id.UID)
	nad, err := p.ours(ctx, id)
	if err != nil || nad == nil {
		return err
	}
	uid := nad.GetUID()
	if err := p.client.Delete(ctx, nad, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fromAPI(err)
	}
	if nad, err = p.ours(ctx, id); err != nil || nad == nil {
		return err
	}
	return providers.Deleting("The NetworkAttachmentDefinition is being deleted; a finalizer of somebody else holds it")
}

// Release drops the mark from the NetworkAttachmentDefinition, if it is ours.
func (p *Provider) Release(ctx context.Context, id providers.Identity, _ *samplecrdv1.NetworkClassSpec) error {
	p.seen.Delete(id.UID)
	nad, err := p.ours(ctx, id)
	if err != nil || nad == nil {
		return err
	}
	var others []metav1.OwnerReference
	for _, owner := range nad.GetOwnerReferences() {
		if owner.UID != id.UID {
			others = append(others, owner)
		}
	}
	nad.SetOwnerReferences(others)
	labels := nad.GetLabels()
	delete(labels, labelManagedBy)
	nad.SetLabels(labels)
	return fromAPI(client.IgnoreNotFound(p.client.Update(ctx, nad, client.FieldOwner(FieldOwner))))
}

// ours reads the Network's NetworkAttachmentDefinition from the API server; nil
// when there is none of ours. Without the kind there can be none.
func (p *Provider) ours(ctx context.Context, id providers.Identity) (*unstructured.Unstructured, error) {
	nad := newNAD(id.Namespace, id.Name)
	err := p.live.Get(ctx, id.NamespacedName, nad)
	switch {
	case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fromAPI(err)
	case !isOurs(nad, id):
		return nil, nil
	}
	return nad, nil
}

// fromAPI gives an answer of the API server its place in the contract.
func fromAPI(err error) error {
	_, placed := errors.AsType[*providers.Error](err)
	switch {
	case err == nil || placed:
		return err
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return providers.Unavailable(fmt.Errorf("kind NetworkAttachmentDefinition is not served; install Multus: %w", err))
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		// Nothing can be created there any more; the Network itself goes next.
		unavailable := providers.Unavailable(err)
		unavailable.Retry = providers.RetrySlowly
		return unavailable
	case apierrors.IsForbidden(err) && isQuota(err):
		return providers.QuotaExceeded(err)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return providers.Rejected(err)
	}
	return providers.Unavailable(err)
}

// isQuota recognises the refusal of a ResourceQuota, which the API server marks by
// its text alone.
func isQuota(err error) bool {
	return strings.Contains(err.Error(), "exceeded quota")
}
