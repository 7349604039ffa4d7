package multus_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/test/env"
)

// removeKind takes the kind NetworkAttachmentDefinition, with all its objects, from
// the API server; restore brings it back, at the latest when the test ends.
func removeKind(t *testing.T) (restore func()) {
	t.Helper()
	crd, err := env.NADCRD()
	if err != nil {
		t.Fatal(err)
	}
	if err := control.Client.Delete(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	restore = sync.OnceFunc(func() {
		anew, err := env.NADCRD()
		if err := errors.Join(err, control.Client.Create(context.WithoutCancel(t.Context()), anew)); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(restore)
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := control.Client.Get(ctx, types.NamespacedName{Name: crd.Name}, &apiextensionsv1.CustomResourceDefinition{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return restore
}

// PR-18: the kind goes, and comes back, under a running provider; another starts
// without it.
func TestMissingKind(t *testing.T) {
	before := newBackend(t)
	made, missing := before.identity(t), before.identity(t)
	before.ensure(t, made, plan(t, "10.0.0.0/24", ""))
	restore := removeKind(t)
	after := newBackend(t)
	backends := map[string]*backend{"one that has known the kind": before, "one that has not": after}

	for name, b := range backends {
		awaitReason(t, func() error {
			_, err := b.Ensure(t.Context(), missing, class(), plan(t, "10.0.1.0/24", ""))
			return err
		}, samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon)
		for _, id := range []providers.Identity{made, missing} {
			if err := b.Delete(t.Context(), id, class()); err != nil {
				t.Errorf("%s: nothing is there, Delete gives %v", name, err)
			}
			if err := b.Release(t.Context(), id, class()); err != nil {
				t.Errorf("%s: nothing is there, Release gives %v", name, err)
			}
		}
	}
	if _, err := after.Source(); err == nil || providers.AsError(err).Reason != samplecrdv1.NetworkReasonBackendUnavailable {
		t.Errorf("a kind that is not served can be watched: %v", err)
	}

	restore()
	for name, b := range backends {
		id := b.identity(t)
		var last error
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
			_, last = b.Ensure(ctx, id, class(), plan(t, "10.0.2.0/24", ""))
			return last == nil, nil
		})
		if err != nil {
			t.Errorf("%s: the kind is back, and the last answer is %v", name, last)
		}
	}
	if _, err := after.Source(); err != nil {
		t.Errorf("the kind is back, and cannot be watched: %v", err)
	}
}
