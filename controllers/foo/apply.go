package foo

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/controllers/pace"
)

// neverVersion is a resource version that no object has, since etcd counts from 1
// and the first write is its second revision. An apply that carries it creates, or
// is a conflict and changes nothing.
const neverVersion = "1"

// apply writes our fields of the Deployment by server-side apply, if one of them
// differs. The first time it can only create. Later it forces, and carries the
// UID, so that only the Deployment that was looked at can be meant.
func (r *Reconciler) apply(ctx context.Context, p *pass) (bool, error) {
	wanted, err := desired(p.foo, p.pods, r.image)
	if err != nil {
		return false, err
	}
	options := []client.ApplyOption{client.FieldOwner(Name)}
	before := ""
	if p.deployment == nil {
		wanted.WithResourceVersion(neverVersion)
	} else {
		if holds(p.deployment, wanted) {
			return true, nil
		}
		before = p.deployment.ResourceVersion
		wanted.WithUID(p.deployment.UID)
		options = append(options, client.ForceOwnership)
	}
	key := types.NamespacedName{Namespace: p.foo.Namespace, Name: p.foo.Spec.DeploymentName}
	if err := r.client.Apply(ctx, wanted, options...); err != nil {
		return r.refused(ctx, p, key, err)
	}
	r.deployments.Wrote(key, ptr.Deref(wanted.ResourceVersion, ""))
	p.applied = ptr.Deref(wanted.ResourceVersion, "") != before
	p.changed = p.changed || p.applied
	return true, nil
}

// holds says that the Deployment has all that we want and, of what we once wrote,
// nothing else. Of one that cannot be read, since somebody has written a name
// twice, only the API server can tell.
func holds(deployment *appsv1.Deployment, wanted *appsv1apply.DeploymentApplyConfiguration) bool {
	written, err := appsv1apply.ExtractDeployment(deployment, Name)
	return err == nil && equality.Semantic.DeepEqual(written, wanted)
}

// refused says why the Deployment could not be written.
func (r *Reconciler) refused(ctx context.Context, p *pass, key types.NamespacedName, cause error) (bool, error) {
	if apierrors.IsConflict(cause) || apierrors.IsInvalid(cause) {
		// Is it somebody's who came first, or took its place? The cache does not know.
		var found appsv1.Deployment
		err := r.live.Get(ctx, key, &found)
		if err == nil && !metav1.IsControlledBy(&found, p.foo) {
			p.deployment = &found
			return p.blocked("already exists and is not managed by Foo")
		}
	}
	return p.failed("Deployment "+key.Name+" cannot be written", cause)
}

// failed ends the pass with what the API server answered. A refusal is tried again
// slowly: only somebody else can make it right. A conflict says nothing but that
// the cache is behind what is there.
func (p *pass) failed(what string, cause error) (bool, error) {
	err := fmt.Errorf("%s: %w", what, cause)
	switch {
	case apierrors.HasStatusCause(cause, corev1.NamespaceTerminatingCause):
		return false, nil
	case isRefusal(cause):
		p.result.RequeueAfter = pace.Slowly()
		return p.wait(samplev1alpha1.FooReasonRejected, err.Error())
	case !apierrors.IsConflict(cause):
		p.set(samplev1alpha1.FooReasonBackendUnavailable, err.Error())
	}
	return false, err
}

// isRefusal says that the API server will not take what was sent, however often.
// What server-side apply cannot read, such as two environment variables of one
// name, it answers with an error of the server that has no reason.
func isRefusal(err error) bool {
	if isKindUnknown(err) {
		return false
	}
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.ReasonForError(err) == metav1.StatusReasonUnknown && strings.Contains(err.Error(), "failed to create typed patch object")
}

// isKindUnknown says that the API server's admission plugin
// OwnerReferencesPermissionEnforcement does not know the kind Foo yet: for up to half a
// minute after the CRD was installed it forbids to own anything. The answer has no
// cause to tell it by, only this text.
func isKindUnknown(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot find RESTMapping")
}
