package admission_test

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/test/env"
)

const limitAnnotation = "samplecontroller.k8s.io/max-replicas"

// lower sets the limit that a namespace has for itself, and returns when the
// webhooks know: when a Foo of 100 replicas is judged as known says.
func lower(namespace, text string, known func(answer) bool) {
	GinkgoHelper()
	object := &corev1.Namespace{}
	object.Name = namespace
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, limitAnnotation, text)
	Expect(user.Patch(ctx, object, client.RawPatch(types.MergePatchType, body))).To(Succeed())
	Eventually(func() bool {
		return known(create(foo(namespace, "probe", `{deploymentName: probe, replicas: 100}`), client.DryRunAll))
	}).Should(BeTrue(), "the webhooks know the limit %q", text)
}

func lowered(a answer) bool   { return len(causes(a.err)) == 1 }
func unlimited(a answer) bool { return a.err == nil && len(a.warnings) == 0 }

// byNamespace is how a refusal names a limit of the namespace.
func byNamespace(limit string) string {
	return limit + ", the limit of the namespace (annotation " + limitAnnotation + ")"
}

var _ = Describe("The limit of replicas", func() {
	var namespace string
	BeforeEach(func() { namespace = newNamespace() })

	// of builds a Foo with a number of replicas.
	of := func(name, replicas string) *unstructured.Unstructured {
		return foo(namespace, name, `{deploymentName: `+name+`, replicas: `+replicas+`}`)
	}

	It("is 100 unless the manager's flag says otherwise, on create and on update", func() {
		subject := of("subject", "100")
		expectAccepted(create(subject))
		expectLimit(create(of("larger", "101")), "101", byManager)
		expectLimit(mergePatch(subject, `{"spec":{"replicas":101}}`), "101", byManager)
		expectLimit(update(withSpec(stored(subject), `{deploymentName: subject, replicas: 101}`)), "101", byManager)
	})

	It("is the flag's", func() {
		running := of("running", "10")
		expectAccepted(create(running))
		DeferCleanup(func() {
			endWebhooks()
			serveWebhooks()
		})
		endWebhooks()
		serve(env.ManagerOptions{Webhooks: true, FooMaxReplicas: 3})

		const byFlag = "3, the manager's limit (--foo-max-replicas)"
		expectAccepted(create(of("subject", "3")))
		expectLimit(create(of("larger", "4")), "4", byFlag)
		expectLimit(scaleTo(running, 11), "11", byFlag)
		expectAccepted(scaleTo(running, 9), "spec.replicas: 9 is more than is allowed by now, "+byFlag)
	})

	It("can be lowered by the namespace, for create, update and scale", func() {
		lower(namespace, "5", lowered)
		subject := of("subject", "5")
		expectAccepted(create(subject))
		expectLimit(create(of("larger", "6")), "6", byNamespace("5"))
		expectLimit(mergePatch(subject, `{"spec":{"replicas":6}}`), "6", byNamespace("5"))
		expectLimit(scaleTo(subject, 6), "6", byNamespace("5"))
		expectReplicas(subject, 5)

		elsewhere := foo(newNamespace(), "subject", `{deploymentName: subject, replicas: 100}`)
		expectAccepted(create(elsewhere))
	})

	It("cannot be raised by the namespace", func() {
		lower(namespace, "5", lowered)
		lower(namespace, "500", unlimited)
		subject := of("subject", "100")
		expectAccepted(create(subject))
		expectLimit(create(of("larger", "101")), "101", byManager)
		expectLimit(scaleTo(subject, 101), "101", byManager)
	})

	It("may be 0", func() {
		lower(namespace, "0", lowered)
		expectAccepted(create(of("none", "0")))
		expectLimit(create(of("one", "1")), "1", byNamespace("0"))
		expectLimit(create(foo(namespace, "default", `{deploymentName: default}`)), "1", byNamespace("0"))
	})

	It("is not what the annotation says if that is no number, and one is warned of it", func() {
		subject := of("subject", "1")
		expectAccepted(create(subject))
		for _, text := range []string{"abc", "-1", "1.5", "", "+5", " 5", "5 ", "0x5", "1e1", "99999999999"} {
			By(text)
			warning := fmt.Sprintf("the namespace's annotation %s is ignored: %q is not an integer from 0 to 2147483647", limitAnnotation, text)
			lower(namespace, text, func(a answer) bool { return len(a.warnings) == 1 && a.warnings[0] == warning })
			expectLimit(create(of("larger", "101")), "101", byManager)
			expectAccepted(mergePatch(subject, `{"spec":{"replicas":50}}`), warning)
			expectAccepted(scaleTo(subject, 100), warning)
			expectLimit(scaleTo(subject, 101), "101", byManager)
			expectAccepted(mergePatch(subject, fmt.Sprintf(`{"metadata":{"labels":{"last":"%d"}}}`, len(text))))
		}
	})

	Describe("lowered below a running Foo", func() {
		const above = " is more than is allowed by now, "
		var running *unstructured.Unstructured
		BeforeEach(func() {
			running = of("running", "10")
			expectAccepted(create(running))
			lower(namespace, "5", lowered)
		})

		It("kills nothing, and lets it be changed and made smaller", func() {
			expectAccepted(mergePatch(running, `{"spec":{"deploymentName":"other"}}`), "spec.replicas: 10"+above+byNamespace("5"))
			expectAccepted(mergePatch(running, `{"spec":{"replicas":8}}`), "spec.replicas: 8"+above+byNamespace("5"))
			expectLimit(mergePatch(running, `{"spec":{"replicas":9}}`), "9", byNamespace("5"))
			expectReplicas(running, 8)
			expectAccepted(mergePatch(running, `{"spec":{"replicas":5}}`))
			expectLimit(mergePatch(running, `{"spec":{"replicas":6}}`), "6", byNamespace("5"))
		})

		It("does the same through scale", func() {
			expectAccepted(scaleTo(running, 10))
			expectAccepted(scaleTo(running, 8), "spec.replicas: 8"+above+byNamespace("5"))
			expectLimit(scaleTo(running, 9), "9", byNamespace("5"))
			expectReplicas(running, 8)
			expectAccepted(scaleTo(running, 5))
			expectLimit(scaleTo(running, 6), "6", byNamespace("5"))
		})

		It("does not hinder labels, finalizers and writes of what is there, and then says nothing", func() {
			expectAccepted(mergePatch(running, `{"metadata":{"labels":{"colour":"blue"},"finalizers":["example.org/hold"]}}`))
			expectAccepted(mergePatch(running, `{"metadata":{"finalizers":null}}`))
			expectAccepted(update(stored(running)))
		})

		It("is told to a person who scales", func() {
			result := kubectl("", "scale", "-n", namespace, "foo/running", "--replicas=8")
			Expect(result.ExitCode).To(BeZero())
			Expect(result.Stderr).To(Equal("Warning: spec.replicas: 8" + above + byNamespace("5") + "\n"))
			result = kubectl("", "scale", "-n", namespace, "foo/running", "--replicas=9")
			Expect(result.ExitCode).To(Equal(1))
			Expect(result.Stderr).To(Equal(`The Scale "running" is invalid: spec.replicas: Invalid value: 9: must be at most ` + byNamespace("5") + "\n"))
		})
	})
})
