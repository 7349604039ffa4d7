package foo

import (
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/test/matchers"
)

const (
	ready   = samplev1alpha1.FooConditionReady
	stalled = samplev1alpha1.FooConditionStalled
)

// beReady is true of a Foo whose current generation is done.
func beReady() types.GomegaMatcher {
	return And(
		matchers.HaveCondition(ready, metav1.ConditionTrue, samplev1alpha1.FooReasonReady),
		WithTransform(matchers.Verdict, Equal(matchers.Current)),
	)
}

// beWaiting is the whole truth about a Foo that is not ready, and may become so by
// itself.
func beWaiting(reason string) types.GomegaMatcher {
	return And(
		matchers.HaveCondition(ready, metav1.ConditionFalse, reason),
		WithTransform(matchers.Verdict, Equal(matchers.InProgress)),
		haveNo(stalled),
	)
}

// beStalled is the whole truth about a Foo that waits for somebody to act.
func beStalled(reason string) types.GomegaMatcher {
	return And(
		matchers.HaveCondition(ready, metav1.ConditionFalse, reason),
		matchers.HaveCondition(stalled, metav1.ConditionTrue, reason),
		WithTransform(matchers.Verdict, Equal(matchers.Failed)),
	)
}

func haveNo(kind string) types.GomegaMatcher {
	return Not(HaveField("Status.Conditions", ContainElement(HaveField("Type", kind))))
}

// say is true of a Foo whose Ready has a message that matches.
func say(message any) types.GomegaMatcher {
	matcher, isMatcher := message.(types.GomegaMatcher)
	if !isMatcher {
		matcher = ContainSubstring(message.(string))
	}
	return WithTransform(func(foo *samplev1alpha1.Foo) string { return matchers.Message(foo, ready) }, matcher)
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
