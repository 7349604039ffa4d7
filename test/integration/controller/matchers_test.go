package controller

import (
	"github.com/onsi/gomega/gcustom"
	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

const show = "Expected Network {{.Actual.Name}} {{.To}} {{.Data}}, generation {{.Actual.Generation}}, finalizers {{.Actual.Finalizers}}, status:\n{{format .Actual.Status}}"

// haveCondition is true of a condition that speaks of the current generation.
func haveCondition(kind string, status metav1.ConditionStatus, reason string) types.GomegaMatcher {
	return gcustom.MakeMatcher(func(network *samplecrdv1.Network) (bool, error) {
		found := meta.FindStatusCondition(network.Status.Conditions, kind)
		return found != nil && found.Status == status && found.Reason == reason &&
			found.ObservedGeneration == network.Generation, nil
	}).WithTemplate(show, "have "+kind+" "+string(status)+"/"+reason)
}

// beReady is true of a Network whose current generation is done.
func beReady() types.GomegaMatcher {
	return gcustom.MakeMatcher(func(network *samplecrdv1.Network) (bool, error) {
		return verdict(network) == current, nil
	}).WithTemplate(show, "be done and Ready")
}

func beHeld() types.GomegaMatcher {
	return gcustom.MakeMatcher(func(network *samplecrdv1.Network) (bool, error) {
		return controllerutil.ContainsFinalizer(network, samplecrdv1.NetworkFinalizer), nil
	}).WithTemplate(show, "have our finalizer")
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
func verdict(network *samplecrdv1.Network) string {
	conditions := network.Status.Conditions
	switch {
	case network.DeletionTimestamp != nil:
		return terminating
	case network.Status.ObservedGeneration == nil || *network.Status.ObservedGeneration != network.Generation:
		return inProgress
	case meta.IsStatusConditionTrue(conditions, samplecrdv1.NetworkConditionStalled):
		return failed
	case meta.IsStatusConditionTrue(conditions, samplecrdv1.NetworkConditionReady):
		return current
	}
	return inProgress
}

// message gives a condition's message, "" without the condition.
func message(network *samplecrdv1.Network, kind string) string {
	if found := meta.FindStatusCondition(network.Status.Conditions, kind); found != nil {
		return found.Message
	}
	return ""
}
