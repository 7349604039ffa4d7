package admission_test

import (
	"fmt"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/samplecrd/samplecrd/test/env"
)

var _ = Describe("Cases about Foos", func() {
	It("AF-01: absent and null replicas are stored as 1 by either gate", func() {
		namespace := newNamespace()
		specs := []string{`{deploymentName: %s}`, `{deploymentName: %s, replicas: null}`}
		expectOne := func(names ...string) {
			for i, name := range names {
				subject := foo(namespace, name, fmt.Sprintf(specs[i], name))
				expectAccepted(create(subject))
				Expect(stored(subject).Object["spec"]).To(Equal(map[string]any{"deploymentName": name, "replicas": int64(1)}))
			}
		}
		expectOne("af-01", "af-01-null")
		floorAlone()
		expectOne("floor", "floor-null")
	})

	It("0 replicas are legal and stay 0", func() {
		subject := foo(newNamespace(), "idle", `{deploymentName: idle, replicas: 0}`)
		expectAccepted(create(subject))
		expectReplicas(subject, 0)
		expectAccepted(mergePatch(subject, `{"spec":{"deploymentName":"idle2"}}`))
		expectAccepted(update(stored(subject)))
		expectAccepted(scaleTo(subject, 2))
		expectAccepted(scaleTo(subject, 0))
		expectReplicas(subject, 0)
	})

	Describe("AF-05: negative replicas are refused", func() {
		var good *unstructured.Unstructured
		BeforeEach(func() {
			good = foo(newNamespace(), "good", `{deploymentName: good, replicas: 2}`)
			expectAccepted(create(good))
		})
		AfterEach(func() { expectReplicas(good, 2) })

		// onScale demands the API server's own refusal, which comes before admission. The
		// least that the type holds stands for "not set" there.
		onScale := func(count string) {
			GinkgoHelper()
			a := patchScale(good, `{"spec":{"replicas":`+count+`}}`)
			if count == "-2147483648" {
				Expect(apierrors.IsBadRequest(a.err)).To(BeTrue(), "%v", a.err)
				Expect(a.err).To(MatchError(ContainSubstring("spec.replicas")))
				return
			}
			Expect(apierrors.IsInvalid(a.err)).To(BeTrue(), "%v", a.err)
			Expect(fields(causes(a.err))).To(ContainElement("spec.replicas"))
		}
		for _, count := range []string{"-1", "-2147483648"} {
			body := `{"spec":{"replicas":` + count + `}}`
			bad := func() *unstructured.Unstructured {
				return foo(good.GetNamespace(), "af-05", `{deploymentName: af-05, replicas: `+count+`}`)
			}
			It(count+" on create, update and scale", func() {
				expectRefusal(create(bad()), "spec.replicas", count, "must be 0 or more")
				Expect(exists(bad())).To(BeFalse())
				expectRefusal(mergePatch(good, body), "spec.replicas", count, "must be 0 or more")
				onScale(count)
			})
			It(count+" by the CRD's rules alone", func() {
				floorAlone()
				for _, a := range []answer{create(bad()), mergePatch(good, body)} {
					Expect(apierrors.IsInvalid(a.err)).To(BeTrue(), "%v", a.err)
					Expect(fields(causes(a.err))).To(ContainElement("spec.replicas"))
				}
				Expect(exists(bad())).To(BeFalse())
				onScale(count)
			})
		}
	})

	Describe("AF-06: what is no number of replicas is refused", Ordered, func() {
		var good *unstructured.Unstructured
		BeforeAll(func() {
			good = foo(newNamespace(), "good", `{deploymentName: good, replicas: 2}`)
			expectAccepted(create(good))
		})
		AfterEach(func() { expectReplicas(good, 2) })

		// Sent as they are: a decoder on this side would round the large ones.
		inputs := []string{"2147483648", "9223372036854775807", "9223372036854775808", "-2147483649", `"3"`, "1.5", "true"}
		// refuse sends one as a new Foo, as an update and as a scale.
		refuse := func(input string, codes ...any) {
			GinkgoHelper()
			created, text := post("/apis/samplecontroller.k8s.io/v1alpha1/namespaces/"+good.GetNamespace()+"/foos", `{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo","metadata":{"name":"af-06"},"spec":{"deploymentName":"af-06","replicas":`+input+`}}`)
			Expect(created.StatusCode).To(BeElementOf(codes...), text)
			Expect(text).To(ContainSubstring("spec.replicas"))
			Expect(exists(newObject("Foo", good.GetNamespace(), "af-06"))).To(BeFalse())

			body := `{"spec":{"replicas":` + input + `}}`
			for _, a := range []answer{mergePatch(good, body), patchScale(good, body)} {
				Expect(a.err).To(HaveOccurred())
				Expect(a.err.(apierrors.APIStatus).Status().Code).To(Or(BeEquivalentTo(http.StatusBadRequest), BeEquivalentTo(http.StatusUnprocessableEntity)), "%v", a.err)
				Expect(a.err).To(MatchError(ContainSubstring("replicas")))
			}
		}
		for _, input := range inputs {
			It(input, func() { refuse(input, http.StatusBadRequest) })
		}
		It("one more than the limit, 101", func() { refuse("101", http.StatusUnprocessableEntity) })

		Context("by the CRD's rules alone", Ordered, func() {
			BeforeAll(floorAlone)
			for _, input := range inputs {
				It(input, func() { refuse(input, http.StatusUnprocessableEntity) })
			}
			It("the limit is not the CRD's: the largest number that it takes is 2147483647", func() {
				expectAccepted(create(foo(good.GetNamespace(), "most", `{deploymentName: most, replicas: 2147483647}`)))
			})
		})
	})

	Describe("AF-08: deploymentName is the name of a Deployment", func() {
		for name, better := range map[string]string{
			"drain-node_manager": "drain-node-manager", "-web": "web", "web-": "web", "a b": "a-b", "web/1": "web-1",
		} {
			It("not "+name, func() {
				bad := foo(newNamespace(), "af-08", `{deploymentName: "`+name+`"}`)
				expectRefusal(create(bad), "spec.deploymentName", fmt.Sprintf("%q", name), "lower case letters, digits, '-' and '.'", "write "+better)
				good := foo(bad.GetNamespace(), "af-08", `{deploymentName: good}`)
				expectAccepted(create(good))
				expectRefusal(mergePatch(good, `{"spec":{"deploymentName":"`+name+`"}}`), "spec.deploymentName", "write "+better)
			})
		}
		for _, name := range []string{"web.v1", "1web", strings.Repeat("long-name.", 24) + "ab"} {
			It("for example "+name, func() {
				subject := foo(newNamespace(), "af-08", `{deploymentName: `+name+`}`)
				expectAccepted(create(subject))
				Expect(specOf(stored(subject), "deploymentName")).To(Equal(name))
			})
		}
		It("of at most 253 characters, and of more than 242 with a warning", func() {
			namespace := newNamespace()
			name := strings.Repeat("long-name.", 25)
			expectAccepted(create(foo(namespace, "longest", `{deploymentName: `+name+`abc}`)), "spec.deploymentName: a Deployment whose name has more than 242 characters")
			a := create(foo(namespace, "too-long", `{deploymentName: `+name+`abcd}`))
			expectCause(a, "FieldValueTooLong", "spec.deploymentName", "253")
			a = create(foo(namespace, "too-long", `{deploymentName: `+strings.Repeat("x", 100_000)+`}`))
			expectCause(a, "FieldValueTooLong", "spec.deploymentName", "253")
			Expect(len(a.err.Error())).To(BeNumerically("<", 1000), "it is not repeated")
		})
	})

	Describe("AF-10: a missing deploymentName is required", func() {
		inputs := []string{`{deploymentName: "", replicas: 1}`, `{replicas: 1}`, `{}`, `null`}
		It("by the webhooks, on create and on update", func() {
			good := foo(newNamespace(), "good", `{deploymentName: good}`)
			expectAccepted(create(good))
			for _, input := range inputs {
				bad := foo(good.GetNamespace(), "af-10", input)
				for _, a := range []answer{create(bad), update(withSpec(stored(good), input))} {
					expectCause(a, metav1.CauseTypeFieldValueRequired, "spec.deploymentName", "name the Deployment that this Foo keeps")
				}
				Expect(exists(bad)).To(BeFalse())
			}
			withoutSpec := newObject("Foo", good.GetNamespace(), "af-10")
			expectCause(create(withoutSpec), metav1.CauseTypeFieldValueRequired, "spec.deploymentName")
		})
		It("by the CRD's rules alone", func() {
			floorAlone()
			namespace := newNamespace()
			for _, input := range inputs {
				a := create(foo(namespace, "af-10", input))
				Expect(apierrors.IsInvalid(a.err)).To(BeTrue(), "%v", a.err)
				Expect(causes(a.err)).To(ContainElement(HaveField("Type", metav1.CauseTypeFieldValueRequired)), "%v", a.err)
			}
		})
	})

	DescribeTable("AF-13: giving replicas up sets them to 1", func(args ...string) {
		subject := newObject("Foo", newNamespace(), "af-13")
		apply := func(spec string) env.Result {
			return kubectl(fooManifest(subject.GetNamespace(), "af-13", spec), append(args, "-f", "-")...)
		}
		Expect(apply(`{deploymentName: af-13, replicas: 5}`).ExitCode).To(BeZero())
		expectReplicas(subject, 5)
		result := apply(`{deploymentName: af-13}`)
		Expect(result.ExitCode).To(BeZero())
		Expect(result.Stderr).To(BeEmpty())
		expectReplicas(subject, 1)
	},
		Entry("by client-side apply", "apply"),
		Entry("by server-side apply", "apply", "--server-side"),
	)
})

// expectReplicas demands a number in what is stored.
func expectReplicas(subject *unstructured.Unstructured, want int32) {
	GinkgoHelper()
	Expect(replicasOf(stored(subject))).To(HaveValue(Equal(want)))
}
