package startup

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// newFoo gives a Foo whose Deployment has its name.
func newFoo(namespace, name string, replicas int32) *samplev1alpha1.Foo {
	return &samplev1alpha1.Foo{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       samplev1alpha1.FooSpec{DeploymentName: name, Replicas: &replicas},
	}
}

// createFoo creates the seed's Foo, as soon as its kind is served.
func createFoo(namespace, name string) *samplev1alpha1.Foo {
	GinkgoHelper()
	foo := newFoo(namespace, name, 1)
	Eventually(cluster.Client.Create).WithArguments(ctx, foo).Should(Succeed())
	return foo
}

// scale writes a Foo's replicas as kubectl scale does.
func scale(foo *samplev1alpha1.Foo, replicas int32) error {
	return cluster.Client.SubResource("scale").Update(ctx, foo,
		client.WithSubResourceBody(&autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}))
}

// beOver matches the refusal of more replicas than the manager allows.
func beOver(limit int) types.GomegaMatcher {
	return And(MatchError(apierrors.IsInvalid, "IsInvalid"), MatchError(ContainSubstring("spec.replicas: Invalid value")),
		MatchError(ContainSubstring(fmt.Sprintf("must be at most %d, the manager's limit (--foo-max-replicas)", limit))))
}

// deployment gives the Deployment of a Foo.
func deployment(foo *samplev1alpha1.Foo) func(Gomega) *appsv1.Deployment {
	return func(g Gomega) *appsv1.Deployment {
		var found appsv1.Deployment
		g.Expect(cluster.Client.Get(ctx, client.ObjectKey{Namespace: foo.Namespace, Name: foo.Spec.DeploymentName}, &found)).To(Succeed())
		g.Expect(metav1.IsControlledBy(&found, foo)).To(BeTrue(), "%v", found.OwnerReferences)
		return &found
	}
}

func expectDeployment(foo *samplev1alpha1.Foo) {
	GinkgoHelper()
	Eventually(deployment(foo)).ShouldNot(BeNil())
}

// expectWatched sees a Foo followed, and its Deployment made anew when it is
// deleted, which only watches that work can bring about.
func expectWatched(foo *samplev1alpha1.Foo) {
	GinkgoHelper()
	expectDeployment(foo)
	replicas := ptr.Deref(deployment(foo)(Default).Spec.Replicas, 0) + 1
	Expect(scale(foo, replicas)).To(Succeed())
	Eventually(deployment(foo)).Should(HaveField("Spec.Replicas", HaveValue(Equal(replicas))))

	before := deployment(foo)(Default)
	Expect(cluster.Client.Delete(ctx, before)).To(Succeed())
	Eventually(deployment(foo)).Should(And(
		HaveField("UID", Not(Equal(before.UID))), HaveField("Spec.Replicas", HaveValue(Equal(replicas)))))
}
