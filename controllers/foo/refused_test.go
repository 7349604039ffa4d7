package foo

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// What a write of the Deployment may be answered with.
var (
	errConflict   = apierrors.NewConflict(appsv1.Resource("deployments"), "web", errors.New("conflict with somebody"))
	errInvalid    = apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", field.ErrorList{field.Invalid(field.NewPath("spec"), "x", "because")})
	errBadRequest = apierrors.NewBadRequest("nonsense")
	errForbidden  = apierrors.NewForbidden(appsv1.Resource("deployments"), "web", errors.New("quota"))
	errUnknown    = apierrors.NewForbidden(appsv1.Resource("deployments"), "web", errors.New(`cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion samplecontroller.k8s.io/v1alpha1 Kind Foo: no matches for kind "Foo" in version "samplecontroller.k8s.io/v1alpha1"`))
	errTimeout    = apierrors.NewServerTimeout(appsv1.Resource("deployments"), "patch", 1)
	errReset      = errors.New("connection reset by peer")
	errEtcd       = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "etcdserver: request timed out"}}
	errTwice      = &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: `failed to create typed patch object (default/web; apps/v1, Kind=Deployment): .spec.template.spec.containers[name="foo"].env: duplicate entries for key [name="A"]`}}
	errGoing      = &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}},
	}}
)

func TestRefused(t *testing.T) {
	mine := desiredOf(t, newFoo("x", "web"), nil)
	foreign := mine.DeepCopy()
	foreign.OwnerReferences = nil
	for name, tc := range map[string]struct {
		answer error
		// cached is what the pass has seen, live what is there.
		cached, live *appsv1.Deployment
		wantReason   string // "" when nothing is said
		wantErr      bool   // tried again soon
		wantSlowly   bool
	}{
		"somebody was faster: hands off":                  {errConflict, nil, foreign, samplev1alpha1.FooReasonResourceExists, false, true},
		"we were, before the cache knew: again":           {errConflict, nil, mine, "", true, false},
		"it came and went: again":                         {errConflict, nil, nil, "", true, false},
		"somebody took its place: hands off":              {errConflict, mine, foreign, samplev1alpha1.FooReasonResourceExists, false, true},
		"somebody did, and another selector stands there": {errInvalid, mine, foreign, samplev1alpha1.FooReasonResourceExists, false, true},
		"somebody was faster, and is refused as invalid":  {errInvalid, nil, foreign, samplev1alpha1.FooReasonResourceExists, false, true},
		"ours has changed since: again":                   {errConflict, mine, mine, "", true, false},
		"the API server takes no such Deployment":         {errInvalid, nil, nil, samplev1alpha1.FooReasonRejected, false, true},
		"nor such a change of ours":                       {errInvalid, mine, mine, samplev1alpha1.FooReasonRejected, false, true},
		"it is told nonsense":                             {errBadRequest, nil, nil, samplev1alpha1.FooReasonRejected, false, true},
		"a template that names one thing twice":           {errTwice, nil, nil, samplev1alpha1.FooReasonRejected, false, true},
		"it is not allowed":                               {errForbidden, mine, mine, samplev1alpha1.FooReasonRejected, false, true},
		"the kind is too new to own anything: again":      {errUnknown, nil, nil, samplev1alpha1.FooReasonBackendUnavailable, true, false},
		"the API server is slow: again":                   {errTimeout, nil, nil, samplev1alpha1.FooReasonBackendUnavailable, true, false},
		"it is not there: again":                          {errReset, mine, mine, samplev1alpha1.FooReasonBackendUnavailable, true, false},
		"its store is not there: again":                   {errEtcd, mine, mine, samplev1alpha1.FooReasonBackendUnavailable, true, false},
		"the namespace is to go: nothing is left to say":  {errGoing, nil, nil, "", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			if tc.live != nil {
				objects = append(objects, tc.live.DeepCopy())
			}
			foo := newFoo("x", "web")
			r := newReconciler(t, objects...).intercept(interceptor.Funcs{
				Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
					return tc.answer
				},
			})
			p := &pass{foo: foo, deployment: tc.cached}
			next, err := r.apply(t.Context(), p)
			if next || p.applied || (err != nil) != tc.wantErr || p.said != (tc.wantReason != "") || ready(foo).Reason != tc.wantReason {
				t.Errorf("next is %t, applied %t, said %t, %v; %+v", next, p.applied, p.said, err, foo.Status.Conditions)
			}
			if tc.wantErr && !errors.Is(err, tc.answer) {
				t.Errorf("got %v", err)
			}
			if slowly := p.result.RequeueAfter >= 4*time.Minute; slowly != tc.wantSlowly {
				t.Errorf("tried again after %s", p.result.RequeueAfter)
			}
			if stalled := meta.IsStatusConditionTrue(foo.Status.Conditions, samplev1alpha1.FooConditionStalled); stalled != tc.wantSlowly {
				t.Errorf("stalled is %t", stalled)
			}
			if tc.wantReason != "" && !strings.Contains(ready(foo).Message, "web") {
				t.Errorf("%q does not name the Deployment", ready(foo).Message)
			}
			// What was refused is not waited for.
			if r.deployments.Behind(client.ObjectKeyFromObject(mine), "1") {
				t.Error("it counts as written")
			}
		})
	}
}

// The first apply can only create, and takes nothing from anybody; a later one
// takes ours back, from the Deployment that was looked at alone.
func TestHowItIsApplied(t *testing.T) {
	mine := desiredOf(t, newFoo("x", "web"), nil)
	mine.UID, mine.ResourceVersion = "uid-of-web", "7"
	for name, tc := range map[string]struct {
		deployment  *appsv1.Deployment
		wantForce   bool
		wantUID     string
		wantVersion string
		answer      string // the resource version
		wantApplied bool
	}{
		"the first time":               {nil, false, "", neverVersion, "8", true},
		"a later time":                 {mine, true, "uid-of-web", "", "8", true},
		"a write that changes nothing": {mine, true, "uid-of-web", "", "7", false},
	} {
		t.Run(name, func(t *testing.T) {
			var options client.ApplyOptions
			var sent *appsv1.Deployment
			r := newReconciler(t).intercept(interceptor.Funcs{
				Apply: func(_ context.Context, _ client.WithWatch, wanted runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
					options.ApplyOptions(opts)
					sent = read(t, wanted)
					wanted.(*appsv1apply.DeploymentApplyConfiguration).WithResourceVersion(tc.answer)
					return nil
				},
			})
			p := &pass{foo: newFoo("x", "web"), deployment: tc.deployment}
			if next, err := r.apply(t.Context(), p); err != nil || !next {
				t.Fatalf("next is %t: %v", next, err)
			}
			if force := options.Force != nil && *options.Force; force != tc.wantForce || options.FieldManager != Name {
				t.Errorf("applied with %+v", options)
			}
			if string(sent.UID) != tc.wantUID || sent.ResourceVersion != tc.wantVersion {
				t.Errorf("sent with UID %q, version %q", sent.UID, sent.ResourceVersion)
			}
			if p.applied != tc.wantApplied || p.changed != tc.wantApplied {
				t.Errorf("applied is %t, changed %t", p.applied, p.changed)
			}
			if key := client.ObjectKeyFromObject(sent); !r.deployments.Behind(key, "6") || r.deployments.Behind(key, tc.answer) {
				t.Error("what was written is not waited for")
			}
		})
	}
}
