package admission_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/test/env"
)

func typedFoo(subject *unstructured.Unstructured) *samplev1alpha1.Foo {
	foo := &samplev1alpha1.Foo{}
	foo.Namespace, foo.Name = subject.GetNamespace(), subject.GetName()
	return foo
}

// scaleOf reads the scale of a Foo.
func scaleOf(subject *unstructured.Unstructured) *autoscalingv1.Scale {
	GinkgoHelper()
	scale := &autoscalingv1.Scale{}
	Expect(user.SubResource("scale").Get(ctx, typedFoo(subject), scale)).To(Succeed())
	return scale
}

// scaleTo writes another number to the scale of a Foo, as kubectl scale does.
func scaleTo(subject *unstructured.Unstructured, replicas int32) answer {
	GinkgoHelper()
	scale := scaleOf(subject)
	scale.Spec.Replicas = replicas
	return ask(subject, func(*unstructured.Unstructured) error {
		return user.SubResource("scale").Update(ctx, typedFoo(subject), client.WithSubResourceBody(scale))
	})
}

// patchScale sends a merge patch to the scale of a Foo.
func patchScale(subject *unstructured.Unstructured, body string) answer {
	return ask(subject, func(*unstructured.Unstructured) error {
		return user.SubResource("scale").Patch(ctx, typedFoo(subject), client.RawPatch(types.MergePatchType, []byte(body)),
			client.WithSubResourceBody(&autoscalingv1.Scale{}))
	})
}

// expectLimit demands a refusal that names spec.replicas, the number and the limit.
func expectLimit(a answer, number, limit string) {
	GinkgoHelper()
	expectRefusal(a, "spec.replicas", "Invalid value: "+number+": must be at most "+limit)
}

const byManager = "100, the manager's limit (--foo-max-replicas)"

var _ = Describe("The scale of a Foo", func() {
	var subject *unstructured.Unstructured
	BeforeEach(func() {
		subject = foo(newNamespace(), "subject", `{deploymentName: web, replicas: 2}`)
		expectAccepted(create(subject))
	})

	It("is its number of replicas", func() {
		Expect(scaleOf(subject).Spec.Replicas).To(BeEquivalentTo(2))
		expectAccepted(scaleTo(subject, 7))
		expectReplicas(subject, 7)
		Expect(scaleOf(subject).Spec.Replicas).To(BeEquivalentTo(7))
		expectAccepted(mergePatch(subject, `{"spec":{"replicas":3}}`))
		Expect(scaleOf(subject).Spec.Replicas).To(BeEquivalentTo(3))
	})

	It("is held to the limit", func() {
		expectAccepted(scaleTo(subject, 100))
		expectLimit(scaleTo(subject, 101), "101", byManager)
		expectLimit(patchScale(subject, `{"spec":{"replicas":2147483647}}`), "2147483647", byManager)
		expectReplicas(subject, 100)
		expectLimit(mergePatch(subject, `{"spec":{"replicas":101}}`), "101", byManager)
	})

	It("follows kubectl scale up to the limit, and a person reads why not beyond", func() {
		scale := func(count string) env.Result {
			return kubectl("", "scale", "-n", subject.GetNamespace(), "foo/subject", "--replicas="+count)
		}
		result := scale("100")
		Expect(result.ExitCode).To(BeZero(), result.Stderr)
		Expect(result.Stdout).To(Equal("foo.samplecontroller.k8s.io/subject scaled\n"))
		expectReplicas(subject, 100)

		result = scale("101")
		Expect(result.ExitCode).To(Equal(1))
		Expect(result.Stderr).To(Equal(`The Scale "subject" is invalid: spec.replicas: Invalid value: 101: must be at most ` + byManager + "\n"))

		// kubectl scale itself refuses a negative number; this is how one is sent.
		result = kubectl("", "patch", "-n", subject.GetNamespace(), "foo/subject", "--subresource=scale", "--type=merge", "-p", `{"spec":{"replicas":-1}}`)
		Expect(result.ExitCode).To(Equal(1))
		Expect(result.Stderr).To(And(ContainSubstring("is invalid"), ContainSubstring("spec.replicas: Invalid value: -1")))
		expectReplicas(subject, 100)

		Expect(scale("0").ExitCode).To(BeZero())
		expectReplicas(subject, 0)
	})

	It("is judged in a dry-run, which changes nothing", func() {
		before := stored(subject)
		result := kubectl("", "scale", "-n", subject.GetNamespace(), "foo/subject", "--replicas=5", "--dry-run=server")
		Expect(result.ExitCode).To(BeZero(), result.Stderr)
		result = kubectl("", "scale", "-n", subject.GetNamespace(), "foo/subject", "--replicas=101", "--dry-run=server")
		Expect(result.Stderr).To(ContainSubstring("must be at most 100"))
		Expect(stored(subject)).To(Equal(before))
	})

	It("is driven by a HorizontalPodAutoscaler whose target is the Foo", func() {
		result := kubectl("", "autoscale", "-n", subject.GetNamespace(), "foo/subject", "--min=1", "--max=500", "--cpu=50%")
		Expect(result.ExitCode).To(BeZero(), result.Stderr)
		var hpa autoscalingv2.HorizontalPodAutoscaler
		Expect(user.Get(ctx, client.ObjectKeyFromObject(subject), &hpa)).To(Succeed())
		scaler := newAutoscaler(&hpa)

		Expect(scaler.scale(9)).To(Succeed())
		expectReplicas(subject, 9)
		Expect(scaler.scale(1)).To(Succeed())
		expectReplicas(subject, 1)
		err := scaler.scale(500)
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(And(ContainSubstring("spec.replicas"), ContainSubstring("must be at most "+byManager))))
		expectReplicas(subject, 1)
	})
})

// autoscaler writes as the horizontal pod autoscaler's controller does. That one does
// not run here, as it takes metrics of real Pods. What it has in common with this one
// is all that the API server sees of it: client-go's scale client, made with the REST
// mapper and the kind resolver of discovery, and a target found through the mapper.
type autoscaler struct {
	scales scale.ScalesGetter
	mapper meta.RESTMapper
	hpa    *autoscalingv2.HorizontalPodAutoscaler
}

func newAutoscaler(hpa *autoscalingv2.HorizontalPodAutoscaler) autoscaler {
	GinkgoHelper()
	served, err := discovery.NewDiscoveryClientForConfig(control.Config)
	Expect(err).NotTo(HaveOccurred())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(served))
	scales, err := scale.NewForConfig(control.Config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(served))
	Expect(err).NotTo(HaveOccurred())
	return autoscaler{scales: scales, mapper: mapper, hpa: hpa}
}

// scale reads the target's scale and writes it with another number.
func (a autoscaler) scale(replicas int32) error {
	target := a.hpa.Spec.ScaleTargetRef
	version, err := schema.ParseGroupVersion(target.APIVersion)
	if err != nil {
		return err
	}
	mappings, err := a.mapper.RESTMappings(schema.GroupKind{Group: version.Group, Kind: target.Kind})
	if err != nil {
		return err
	}
	resource, scales := mappings[0].Resource.GroupResource(), a.scales.Scales(a.hpa.Namespace)
	scale, err := scales.Get(ctx, resource, target.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	scale.Spec.Replicas = replicas
	_, err = scales.Update(ctx, resource, scale, metav1.UpdateOptions{})
	return err
}
