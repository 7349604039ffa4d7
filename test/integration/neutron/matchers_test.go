package neutron

import (
	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gcustom"
	"github.com/onsi/gomega/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

const show = "Expected Network {{.Actual.Name}} {{.To}} {{.Data}}, generation {{.Actual.Generation}}, finalizers {{.Actual.Finalizers}}, status:\n{{format .Actual.Status}}"

// beUnready is true of a Network that is not Ready, as of its current generation, for
// that reason, with a message in which all parts are.
func beUnready(reason string, parts ...types.GomegaMatcher) types.GomegaMatcher {
	return gcustom.MakeMatcher(func(network *samplecrdv1.Network) (bool, error) {
		found := meta.FindStatusCondition(network.Status.Conditions, samplecrdv1.NetworkConditionReady)
		if found == nil || found.Status != metav1.ConditionFalse || found.Reason != reason || found.ObservedGeneration != network.Generation {
			return false, nil
		}
		for _, part := range parts {
			if matches, err := part.Match(found.Message); !matches || err != nil {
				return false, err
			}
		}
		return true, nil
	}).WithTemplate(show, "be Ready=False/"+reason)
}

// beStalled is true of a Network for which somebody has to act.
func beStalled() types.GomegaMatcher {
	return gcustom.MakeMatcher(func(network *samplecrdv1.Network) (bool, error) {
		return meta.IsStatusConditionTrue(network.Status.Conditions, samplecrdv1.NetworkConditionStalled), nil
	}).WithTemplate(show, "be Stalled")
}

// beReady is true of a Network whose current generation is done.
func beReady() types.GomegaMatcher {
	return gcustom.MakeMatcher(func(network *samplecrdv1.Network) (bool, error) {
		return isReady(network), nil
	}).WithTemplate(show, "be done and Ready")
}

func isReady(network *samplecrdv1.Network) bool {
	found := meta.FindStatusCondition(network.Status.Conditions, samplecrdv1.NetworkConditionReady)
	return found != nil && found.Status == metav1.ConditionTrue && found.ObservedGeneration == network.Generation
}

func beHeld() types.GomegaMatcher {
	return gcustom.MakeMatcher(func(network *samplecrdv1.Network) (bool, error) {
		return controllerutil.ContainsFinalizer(network, samplecrdv1.NetworkFinalizer), nil
	}).WithTemplate(show, "have our finalizer")
}

// containAll is true of a text with all parts in it.
func containAll(parts []string) types.GomegaMatcher {
	all := make([]types.GomegaMatcher, len(parts))
	for i, part := range parts {
		all[i] = gomega.ContainSubstring(part)
	}
	return gomega.And(all...)
}

// message gives what Ready says.
func message(network *samplecrdv1.Network) string {
	if found := meta.FindStatusCondition(network.Status.Conditions, samplecrdv1.NetworkConditionReady); found != nil {
		return found.Message
	}
	return ""
}
