package multus_test

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/providers/multus"
	"github.com/samplecrd/samplecrd/providers/providertest"
	"github.com/samplecrd/samplecrd/test/env"
)

// patience is how long a test waits for what must come; generous, for a loaded
// machine.
const patience = time.Minute

// control is the control plane of all tests of this package.
var control *env.Env

func TestMain(m *testing.M) {
	var err error
	if control, err = env.Start(env.Options{}); err != nil {
		panic(err)
	}
	defer func() {
		if err := control.Stop(); err != nil {
			panic(err)
		}
	}()
	m.Run()
}

// backend is a provider with a cache of its own, as a manager has it.
type backend struct {
	*multus.Provider
	cached client.Client
	writes atomic.Int64
	// namespace is the test's own.
	namespace string
}

func newBackend(t *testing.T) *backend {
	t.Helper()
	informers, err := cache.New(control.Config, cache.Options{Scheme: control.Scheme, DefaultTransform: cache.TransformStripManagedFields()})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- informers.Start(t.Context()) }()
	t.Cleanup(func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	c, err := client.NewWithWatch(control.Config, client.Options{Scheme: control.Scheme, Cache: &client.CacheOptions{Reader: informers, Unstructured: true}})
	if err != nil {
		t.Fatal(err)
	}
	b := &backend{cached: c, namespace: newNamespace(t)}
	b.Provider = multus.New(b.counting(c), control.Client, informers)
	return b
}

// counting counts what changes the API server.
func (b *backend) counting(c client.WithWatch) client.Client {
	count := func(err error) error {
		if err == nil {
			b.writes.Add(1)
		}
		return err
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.CreateOption) error {
			return count(c.Create(ctx, object, opts...))
		},
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.UpdateOption) error {
			return count(c.Update(ctx, object, opts...))
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return count(c.Patch(ctx, object, patch, opts...))
		},
		Delete: func(ctx context.Context, c client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			return count(c.Delete(ctx, object, opts...))
		},
	})
}

func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "multus-"}}
	if err := control.Client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

func (b *backend) identity(*testing.T) providers.Identity {
	uid := uuid.NewUUID()
	return providers.Identity{UID: uid, NamespacedName: types.NamespacedName{Namespace: b.namespace, Name: "network-" + string(uid[:8])}}
}

// class is what make run installs.
func class() *samplecrdv1.NetworkClassSpec {
	return &samplecrdv1.NetworkClassSpec{
		Provider: samplecrdv1.ProviderMultus,
		Multus:   &samplecrdv1.MultusSpec{Type: samplecrdv1.MultusBridge, IPAM: samplecrdv1.IPAMHostLocal},
	}
}

func newNAD(id providers.Identity) *unstructured.Unstructured {
	nad := &unstructured.Unstructured{}
	nad.SetGroupVersionKind(multus.Kind)
	nad.SetNamespace(id.Namespace)
	nad.SetName(id.Name)
	return nad
}

// get reads the NetworkAttachmentDefinition of id's name; nil when there is none.
func get(t *testing.T, id providers.Identity) *unstructured.Unstructured {
	t.Helper()
	nad := newNAD(id)
	err := control.Client.Get(t.Context(), id.NamespacedName, nad)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return nad
}

// change edits it as somebody with kubectl would, and waits until the provider's
// cache shows it.
func (b *backend) change(t *testing.T, id providers.Identity, edit func(*unstructured.Unstructured)) {
	t.Helper()
	nad := get(t, id)
	if nad == nil {
		t.Fatalf("there is no %s", id)
	}
	edit(nad)
	if err := control.Client.Update(t.Context(), nad); err != nil {
		t.Fatal(err)
	}
	b.await(t, id, func(seen *unstructured.Unstructured) bool {
		return seen != nil && seen.GetResourceVersion() == nad.GetResourceVersion()
	})
}

func (b *backend) remove(t *testing.T, id providers.Identity) {
	t.Helper()
	if err := control.Client.Delete(t.Context(), newNAD(id)); err != nil {
		t.Fatal(err)
	}
	b.await(t, id, func(seen *unstructured.Unstructured) bool { return seen == nil })
}

// await waits until the cache shows what done wants.
func (b *backend) await(t *testing.T, id providers.Identity, done func(*unstructured.Unstructured) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		nad := newNAD(id)
		err := b.cached.Get(ctx, id.NamespacedName, nad)
		if apierrors.IsNotFound(err) {
			nad, err = nil, nil
		}
		return err == nil && done(nad), err
	})
	if err != nil {
		t.Fatalf("the cache does not show %s as it is: %v", id, err)
	}
}

// held gives the objects of the namespace that carry the mark of id; with no UID,
// those of its name that carry none.
func (b *backend) held(t *testing.T, id providers.Identity) []providertest.Held {
	t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(multus.Kind)
	if err := control.Client.List(t.Context(), list, client.InNamespace(b.namespace)); err != nil {
		t.Fatal(err)
	}
	var all []providertest.Held
	for i := range list.Items {
		nad := &list.Items[i]
		owners := nad.GetOwnerReferences()
		marked := slices.ContainsFunc(owners, func(owner metav1.OwnerReference) bool { return owner.UID == id.UID })
		unmarked := id.UID == "" && nad.GetName() == id.Name && len(owners) == 0
		if !marked && !unmarked {
			continue
		}
		one, err := read(nad)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

const foreignConfig = `{"cniVersion":"1.0.0","name":"theirs","type":"bridge","ipam":{"type":"host-local","ranges":[[{"subnet":"198.51.100.0/24"}]]}}`

// theirs is somebody else's object of id's name, with all that we would write.
func theirs(id providers.Identity) *unstructured.Unstructured {
	nad := newNAD(id)
	nad.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "helm"})
	nad.Object["spec"] = map[string]any{"config": foreignConfig}
	return nad
}

func (b *backend) harness() providertest.Harness {
	return providertest.Harness{
		Provider:    b,
		Class:       class(),
		NewIdentity: b.identity,
		Held:        b.held,
		LeftBehind: func(t *testing.T, id providers.Identity) []providertest.Held {
			return b.held(t, providers.Identity{NamespacedName: id.NamespacedName})
		},
		SetForeign: func(t *testing.T, id providers.Identity, there bool) {
			if !there {
				b.remove(t, id)
				return
			}
			if err := control.Client.Create(t.Context(), theirs(id)); err != nil {
				t.Fatal(err)
			}
		},
		ForeignIntact: func(t *testing.T, id providers.Identity) bool {
			nad, want := get(t, id), theirs(id)
			return nad != nil && nad.GetGeneration() == 1 && nad.GetDeletionTimestamp() == nil && len(nad.GetOwnerReferences()) == 0 &&
				reflect.DeepEqual(nad.GetLabels(), want.GetLabels()) && reflect.DeepEqual(nad.Object["spec"], want.Object["spec"])
		},
		Tamper: func(t *testing.T, id providers.Identity) {
			b.change(t, id, func(nad *unstructured.Unstructured) {
				text := nad.Object["spec"].(map[string]any)["config"].(string)
				nad.Object["spec"] = map[string]any{"config": strings.ReplaceAll(text, "10.0.0.", "203.0.113.")}
			})
		},
		Remove: b.remove,
		Writes: func() int { return int(b.writes.Load()) },
	}
}
