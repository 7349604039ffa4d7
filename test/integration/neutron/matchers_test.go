package neutron

import (
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/matchers"
)

// beUnready is true of a Network that is not Ready, as of its current generation, for
// that reason, with a message in which all parts are.
func beUnready(reason string, parts ...types.GomegaMatcher) types.GomegaMatcher {
	return And(
		matchers.HaveCondition(samplecrdv1.NetworkConditionReady, metav1.ConditionFalse, reason),
		WithTransform(message, And(parts...)),
	)
}

// beStalled is true of a Network for which somebody has to act.
func beStalled() types.GomegaMatcher {
	return HaveField("Status.Conditions", ContainElement(And(
		HaveField("Type", samplecrdv1.NetworkConditionStalled), HaveField("Status", metav1.ConditionTrue),
	)))
}

// message gives what Ready says.
func message(network *samplecrdv1.Network) string {
	return matchers.Message(network, samplecrdv1.NetworkConditionReady)
}
