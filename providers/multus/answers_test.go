package multus

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

var resource = schema.GroupResource{Group: Kind.Group, Resource: "network-attachment-definitions"}

// terminating is the answer to a create in a namespace that is going away.
func terminating() error {
	err := apierrors.NewForbidden(resource, "x", errors.New("unable to create new content in namespace t because it is being terminated"))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	return err
}

func TestFromAPI(t *testing.T) {
	conflict := providers.Conflict("taken")
	for name, tc := range map[string]struct {
		err        error
		wantReason string
		wantRetry  providers.Retry
	}{
		"a kind that is not served":            {&meta.NoKindMatchError{GroupKind: Kind.GroupKind()}, samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon},
		"a namespace that is going away":       {terminating(), samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySlowly},
		"a quota that is used up":              {apierrors.NewForbidden(resource, "x", errors.New("exceeded quota: nads, requested: count/network-attachment-definitions.k8s.cni.cncf.io=1, used: 1, limited: 1")), samplecrdv1.NetworkReasonQuotaExceeded, providers.RetrySlowly},
		"a right that is missing":              {apierrors.NewForbidden(resource, "x", errors.New(`User "system:anonymous" cannot create resource`)), samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon},
		"an object that is refused":            {apierrors.NewInvalid(Kind.GroupKind(), "x", field.ErrorList{field.Invalid(field.NewPath("spec"), "", "")}), samplecrdv1.NetworkReasonRejected, providers.RetrySlowly},
		"a request that is refused":            {apierrors.NewBadRequest("admission webhook denied the request"), samplecrdv1.NetworkReasonRejected, providers.RetrySlowly},
		"a server that fails":                  {apierrors.NewInternalError(errors.New("etcd")), samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon},
		"a server that is busy":                {apierrors.NewTooManyRequests("later", 1), samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon},
		"a deadline":                           {context.DeadlineExceeded, samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon},
		"what has its place already stays put": {conflict, samplecrdv1.NetworkReasonConflict, providers.RetrySlowly},
	} {
		t.Run(name, func(t *testing.T) {
			got := providers.AsError(fromAPI(tc.err))
			if got.Reason != tc.wantReason || got.Retry != tc.wantRetry {
				t.Errorf("got %s, retry %d; want %s, retry %d", got.Reason, got.Retry, tc.wantReason, tc.wantRetry)
			}
			if !errors.Is(got, tc.err) {
				t.Error("the cause is lost")
			}
		})
	}
	t.Run("no error stays none", func(t *testing.T) {
		if err := fromAPI(nil); err != nil {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a missing kind is named, with what to do", func(t *testing.T) {
		err := providers.AsError(fromAPI(&meta.NoKindMatchError{GroupKind: Kind.GroupKind()}))
		if !strings.Contains(err.Message, "NetworkAttachmentDefinition") || !strings.Contains(err.Message, "Multus") {
			t.Errorf("got %q", err.Message)
		}
	})
}

var (
	ours  = providers.Identity{UID: uid, NamespacedName: types.NamespacedName{Namespace: "default", Name: "x"}}
	class = &samplecrdv1.NetworkClassSpec{Provider: samplecrdv1.ProviderMultus, Multus: &samplecrdv1.MultusSpec{Type: samplecrdv1.MultusBridge}}
)

// lagging is a Provider whose cache shows stale, while the API server has fresh.
func lagging(stale, fresh []client.Object) (*Provider, client.Client) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(Kind, newNAD("", ""))
	cached := fake.NewClientBuilder().WithScheme(scheme).WithObjects(stale...).Build()
	live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(fresh...).Build()
	c := interceptor.NewClient(live, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
			return cached.Get(ctx, key, object, opts...)
		},
	})
	return New(c, live, nil), live
}

// A cache that lags behind must neither fail the call nor make it say what is not
// so: what was read there is asked again of the API server.
func TestEnsureBehindALaggingCache(t *testing.T) {
	made := func(cidr, version string) client.Object {
		nad := newNAD(ours.Namespace, ours.Name)
		mark(nad, ours)
		text, err := config(uid, class.Multus, planOf(t, of(samplecrdv1.SubnetSpec{CIDR: cidr})))
		if err != nil {
			t.Fatal(err)
		}
		setConfig(nad, text)
		nad.SetResourceVersion(version)
		return nad
	}
	foreign := newNAD(ours.Namespace, ours.Name)
	foreign.SetResourceVersion("7")
	others := newNAD(ours.Namespace, ours.Name)
	mark(others, providers.Identity{UID: "another", NamespacedName: ours.NamespacedName})
	others.SetResourceVersion("3")

	for name, tc := range map[string]struct {
		stale, fresh []client.Object
		wantReason   string
		wantChanged  bool
		wantSettled  bool
	}{
		"the cache is not behind":                  {[]client.Object{made("10.0.1.0/24", "7")}, []client.Object{made("10.0.1.0/24", "7")}, "", false, true},
		"our own create is not seen yet":           {nil, []client.Object{made("10.0.1.0/24", "7")}, "", false, false},
		"our own older create is not seen yet":     {nil, []client.Object{made("10.0.0.0/24", "7")}, "", true, false},
		"our own update is not seen yet":           {[]client.Object{made("10.0.0.0/24", "3")}, []client.Object{made("10.0.1.0/24", "7")}, "", false, false},
		"somebody's update is not seen yet":        {[]client.Object{made("10.0.0.0/24", "3")}, []client.Object{made("10.0.2.0/24", "7")}, "", true, false},
		"somebody's removal is not seen yet":       {[]client.Object{made("10.0.0.0/24", "3")}, nil, "", true, false},
		"a foreign one is not seen yet":            {nil, []client.Object{foreign}, samplecrdv1.NetworkReasonConflict, false, false},
		"a foreign one for ours is not seen yet":   {[]client.Object{made("10.0.0.0/24", "3")}, []client.Object{foreign}, samplecrdv1.NetworkReasonConflict, false, false},
		"the end of an older one is not seen yet":  {[]client.Object{others}, nil, "", true, false},
		"ours in place of another is not seen yet": {[]client.Object{others}, []client.Object{made("10.0.1.0/24", "7")}, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			p, live := lagging(tc.stale, tc.fresh)
			observed, err := p.Ensure(t.Context(), ours, class, planOf(t, of(samplecrdv1.SubnetSpec{CIDR: "10.0.1.0/24"})))
			if tc.wantReason != "" {
				if err == nil || providers.AsError(err).Reason != tc.wantReason {
					t.Errorf("got %v, want %s", err, tc.wantReason)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if observed.Unconfirmed == tc.wantSettled {
				t.Errorf("unconfirmed: %t, although settled is %t", observed.Unconfirmed, tc.wantSettled)
			}
			if observed.Changed != tc.wantChanged {
				t.Errorf("changed is %t, want %t", observed.Changed, tc.wantChanged)
			}
			nad := newNAD("", "")
			if err := live.Get(t.Context(), ours.NamespacedName, nad); err != nil {
				t.Fatal(err)
			}
			want := newNAD("", "")
			want.Object["spec"] = made("10.0.1.0/24", "").(interface{ UnstructuredContent() map[string]any }).UnstructuredContent()["spec"]
			if text := nad.Object["spec"].(map[string]any)["config"]; text != want.Object["spec"].(map[string]any)["config"] {
				t.Errorf("the backend holds %s", text)
			}
		})
	}
}

// A change that is taken back before the cache has seen it is written all the same:
// the cache shows what is wanted, and the API server does not have it.
func TestEnsureBackAndForthBehindALaggingCache(t *testing.T) {
	plans := map[string]addressing.Plan{}
	for _, cidr := range []string{"10.0.0.0/24", "10.0.1.0/24"} {
		plans[cidr] = planOf(t, of(samplecrdv1.SubnetSpec{CIDR: cidr}))
	}
	nad := newNAD(ours.Namespace, ours.Name)
	mark(nad, ours)
	text, err := config(uid, class.Multus, plans["10.0.0.0/24"])
	if err != nil {
		t.Fatal(err)
	}
	setConfig(nad, text)
	nad.SetResourceVersion("3")
	p, live := lagging([]client.Object{nad}, []client.Object{nad})
	for _, cidr := range []string{"10.0.1.0/24", "10.0.0.0/24", "10.0.1.0/24"} {
		observed, err := p.Ensure(t.Context(), ours, class, plans[cidr])
		if err != nil || !observed.Changed || !observed.Unconfirmed {
			t.Fatalf("%s: got %+v, %v", cidr, observed, err)
		}
		held := newNAD("", "")
		if err := live.Get(t.Context(), ours.NamespacedName, held); err != nil {
			t.Fatal(err)
		}
		if text := held.Object["spec"].(map[string]any)["config"].(string); !strings.Contains(text, cidr) {
			t.Errorf("the backend holds %s, want %s", text, cidr)
		}
	}
	// Nor does it take its own silence for settled while the cache is behind.
	if observed, err := p.Ensure(t.Context(), ours, class, plans["10.0.1.0/24"]); err != nil || observed.Changed || !observed.Unconfirmed {
		t.Errorf("got %+v, %v", observed, err)
	}
}
