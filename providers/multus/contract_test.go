package multus_test

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/providers/providertest"
)

func TestContract(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Harness { return newBackend(t).harness() })
}

func plan(t *testing.T, cidr, gateway string) addressing.Plan {
	t.Helper()
	plan, errs := addressing.Parse(&samplecrdv1.NetworkSpec{CIDR: cidr, Gateway: gateway}, field.NewPath("spec"))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return plan
}

func (b *backend) ensure(t *testing.T, id providers.Identity, plan addressing.Plan) {
	t.Helper()
	if _, err := b.Ensure(t.Context(), id, class(), plan); err != nil {
		t.Fatal(err)
	}
}

// The fallback: should the Network go without us, Kubernetes collects its object.
func TestOwnerReference(t *testing.T) {
	b := newBackend(t)
	id := b.identity(t)
	b.ensure(t, id, plan(t, "10.0.0.0/24", ""))
	owners := get(t, id).GetOwnerReferences()
	if len(owners) != 1 {
		t.Fatalf("there are %d owners", len(owners))
	}
	owner := owners[0]
	if owner.UID != id.UID || owner.Name != id.Name || owner.Kind != "Network" || owner.APIVersion != "samplecrd.k8s.io/v1" || owner.Controller == nil || !*owner.Controller {
		t.Errorf("the owner is %+v", owner)
	}
}

// What others wrote onto our object is theirs, whatever we do to it.
func TestOthersMetadataSurvives(t *testing.T) {
	b := newBackend(t)
	id := b.identity(t)
	b.ensure(t, id, plan(t, "10.0.0.0/24", ""))
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "theirs", UID: "11111111-2222-4333-8444-555555555555"}
	b.change(t, id, func(nad *unstructured.Unstructured) {
		labels := nad.GetLabels()
		labels["team"] = "a"
		nad.SetLabels(labels)
		nad.SetAnnotations(map[string]string{"k8s.v1.cni.cncf.io/resourceName": "bridge.network.kubevirt.io/br"})
		nad.SetOwnerReferences(append(nad.GetOwnerReferences(), other))
		nad.SetFinalizers([]string{"example.com/hold"})
	})
	check := func(when string) {
		t.Helper()
		nad := get(t, id)
		if nad.GetLabels()["team"] != "a" || len(nad.GetAnnotations()) != 1 || !slices.ContainsFunc(nad.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == other.UID }) || len(nad.GetFinalizers()) != 1 {
			t.Errorf("%s: %v", when, nad.Object["metadata"])
		}
	}

	writes := b.writes.Load()
	b.ensure(t, id, plan(t, "10.0.0.0/24", ""))
	if b.writes.Load() != writes {
		t.Error("what others wrote was taken for drift")
	}
	b.ensure(t, id, plan(t, "10.0.1.0/24", ""))
	check("after a change")
	if err := b.Release(t.Context(), id, class()); err != nil {
		t.Fatal(err)
	}
	check("after Release")
	if nad := get(t, id); len(nad.GetOwnerReferences()) != 1 || nad.GetLabels()["app.kubernetes.io/managed-by"] != "" {
		t.Errorf("our mark is left: %v", nad.Object["metadata"])
	}
	b.change(t, id, func(nad *unstructured.Unstructured) { nad.SetFinalizers(nil) })
}

// Labels and mark are ours to put right as well as the configuration.
func TestDriftOfTheMarkIsRepaired(t *testing.T) {
	b := newBackend(t)
	id := b.identity(t)
	b.ensure(t, id, plan(t, "10.0.0.0/24", ""))
	b.change(t, id, func(nad *unstructured.Unstructured) {
		nad.SetLabels(nil)
		owners := nad.GetOwnerReferences()
		owners[0].Controller, owners[0].Name = nil, "somebody"
		nad.SetOwnerReferences(owners)
	})
	b.ensure(t, id, plan(t, "10.0.0.0/24", ""))
	nad := get(t, id)
	if owner := nad.GetOwnerReferences()[0]; owner.Name != id.Name || owner.Controller == nil || nad.GetLabels()["app.kubernetes.io/managed-by"] != "samplecrd-controller" {
		t.Errorf("got %v", nad.Object["metadata"])
	}
}

// Somebody's finalizer holds the object: it is on its way, and not gone.
func TestDeleteWaitsForOthersFinalizers(t *testing.T) {
	b := newBackend(t)
	id := b.identity(t)
	b.ensure(t, id, plan(t, "10.0.0.0/24", ""))
	b.change(t, id, func(nad *unstructured.Unstructured) { nad.SetFinalizers([]string{"example.com/hold"}) })
	for range 2 {
		err := b.Delete(t.Context(), id, class())
		if err == nil || providers.AsError(err).Reason != samplecrdv1.NetworkReasonPending {
			t.Errorf("Delete gives %v, want Pending", err)
		}
	}
	b.await(t, id, func(seen *unstructured.Unstructured) bool { return seen != nil && seen.GetDeletionTimestamp() != nil })
	// Neither can it be made anew before it has gone.
	if _, err := b.Ensure(t.Context(), id, class(), plan(t, "10.0.1.0/24", "")); err == nil || providers.AsError(err).Reason != samplecrdv1.NetworkReasonPending {
		t.Errorf("Ensure gives %v, want Pending", err)
	}
	nad := get(t, id)
	nad.SetFinalizers(nil)
	if err := control.Client.Update(t.Context(), nad); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), id, class()); err != nil {
		t.Error(err)
	}
}

// awaitReason repeats call until it fails as it should; what makes it fail is
// known to the API server a moment later.
func awaitReason(t *testing.T, call func() error, reason string, retry providers.Retry) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = call()
		return last != nil && providers.AsError(last).Reason == reason && providers.AsError(last).Retry == retry, nil
	})
	if err != nil {
		t.Fatalf("want %s, retry %d; the last answer is %v", reason, retry, last)
	}
}

func TestQuota(t *testing.T) {
	b := newBackend(t)
	// Nobody counts on this control plane, so the count is written by hand.
	const count = corev1.ResourceName("count/network-attachment-definitions.k8s.cni.cncf.io")
	one := corev1.ResourceList{count: resource.MustParse("1")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "nads"}, Spec: corev1.ResourceQuotaSpec{Hard: one}}
	if err := control.Client.Create(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	quota.Status = corev1.ResourceQuotaStatus{Hard: one, Used: one}
	if err := control.Client.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	awaitReason(t, func() error {
		_, err := b.Ensure(t.Context(), b.identity(t), class(), plan(t, "10.0.0.0/24", ""))
		return err
	}, samplecrdv1.NetworkReasonQuotaExceeded, providers.RetrySlowly)
}

// CN-10: nothing can be created any more, and trying again soon would not help.
func TestTerminatingNamespace(t *testing.T) {
	b := newBackend(t)
	id := b.identity(t)
	b.ensure(t, id, plan(t, "10.0.0.0/24", ""))
	// Nobody finishes namespaces on this control plane: it stays terminating.
	if err := control.Client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}); err != nil {
		t.Fatal(err)
	}
	awaitReason(t, func() error {
		_, err := b.Ensure(t.Context(), b.identity(t), class(), plan(t, "10.0.0.0/24", ""))
		return err
	}, samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySlowly)
	if err := b.Delete(t.Context(), id, class()); err != nil {
		t.Errorf("what is there can still be removed: %v", err)
	}
}
