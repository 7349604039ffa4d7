package admission_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

var _ = Describe("While the manager is away", Ordered, ContinueOnFailure, func() {
	var namespace string
	var kept, keptFoo, doomed *unstructured.Unstructured

	BeforeAll(func() {
		namespace = newNamespace()
		kept = network(namespace, "kept", `{cidr: 10.0.0.0/24}`)
		expectAccepted(create(kept))
		keptFoo = foo(namespace, "kept", `{deploymentName: kept, replicas: 2}`)
		expectAccepted(create(keptFoo))
		doomed = network(namespace, "doomed", `{cidr: 10.2.0.0/24}`)
		expectAccepted(create(doomed))
		DeferCleanup(serveWebhooks)
		endWebhooks()
	})

	DescribeTable("WO-28: a Network is neither let in nor stored", func(spec string) {
		subject := network(namespace, "subject", spec)
		a := create(subject)
		Expect(apierrors.IsInternalError(a.err)).To(BeTrue(), "%v", a.err)
		Expect(a.err).To(MatchError(ContainSubstring("failed calling webhook")))
		Expect(exists(subject)).To(BeFalse())
	},
		func(spec string) string { return spec },
		Entry(nil, `{cidr: 300.1.1.1/8}`),
		Entry(nil, `{cidr: 10.1.0.0/24}`),
	)

	DescribeTable("WO-28: a Foo is neither let in nor stored", func(spec string) {
		subject := foo(namespace, "subject", spec)
		a := create(subject)
		Expect(apierrors.IsInternalError(a.err)).To(BeTrue(), "%v", a.err)
		Expect(a.err).To(MatchError(ContainSubstring("failed calling webhook")))
		Expect(exists(subject)).To(BeFalse())
	},
		func(spec string) string { return spec },
		Entry(nil, `{deploymentName: a_b}`),
		Entry(nil, `{deploymentName: web}`),
	)

	It("WO-28: kubectl says so", func() {
		result := kubectl(manifest(namespace, "subject", `{cidr: 10.1.0.0/24}`), "create", "-f", "-")
		Expect(result.ExitCode).To(Equal(1))
		Expect(result.Stderr).To(And(ContainSubstring("InternalError"), ContainSubstring("failed calling webhook")))
	})

	It("a change of the spec waits for the manager", func() {
		Expect(apierrors.IsInternalError(mergePatch(kept, `{"spec":{"mtu":1400}}`).err)).To(BeTrue())
		Expect(apierrors.IsInternalError(mergePatch(keptFoo, `{"spec":{"deploymentName":"other"}}`).err)).To(BeTrue())
	})

	It("so does another scale", func() {
		for _, count := range []int32{1, 3, 101} {
			a := scaleTo(keptFoo, count)
			Expect(apierrors.IsInternalError(a.err)).To(BeTrue(), "%v", a.err)
		}
		expectReplicas(keptFoo, 2)
		expectAccepted(scaleTo(keptFoo, 2))
	})

	It("labels and finalizers can be changed", func() {
		for _, object := range []*unstructured.Unstructured{kept, keptFoo} {
			expectAccepted(mergePatch(object, `{"metadata":{"labels":{"colour":"blue"},"finalizers":["example.org/hold"]}}`))
			expectAccepted(mergePatch(object, `{"metadata":{"finalizers":null}}`))
			Expect(stored(object).GetFinalizers()).To(BeEmpty())
			expectAccepted(update(stored(object)))
		}
	})

	It("status can be written", func() {
		var typed samplecrdv1.Network
		Expect(user.Get(ctx, client.ObjectKeyFromObject(kept), &typed)).To(Succeed())
		typed.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Pending", LastTransitionTime: metav1.Now()}}
		Expect(user.Status().Update(ctx, &typed)).To(Succeed())

		foo := typedFoo(keptFoo)
		Expect(user.Get(ctx, client.ObjectKeyFromObject(foo), foo)).To(Succeed())
		foo.Status.AvailableReplicas = new(int32(0))
		Expect(user.Status().Update(ctx, foo)).To(Succeed())
	})

	It("a Network can be deleted", func() {
		Expect(user.Delete(ctx, doomed.DeepCopy())).To(Succeed())
		Expect(exists(doomed)).To(BeFalse())
	})

	It("everything goes on when it is back", func() {
		serveWebhooks()
		expectRefusal(create(network(namespace, "subject", `{cidr: 300.1.1.1/8}`)), "spec.cidr")
		expectAccepted(create(network(namespace, "subject", `{cidr: 10.1.0.0/24}`)))
		expectAccepted(mergePatch(kept, `{"spec":{"mtu":1400}}`))
		expectRefusal(create(foo(namespace, "subject", `{deploymentName: a_b}`)), "spec.deploymentName")
		expectAccepted(create(foo(namespace, "subject", `{deploymentName: web}`)))
		expectAccepted(scaleTo(keptFoo, 3))
	})
})
