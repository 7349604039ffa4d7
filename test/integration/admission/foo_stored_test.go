package admission_test

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// What was stored when neither gate was there, or when they had other rules. Changes
// of the spec are in testdata/foo-updates.yaml.
var _ = Describe("A Foo that is stored", Ordered, ContinueOnFailure, func() {
	var namespace string
	subject := func(name string) *unstructured.Unstructured { return newObject("Foo", namespace, name) }

	BeforeAll(func() {
		namespace = newNamespace()
		unguarded(func() {
			for name, spec := range map[string]string{
				"malformed":          `{deploymentName: a_b, replicas: 5}`,
				"malformed-leaving":  `{deploymentName: a_b, replicas: 5}`,
				"empty":              `{deploymentName: "", replicas: 5}`,
				"nameless":           `{replicas: 5}`,
				"many":               `{deploymentName: many, replicas: 150}`,
				"template":           `{deploymentName: template, replicas: 5, podTemplateName: A_B}`,
				"negative":           `{deploymentName: negative, replicas: -1}`,
				"without-to-read":    `{deploymentName: without-to-read}`,
				"without-to-replace": `{deploymentName: without-to-replace}`,
				"without-to-patch":   `{deploymentName: without-to-patch}`,
				"without-to-apply":   `{deploymentName: without-to-apply}`,
				"without-to-scale":   `{deploymentName: without-to-scale}`,
				"without-to-label":   `{deploymentName: without-to-label}`,
			} {
				object := foo(namespace, name, spec)
				if name == "malformed-leaving" {
					object.SetFinalizers([]string{"example.org/hold"})
				}
				Expect(create(object).err).NotTo(HaveOccurred())
				Expect(stored(object).Object["spec"]).To(Equal(object.Object["spec"]), "nothing is filled in")
			}
		}, anyFoo)
	})

	Describe("without replicas", func() {
		It("reads as 1 everywhere", func() {
			without := subject("without-to-read")
			expectReplicas(without, 1)
			Expect(scaleOf(without).Spec.Replicas).To(BeEquivalentTo(1))
			var foos samplev1alpha1.FooList
			Expect(user.List(ctx, &foos, client.InNamespace(namespace), client.MatchingFields{samplev1alpha1.FieldDeploymentName: without.GetName()})).To(Succeed())
			Expect(foos.Items).To(HaveLen(1))
			Expect(foos.Items[0].Spec.Replicas).To(HaveValue(BeEquivalentTo(1)))
			result := kubectl("", "get", "foo", "-n", namespace, without.GetName())
			Expect(strings.Fields(lines(result.Stdout, "without-to-read")[0])[:3]).To(Equal([]string{"without-to-read", "without-to-read", "1"}))
		})

		It("can be written as it is read", func() {
			without := subject("without-to-replace")
			expectAccepted(update(stored(without)))
			expectReplicas(without, 1)
		})

		It("can be changed", func() {
			without := subject("without-to-patch")
			expectAccepted(mergePatch(without, `{"spec":{"deploymentName":"other"}}`))
			expectReplicas(without, 1)
			expectAccepted(mergePatch(without, `{"spec":{"replicas":3}}`))
			expectReplicas(without, 3)
		})

		It("can be applied", func() {
			without := subject("without-to-apply")
			file := fooManifest(namespace, without.GetName(), `{deploymentName: without-to-apply}`)
			Expect(kubectl(file, "apply", "--server-side", "-f", "-").ExitCode).To(BeZero())
			expectReplicas(without, 1)
		})

		It("can be scaled", func() {
			without := subject("without-to-scale")
			expectAccepted(scaleTo(without, 4))
			expectReplicas(without, 4)
		})

		It("can be labelled", func() {
			without := subject("without-to-label")
			expectAccepted(mergePatch(without, `{"metadata":{"labels":{"colour":"blue"}}}`))
			expectReplicas(without, 1)
		})
	})

	DescribeTable("with a fault can have its labels and finalizers changed", func(name string) {
		kept := stored(subject(name))
		expectLetThrough(mergePatch(kept, `{"metadata":{"labels":{"colour":"blue"},"finalizers":["example.org/hold"]}}`))
		expectLetThrough(mergePatch(kept, `{"metadata":{"finalizers":null}}`))
		expectLetThrough(update(stored(kept)))
		Expect(kubectl("", "annotate", "-n", namespace, "foo/"+name, "note=kept").ExitCode).To(BeZero())
		Expect(stored(kept).GetLabels()).To(HaveKeyWithValue("colour", "blue"))
		Expect(stored(kept).Object["spec"]).To(Equal(kept.Object["spec"]))
	},
		Entry("a malformed deploymentName", "malformed"),
		Entry("AF-10: an empty deploymentName", "empty"),
		Entry("AF-10: no deploymentName", "nameless"),
		Entry("too many replicas", "many"),
		Entry("a malformed podTemplateName", "template"),
	)

	DescribeTable("with a fault can be scaled down", func(name string, to int32, warned ...string) {
		a := scaleTo(subject(name), to)
		expectLetThrough(a)
		expectWarnings(slices.DeleteFunc(a.warnings, ratcheted), warned...)
		expectReplicas(subject(name), to)
	},
		Entry("a malformed deploymentName", "malformed", int32(2)),
		Entry("an empty deploymentName", "empty", int32(2)),
		Entry("too many replicas", "many", int32(120), "120 is more than is allowed by now"),
		Entry("a malformed podTemplateName", "template", int32(2)),
	)

	It("AF-10: without a deploymentName says that it is required when it is scaled", func() {
		a := scaleTo(subject("nameless"), 2)
		Expect(apierrors.IsInvalid(a.err)).To(BeTrue(), "%v", a.err)
		Expect(fields(causes(a.err))).To(ContainElement("spec.deploymentName"))
		expectAccepted(mergePatch(subject("nameless"), `{"spec":{"deploymentName":"named"}}`))
		expectAccepted(scaleTo(subject("nameless"), 2))
	})

	It("with negative replicas is held by the API server itself until it has others", func() {
		negative := subject("negative")
		a := mergePatch(negative, `{"metadata":{"labels":{"colour":"blue"}}}`)
		Expect(apierrors.IsInvalid(a.err)).To(BeTrue(), "%v", a.err)
		Expect(fields(causes(a.err))).To(ContainElement(".spec.replicas"))
		expectAccepted(scaleTo(negative, 0))
		expectAccepted(mergePatch(negative, `{"metadata":{"labels":{"colour":"blue"}}}`))
	})

	It("WO-13: with a fault, and is being deleted, can lose its finalizers", func() {
		leaving := subject("malformed-leaving")
		Expect(user.Delete(ctx, leaving.DeepCopy())).To(Succeed())
		Expect(stored(leaving).GetDeletionTimestamp()).NotTo(BeNil())
		expectRefusal(mergePatch(leaving, `{"spec":{"deploymentName":"b_c"}}`), "spec.deploymentName", "write b-c")
		expectLetThrough(mergePatch(leaving, `{"metadata":{"finalizers":null}}`))
		Expect(exists(leaving)).To(BeFalse())
	})
})
