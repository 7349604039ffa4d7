package foo

import (
	"strings"
	"testing"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// counts are replicas in all, those of the last kind, and the available ones.
type counts struct{ all, updated, available int32 }

// at is x's Deployment of 2 replicas, at this generation, whose status speaks of
// that one.
func at(t *testing.T, generation, observed int64, has counts, conditions ...appsv1.DeploymentCondition) *appsv1.Deployment {
	t.Helper()
	d := desiredOf(t, newFoo("x", "web"), nil)
	d.Generation = generation
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: observed, Replicas: has.all, UpdatedReplicas: has.updated, AvailableReplicas: has.available, Conditions: conditions,
	}
	return d
}

func TestObserve(t *testing.T) {
	all := counts{2, 2, 2}
	scaledTo := func(d *appsv1.Deployment, replicas *int32) *appsv1.Deployment {
		d.Spec.Replicas = replicas
		return d
	}
	paused := func(d *appsv1.Deployment) *appsv1.Deployment {
		d.Spec.Paused = true
		return d
	}
	failing := appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota"}
	recovered := appsv1.DeploymentCondition{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionFalse, Message: "exceeded quota"}
	stuck := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Message: "timed out progressing"}
	moving := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Message: "is progressing"}
	for name, tc := range map[string]struct {
		deployment *appsv1.Deployment
		applied    bool
		want       string
		wantSaid   string
	}{
		"all are there and available":                              {at(t, 3, 3, all), false, samplev1alpha1.FooReasonReady, "Every replica is available"},
		"CF-11: all of the old, of the new nothing is seen":        {at(t, 2, 1, all), false, samplev1alpha1.FooReasonProgressing, "Deployment web"},
		"CF-11: 1 available, 3 asked for, not seen":                {scaledTo(at(t, 2, 1, counts{1, 1, 1}), new(int32(3))), false, samplev1alpha1.FooReasonProgressing, ""},
		"CF-11: seen, 1 of 3 available":                            {scaledTo(at(t, 2, 2, counts{3, 3, 1}), new(int32(3))), false, samplev1alpha1.FooReasonProgressing, ""},
		"CF-11: seen, 3 of 3 available":                            {scaledTo(at(t, 2, 2, counts{3, 3, 3}), new(int32(3))), false, samplev1alpha1.FooReasonReady, ""},
		"a status from the future is seen":                         {at(t, 2, 3, all), false, samplev1alpha1.FooReasonReady, ""},
		"no status at all":                                         {at(t, 1, 0, counts{}), false, samplev1alpha1.FooReasonProgressing, ""},
		"what was written just now is not told by an old status":   {at(t, 3, 3, all), true, samplev1alpha1.FooReasonProgressing, ""},
		"what was made just now has no status":                     {nil, true, samplev1alpha1.FooReasonProgressing, "Deployment web"},
		"some are of the old kind":                                 {at(t, 3, 3, counts{2, 1, 2}), false, samplev1alpha1.FooReasonProgressing, ""},
		"one of the old kind is still there":                       {at(t, 3, 3, counts{3, 2, 2}), false, samplev1alpha1.FooReasonProgressing, ""},
		"CF-12: none is available":                                 {at(t, 3, 3, counts{2, 2, 0}), false, samplev1alpha1.FooReasonProgressing, ""},
		"CF-12: none is asked for, and none is there":              {scaledTo(at(t, 3, 3, counts{}), new(int32(0))), false, samplev1alpha1.FooReasonReady, ""},
		"CF-12: none is asked for, and two are still there":        {scaledTo(at(t, 3, 3, all), new(int32(0))), false, samplev1alpha1.FooReasonProgressing, ""},
		"a Deployment that does not say has 1":                     {scaledTo(at(t, 3, 3, counts{1, 1, 1}), nil), false, samplev1alpha1.FooReasonReady, ""},
		"Pods cannot be made":                                      {at(t, 3, 3, counts{1, 1, 1}, moving, failing), false, samplev1alpha1.FooReasonReplicaFailure, "exceeded quota"},
		"they could not, and can again":                            {at(t, 3, 3, counts{1, 1, 1}, moving, recovered), false, samplev1alpha1.FooReasonProgressing, ""},
		"it gave up":                                               {at(t, 3, 3, counts{2, 2, 1}, stuck), false, samplev1alpha1.FooReasonProgressDeadlineExceeded, "timed out progressing"},
		"it gave up since Pods cannot be made":                     {at(t, 3, 3, counts{1, 1, 1}, stuck, failing), false, samplev1alpha1.FooReasonReplicaFailure, "exceeded quota"},
		"it gave up, and all are available":                        {at(t, 3, 3, all, stuck), false, samplev1alpha1.FooReasonReady, ""},
		"it is paused on the way":                                  {paused(at(t, 3, 3, counts{3, 1, 3}, moving)), false, samplev1alpha1.FooReasonProgressing, "Deployment web is paused"},
		"it is paused, and all is well":                            {paused(at(t, 3, 3, all, moving)), false, samplev1alpha1.FooReasonReady, ""},
		"it gave up on what is no longer asked for":                {at(t, 4, 3, counts{2, 2, 1}, stuck, failing), false, samplev1alpha1.FooReasonProgressing, ""},
		"a condition that the Deployment controller does not know": {at(t, 3, 3, all, appsv1.DeploymentCondition{Type: "Theirs", Status: corev1.ConditionFalse}), false, samplev1alpha1.FooReasonReady, ""},
	} {
		t.Run(name, func(t *testing.T) {
			foo := newFoo("x", "web")
			foo.Generation = 5
			p := &pass{foo: foo, deployment: tc.deployment, applied: tc.applied}
			if _, err := (&Reconciler{}).observe(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			got := ready(foo)
			if got.Reason != tc.want || (got.Status == metav1.ConditionTrue) != (tc.want == samplev1alpha1.FooReasonReady) || got.ObservedGeneration != 5 || !strings.Contains(got.Message, tc.wantSaid) {
				t.Errorf("got %+v, want %s", got, tc.want)
			}
			if stalled := meta.IsStatusConditionTrue(foo.Status.Conditions, samplev1alpha1.FooConditionStalled); stalled != (tc.want == samplev1alpha1.FooReasonProgressDeadlineExceeded) {
				t.Errorf("stalled is %t", stalled)
			}
		})
	}
}

// The counts are of the Deployment that the Foo has, and 0 is one of them.
func TestCount(t *testing.T) {
	own := at(t, 3, 3, counts{2, 2, 1})
	foreign := at(t, 3, 3, counts{9, 9, 9})
	foreign.OwnerReferences = nil
	renamed := func(name string, has counts) *appsv1.Deployment {
		d := desiredOf(t, newFoo("x", name), nil)
		d.Status = at(t, 1, 1, has).Status
		return d
	}
	const web = "app.kubernetes.io/instance=x,app.kubernetes.io/name=foo,samplecontroller.k8s.io/deployment=web"
	old := strings.Replace(web, "=web", "=old", 1)
	for name, tc := range map[string]struct {
		pass                   pass
		wantName               string // "" for none
		wantSelector           string
		wantAll, wantAvailable int32
	}{
		"its own": {pass{deployment: own}, "web", web, 2, 1},
		"CF-12: its own, of which none is available":  {pass{deployment: at(t, 3, 3, counts{2, 2, 0})}, "web", web, 2, 0},
		"CF-12: its own, scaled to nothing":           {pass{deployment: at(t, 3, 3, counts{})}, "web", web, 0, 0},
		"none":                                        {pass{}, "", "", 0, 0},
		"another's is not counted":                    {pass{deployment: foreign}, "", "", 0, 0},
		"one that was made just now":                  {pass{applied: true}, "web", web, 0, 0},
		"one that was taken over just now":            {pass{applied: true, deployment: foreign}, "web", web, 0, 0},
		"one that was written again keeps its counts": {pass{applied: true, deployment: own}, "web", web, 2, 1},
		"none of the new name: the old one":           {pass{others: []*appsv1.Deployment{renamed("old", counts{2, 2, 2}), renamed("older", counts{1, 1, 1})}}, "old", old, 2, 2},
		"another's of the new name: the old one":      {pass{deployment: foreign, others: []*appsv1.Deployment{renamed("old", counts{2, 2, 2})}}, "old", old, 2, 2},
		"its own of the new name, beside the old one": {pass{deployment: own, others: []*appsv1.Deployment{renamed("old", counts{2, 2, 2})}}, "web", web, 2, 1},
		"made just now under the new name":            {pass{applied: true, others: []*appsv1.Deployment{renamed("old", counts{2, 2, 2})}}, "web", web, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := tc.pass
			p.foo = newFoo("x", "web")
			p.foo.Generation = 5
			p.foo.Status = samplev1alpha1.FooStatus{DeploymentName: new("stale"), Selector: new("stale=1"), Replicas: new(int32(7)), AvailableReplicas: new(int32(7)), ObservedGeneration: new(int64(-1))}
			p.count()
			got := p.foo.Status
			if got.Replicas == nil || got.AvailableReplicas == nil || *got.Replicas != tc.wantAll || *got.AvailableReplicas != tc.wantAvailable {
				t.Errorf("got %v, %v; want %d, %d", got.Replicas, got.AvailableReplicas, tc.wantAll, tc.wantAvailable)
			}
			if ptr.Deref(got.DeploymentName, "") != tc.wantName || ptr.Deref(got.Selector, "") != tc.wantSelector || (got.Selector == nil) != (tc.wantName == "") {
				t.Errorf("got %q, %q", ptr.Deref(got.DeploymentName, ""), ptr.Deref(got.Selector, ""))
			}
			if ptr.Deref(got.ObservedGeneration, 0) != 5 {
				t.Errorf("observed is %v", got.ObservedGeneration)
			}
		})
	}
}

func TestSet(t *testing.T) {
	t.Run("Stalled is there only while somebody has to act", func(t *testing.T) {
		p := &pass{foo: newFoo("x", "web")}
		for _, tc := range []struct {
			reason  string
			stalled bool
		}{
			{samplev1alpha1.FooReasonProgressing, false}, {samplev1alpha1.FooReasonResourceExists, true},
			{samplev1alpha1.FooReasonReady, false}, {samplev1alpha1.FooReasonInvalid, true},
			{samplev1alpha1.FooReasonTemplateNotFound, false}, {samplev1alpha1.FooReasonRejected, true},
			{samplev1alpha1.FooReasonBackendUnavailable, false}, {samplev1alpha1.FooReasonProgressDeadlineExceeded, true},
			{samplev1alpha1.FooReasonReplicaFailure, false},
		} {
			p.set(tc.reason, "because")
			condition := meta.FindStatusCondition(p.foo.Status.Conditions, samplev1alpha1.FooConditionStalled)
			if (condition != nil) != tc.stalled || condition != nil && (condition.Status != metav1.ConditionTrue || condition.Reason != tc.reason) {
				t.Errorf("%s: stalled is %+v", tc.reason, condition)
			}
			if (ready(p.foo).Status == metav1.ConditionTrue) != (tc.reason == samplev1alpha1.FooReasonReady) || ready(p.foo).Reason != tc.reason {
				t.Errorf("%s: ready is %+v", tc.reason, ready(p.foo))
			}
		}
	})
	t.Run("what a rename has left is named, until all is well", func(t *testing.T) {
		p := &pass{foo: newFoo("x", "web")}
		for _, tc := range []struct{ name, want string }{
			{"d", "Waits; Deployment d stays meanwhile"},
			{"c", "Waits; Deployments d, c stay meanwhile"},
			{"b", "Waits; Deployments d, c, b stay meanwhile"},
			{"a", "Waits; Deployments d, c, b, and others stay meanwhile"},
		} {
			p.others = append(p.others, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: tc.name}})
			if p.set(samplev1alpha1.FooReasonProgressing, "Waits"); ready(p.foo).Message != tc.want {
				t.Errorf("got %q, want %q", ready(p.foo).Message, tc.want)
			}
		}
		if p.set(samplev1alpha1.FooReasonReady, "Well"); ready(p.foo).Message != "Well" {
			t.Errorf("got %q", ready(p.foo).Message)
		}
	})
	t.Run("a long message of somebody else's is cut, and stays text", func(t *testing.T) {
		for _, message := range []string{strings.Repeat("x", 1<<20), strings.Repeat("网", 1<<12), "x" + strings.Repeat("网", 1<<12)} {
			p := &pass{foo: newFoo("x", "web")}
			p.set(samplev1alpha1.FooReasonRejected, message)
			if got := ready(p.foo).Message; !utf8.ValidString(got) || len(got) > 1024+len("…") || !strings.HasSuffix(got, "…") {
				t.Errorf("%d bytes: %q", len(got), got)
			}
		}
	})
}
