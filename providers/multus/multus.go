// Package multus makes a Network a NetworkAttachmentDefinition that Multus and a
// CNI plugin turn into interfaces of Pods.
package multus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

const (
	labelManagedBy = "app.kubernetes.io/managed-by"
	managedBy      = "samplecrd-controller"
)

// Kind is the NetworkAttachmentDefinition. It is used unstructured: its CRD
// belongs to Multus and may be missing.
var Kind = schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"}

// +kubebuilder:rbac:groups=k8s.cni.cncf.io,resources=network-attachment-definitions,verbs=get;list;watch;create;update;delete

// Provider keeps one NetworkAttachmentDefinition per Network, of the same name in
// the same namespace. What marks it as ours is the owner reference with the
// Network's UID; one without is never touched.
type Provider struct {
	// client reads from the cache, live from the API server.
	client client.Client
	live   client.Reader
	cache  cache.Cache
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
		NoDHCP: true, OneIPv4Gateway: true, GatewaysAllOrNone: true,
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
	observed, err := p.ensure(ctx, p.client, id, text)
	if maybeStale(err) {
		observed, err = p.ensure(ctx, p.live, id, text)
		observed.Unconfirmed = true
	}
	observed.Unconfirmed = observed.Unconfirmed || observed.Changed
	return observed, fromAPI(err)
}

// maybeStale says that a cache which lags behind may be all that is wrong: it can
// show an object that is gone or lack one that is there, even our own.
func maybeStale(err error) bool {
	conflict, placed := errors.AsType[*providers.Error](err)
	return apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) ||
		(placed && conflict.Reason == samplecrdv1.NetworkReasonConflict)
}

// ensure writes on top of what reader shows.
func (p *Provider) ensure(ctx context.Context, reader client.Reader, id providers.Identity, text string) (providers.Observed, error) {
	observed := providers.Observed{ID: id.Name}
	nad := newNAD(id.Namespace, id.Name)
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
		observed.Changed = true
		return observed, nil
	case err != nil:
		return providers.Observed{}, err
	case !isOurs(nad, id):
		return providers.Observed{}, foreign(id)
	case nad.GetDeletionTimestamp() != nil:
		return observed, providers.Deleting("The NetworkAttachmentDefinition was deleted by hand; it is made anew when it is gone")
	}

	want := nad.DeepCopy()
	mark(want, id)
	setConfig(want, text)
	if equality.Semantic.DeepEqual(nad.Object, want.Object) {
		return observed, nil
	}
	// The resource version goes along, so that nothing is written over an edit
	// that has not been looked at.
	if err := p.client.Update(ctx, want, client.FieldOwner(FieldOwner)); err != nil {
		return observed, err
	}
	observed.Changed = true
	return observed, nil
}

// Delete removes the NetworkAttachmentDefinition, if it is ours. It asks the API
// server itself: a cache that lags behind would let the Network go too early.
func (p *Provider) Delete(ctx context.Context, id providers.Identity) error {
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
func (p *Provider) Release(ctx context.Context, id providers.Identity) error {
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

func newNAD(namespace, name string) *unstructured.Unstructured {
	nad := &unstructured.Unstructured{}
	nad.SetGroupVersionKind(Kind)
	nad.SetNamespace(namespace)
	nad.SetName(name)
	return nad
}

// mark makes nad ours, keeping the owners and labels that others gave it.
func mark(nad *unstructured.Unstructured, id providers.Identity) {
	owner := metav1.OwnerReference{
		APIVersion: samplecrdv1.SchemeGroupVersion.String(), Kind: "Network",
		Name: id.Name, UID: id.UID, Controller: new(true), BlockOwnerDeletion: new(true),
	}
	owners := nad.GetOwnerReferences()
	replaced := false
	for i := range owners {
		if owners[i].UID == id.UID {
			owners[i], replaced = owner, true
		}
	}
	if !replaced {
		owners = append(owners, owner)
	}
	nad.SetOwnerReferences(owners)
	labels := nad.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[labelManagedBy] = managedBy
	nad.SetLabels(labels)
}

func setConfig(nad *unstructured.Unstructured, text string) {
	nad.Object["spec"] = map[string]any{"config": text}
}

func isOurs(nad *unstructured.Unstructured, id providers.Identity) bool {
	for _, owner := range nad.GetOwnerReferences() {
		if owner.UID == id.UID {
			return true
		}
	}
	return false
}

func foreign(id providers.Identity) error {
	return providers.Conflict("NetworkAttachmentDefinition %q exists without this Network's owner reference; delete it to have it made anew", id.Name)
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
