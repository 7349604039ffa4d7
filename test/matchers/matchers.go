// Package matchers reads the status of a Network or Foo as people and their tools do.
package matchers

import (
	"fmt"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gcustom"
	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// The conditions and reasons that Networks and Foos have in common.
const (
	ready       = samplecrdv1.NetworkConditionReady
	stalled     = samplecrdv1.NetworkConditionStalled
	reasonReady = samplecrdv1.NetworkReasonReady
)

// What a person's tools conclude from a status.
const (
	InProgress  = "in progress"
	Current     = "current"
	Failed      = "failed"
	Terminating = "terminating"
)

const show = "Expected {{printf \"%T\" .Actual}} {{.Actual.Name}} {{.To}} {{.Data}}, generation {{.Actual.Generation}}, finalizers {{.Actual.Finalizers}}, status:\n{{format .Actual.Status}}"

// HaveCondition is true of a condition that speaks of the current generation.
func HaveCondition(kind string, status metav1.ConditionStatus, reason string) types.GomegaMatcher {
	return gcustom.MakeMatcher(func(object client.Object) (bool, error) {
		return has(object, kind, status, reason), nil
	}).WithTemplate(show, "have "+kind+" "+string(status)+"/"+reason)
}

// BeReady is true of an object whose current generation is done.
func BeReady() types.GomegaMatcher {
	return gcustom.MakeMatcher(func(object client.Object) (bool, error) {
		return IsReady(object), nil
	}).WithTemplate(show, "be done and Ready")
}

// BeHeld is true of a Network that cannot go without us.
func BeHeld() types.GomegaMatcher {
	return gcustom.MakeMatcher(func(network *samplecrdv1.Network) (bool, error) {
		return controllerutil.ContainsFinalizer(network, samplecrdv1.NetworkFinalizer), nil
	}).WithTemplate(show, "have our finalizer")
}

// ContainAll is true of a text with all parts in it.
func ContainAll(parts []string) types.GomegaMatcher {
	all := make([]types.GomegaMatcher, len(parts))
	for i, part := range parts {
		all[i] = gomega.ContainSubstring(part)
	}
	return gomega.And(all...)
}

// IsReady is BeReady where no matcher fits.
func IsReady(object client.Object) bool {
	return Verdict(object) == Current && has(object, ready, metav1.ConditionTrue, reasonReady)
}

// Verdict reads a status as kstatus does, which stands behind kubectl wait, Helm
// and the GitOps tools: a stale observedGeneration beats every condition, and
// Stalled counts only when it is True.
func Verdict(object client.Object) string {
	observed, conditions := status(object)
	switch {
	case object.GetDeletionTimestamp() != nil:
		return Terminating
	case observed == nil || *observed != object.GetGeneration():
		return InProgress
	case meta.IsStatusConditionTrue(conditions, stalled):
		return Failed
	case meta.IsStatusConditionTrue(conditions, ready):
		return Current
	}
	return InProgress
}

// Message gives a condition's message, "" without the condition.
func Message(object client.Object, kind string) string {
	_, conditions := status(object)
	if found := meta.FindStatusCondition(conditions, kind); found != nil {
		return found.Message
	}
	return ""
}

func has(object client.Object, kind string, want metav1.ConditionStatus, reason string) bool {
	_, conditions := status(object)
	found := meta.FindStatusCondition(conditions, kind)
	return found != nil && found.Status == want && found.Reason == reason && found.ObservedGeneration == object.GetGeneration()
}

func status(object client.Object) (observedGeneration *int64, conditions []metav1.Condition) {
	switch object := object.(type) {
	case *samplecrdv1.Network:
		return object.Status.ObservedGeneration, object.Status.Conditions
	case *samplev1alpha1.Foo:
		return object.Status.ObservedGeneration, object.Status.Conditions
	}
	panic(fmt.Sprintf("a %T has no status that is known here", object))
}
