package foo

import (
	"github.com/onsi/gomega/gcustom"
	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	. "github.com/onsi/gomega"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

const (
	ready   = samplev1alpha1.FooConditionReady
	stalled = samplev1alpha1.FooConditionStalled
)

const show = "Expected Foo {{.Actual.Name}} {{.To}} {{.Data}}, generation {{.Actual.Generation}}, status:\n{{format .Actual.Status}}"

// haveCondition is true of a condition that speaks of the current generation.
func haveCondition(kind string, status metav1.ConditionStatus, reason string) types.GomegaMatcher {
	return gcustom.MakeMatcher(func(foo *samplev1alpha1.Foo) (bool, error) {
		found := meta.FindStatusCondition(foo.Status.Conditions, kind)
		return found != nil && found.Status == status && found.Reason == reason &&
			found.ObservedGeneration == foo.Generation, nil
	}).WithTemplate(show, "have "+kind+" "+string(status)+"/"+reason)
}

// beReady is true of a Foo whose current generation is done.
func beReady() types.GomegaMatcher {
	return And(
		haveCondition(ready, metav1.ConditionTrue, samplev1alpha1.FooReasonReady),
		WithTransform(verdict, Equal(current)),
	)
}

// beWaiting is the whole truth about a Foo that is not ready, and may become so by
// itself.
func beWaiting(reason string) types.GomegaMatcher {
	return And(
		haveCondition(ready, metav1.ConditionFalse, reason),
		WithTransform(verdict, Equal(inProgress)),
		haveNo(stalled),
	)
}

// beStalled is the whole truth about a Foo that waits for somebody to act.
func beStalled(reason string) types.GomegaMatcher {
	return And(
		haveCondition(ready, metav1.ConditionFalse, reason),
		haveCondition(stalled, metav1.ConditionTrue, reason),
		WithTransform(verdict, Equal(failed)),
	)
}

func haveNo(kind string) types.GomegaMatcher {
	return gcustom.MakeMatcher(func(foo *samplev1alpha1.Foo) (bool, error) {
		return meta.FindStatusCondition(foo.Status.Conditions, kind) == nil, nil
	}).WithTemplate(show, "have no condition "+kind)
}

// say is true of a Foo whose Ready has a message that matches.
func say(message any) types.GomegaMatcher {
	matcher, isMatcher := message.(types.GomegaMatcher)
	if !isMatcher {
		matcher = ContainSubstring(message.(string))
	}
	return WithTransform(func(foo *samplev1alpha1.Foo) string {
		if found := meta.FindStatusCondition(foo.Status.Conditions, ready); found != nil {
			return found.Message
		}
		return ""
	}, matcher)
}

// speakOf is true of a Foo whose status tells of this Deployment.
func speakOf(deployment string) types.GomegaMatcher {
	return HaveField("Status.DeploymentName", HaveValue(Equal(deployment)))
}

// count is true of a Foo whose status shows these numbers.
func count(replicas, available int32) types.GomegaMatcher {
	return And(
		HaveField("Status.Replicas", HaveValue(Equal(replicas))),
		HaveField("Status.AvailableReplicas", HaveValue(Equal(available))),
	)
}

// What a person's tools conclude from a status.
const (
	inProgress  = "in progress"
	current     = "current"
	failed      = "failed"
	terminating = "terminating"
)

// verdict reads a status as kstatus does, which stands behind kubectl wait, Helm
// and the GitOps tools: a stale observedGeneration beats every condition, and
// Stalled counts only when it is True.
func verdict(foo *samplev1alpha1.Foo) string {
	conditions := foo.Status.Conditions
	switch {
	case foo.DeletionTimestamp != nil:
		return terminating
	case foo.Status.ObservedGeneration == nil || *foo.Status.ObservedGeneration != foo.Generation:
		return inProgress
	case meta.IsStatusConditionTrue(conditions, stalled):
		return failed
	case meta.IsStatusConditionTrue(conditions, ready):
		return current
	}
	return inProgress
}
