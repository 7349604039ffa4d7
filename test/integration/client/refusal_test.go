package client

import (
	"errors"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = Describe("a refusal", func() {
	It("of a Network has the webhook's cause for each fault", func() {
		networks := ours.SamplecrdV1().Networks(newNamespace())
		network := draftNetwork("example-network", "10.0.0.0/24")
		network.Spec.Gateway = "10.0.1.1"
		_, err := networks.Create(ctx, network, metav1.CreateOptions{})
		Expect(err).To(beInvalid("Network", ConsistOf(
			cause("spec.gateway", metav1.CauseTypeFieldValueInvalid, "not inside 10.0.0.0/24"))))

		network.Spec.MTU = new(int32(20))
		_, err = networks.Create(ctx, network, metav1.CreateOptions{})
		Expect(err).To(beInvalid("Network", ConsistOf(
			cause("spec.gateway", metav1.CauseTypeFieldValueInvalid, "not inside 10.0.0.0/24"),
			cause("spec.mtu", metav1.CauseTypeFieldValueInvalid, "must be from 68 to 9216"))))

		network.Spec.Gateway, network.Spec.MTU = "", nil
		created := must(networks.Create(ctx, network, metav1.CreateOptions{}))
		created.Spec.Gateway = "10.0.1.1"
		_, err = networks.Update(ctx, created, metav1.UpdateOptions{})
		Expect(err).To(beInvalid("Network", ConsistOf(
			cause("spec.gateway", metav1.CauseTypeFieldValueInvalid, "not inside 10.0.0.0/24"))))
	})

	It("of a Foo names its field, on the scale as well", func() {
		foos := ours.SamplecontrollerV1alpha1().Foos(newNamespace())
		foo := draftFoo("example-foo", "web")
		foo.Spec.Replicas = new(int32(-1))
		_, err := foos.Create(ctx, foo, metav1.CreateOptions{})
		Expect(err).To(beInvalid("Foo", ContainElement(cause("spec.replicas", metav1.CauseTypeFieldValueInvalid, "-1"))))

		foo.Spec.Replicas = new(int32(0))
		must(foos.Create(ctx, foo, metav1.CreateOptions{}))
		scale := must(foos.GetScale(ctx, "example-foo", metav1.GetOptions{}))
		scale.Spec.Replicas = -1
		_, err = foos.UpdateScale(ctx, "example-foo", scale, metav1.UpdateOptions{})
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(causes(err)).To(ContainElement(HaveField("Field", "spec.replicas")))
	})
})

// beInvalid is true of a 422 about a kind, with causes that match.
func beInvalid(kind string, matching types.GomegaMatcher) types.GomegaMatcher {
	return And(
		WithTransform(apierrors.IsInvalid, BeTrue()),
		WithTransform(func(err error) string { return details(err).Kind }, Equal(kind)),
		WithTransform(causes, matching),
	)
}

func cause(field string, kind metav1.CauseType, text string) types.GomegaMatcher {
	return And(HaveField("Field", field), HaveField("Type", kind), HaveField("Message", ContainSubstring(text)))
}

func causes(err error) []metav1.StatusCause { return details(err).Causes }

// details gives what the API server says about an error beside its text.
func details(err error) metav1.StatusDetails {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return metav1.StatusDetails{}
	}
	return *status.Status().Details
}
