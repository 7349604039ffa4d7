package admission_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/test/env"
)

var _ = Describe("With the controller of Foos running", Ordered, ContinueOnFailure, func() {
	BeforeAll(func() {
		stop, err := control.StartManager(env.ManagerOptions{Controllers: true})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(stop()).To(Succeed()) })
	})

	// reason is that of Ready, "" while it speaks of an older generation.
	reason := func(subject *unstructured.Unstructured) string {
		GinkgoHelper()
		foo := typedFoo(subject)
		Expect(user.Get(ctx, client.ObjectKeyFromObject(foo), foo)).To(Succeed())
		ready := meta.FindStatusCondition(foo.Status.Conditions, samplev1alpha1.FooConditionReady)
		if ready == nil || ready.ObservedGeneration != foo.Generation {
			return ""
		}
		return ready.Reason
	}
	// becomes waits for a reason after which the controller has no more to write.
	becomes := func(subject *unstructured.Unstructured, want string) {
		GinkgoHelper()
		Eventually(func() string { return reason(subject) }).Should(Equal(want))
	}
	// settle plays the Deployment controller, and returns when the Foo is ready.
	settle := func(subject *unstructured.Unstructured) {
		GinkgoHelper()
		deployment, key := &appsv1.Deployment{}, types.NamespacedName{Namespace: subject.GetNamespace(), Name: specOf(stored(subject), "deploymentName")}
		Eventually(func(g Gomega) {
			g.Expect(user.Get(ctx, key, deployment)).To(Succeed())
			count := *deployment.Spec.Replicas
			deployment.Status = appsv1.DeploymentStatus{
				ObservedGeneration: deployment.Generation, Replicas: count, UpdatedReplicas: count, ReadyReplicas: count, AvailableReplicas: count,
			}
			g.Expect(user.Status().Update(ctx, deployment)).To(Succeed())
		}).Should(Succeed())
		becomes(subject, samplev1alpha1.FooReasonReady)
	}

	DescribeTable("AF-01: applying the file again changes nothing", func(args ...string) {
		namespace := newNamespace()
		var file string
		var subjects []*unstructured.Unstructured
		for name, spec := range map[string]string{
			"absent": `{deploymentName: absent}`,
			"nulled": `{deploymentName: nulled, replicas: null}`,
			"three":  `{deploymentName: three, replicas: 3}`,
		} {
			file += "---\n" + fooManifest(namespace, name, spec)
			subjects = append(subjects, newObject("Foo", namespace, name))
		}
		apply := func() {
			GinkgoHelper()
			result := kubectl(file, append(args, "-f", "-")...)
			Expect(result.ExitCode).To(BeZero(), result.Stderr)
			Expect(result.Stderr).To(BeEmpty())
		}
		apply()
		var kept []*unstructured.Unstructured
		for _, subject := range subjects {
			settle(subject)
			kept = append(kept, stored(subject))
		}
		apply()
		apply()
		for i, subject := range subjects {
			Expect(stored(subject)).To(Equal(kept[i]), "as it was, resourceVersion included")
		}
	},
		Entry("by client-side apply", "apply"),
		Entry("by server-side apply", "apply", "--server-side"),
	)

	It("AF-15: a status in the manifest is dropped, whoever sends it and whenever", func() {
		namespace := newNamespace()
		file := fooManifest(namespace, "af-15", `{deploymentName: af-15, replicas: 1}`) + "status: {availableReplicas: 99, conditions: []}\n"
		subject := newObject("Foo", namespace, "af-15")
		for _, args := range [][]string{{"create"}, {"apply"}, {"apply", "--server-side", "--force-conflicts"}, {"replace"}} {
			result := kubectl(file, append(args, "-f", "-")...)
			Expect(result.ExitCode).To(BeZero(), result.Stderr)
			status, _, err := unstructured.NestedMap(stored(subject).Object, "status")
			Expect(err).NotTo(HaveOccurred())
			Expect(status).NotTo(HaveKeyWithValue("availableReplicas", int64(99)))
		}
		expectAccepted(mergePatch(subject, `{"status":{"availableReplicas":99}}`))
		settle(subject)
		Expect(stored(subject).Object["status"]).To(HaveKeyWithValue("availableReplicas", int64(1)))
	})

	It("WO-17: a dry-run answers as the real call does and leaves no trace", func() {
		namespace := newNamespace()
		good := fooManifest(namespace, "dry", `{deploymentName: dry, podTemplateName: absent}`)
		bad := fooManifest(namespace, "dry", `{deploymentName: Dry, replicas: 101}`)
		const warning = `(?m)^Warning: spec\.podTemplateName: PodTemplate absent not found`

		result := kubectl(good, "apply", "--dry-run=server", "-o", "yaml", "-f", "-")
		Expect(result.ExitCode).To(BeZero())
		Expect(result.Stdout).To(MatchRegexp(`(?m)^  replicas: 1$`))
		Expect(result.Stderr).To(MatchRegexp(warning))

		result = kubectl(good, "diff", "-f", "-")
		Expect(result.ExitCode).To(Equal(1), "there is a difference")
		Expect(result.Stdout).To(MatchRegexp(`(?m)^\+  replicas: 1$`))
		Expect(result.Stderr).To(MatchRegexp(warning))

		result = kubectl(bad, "apply", "--dry-run=server", "-f", "-")
		Expect(result.ExitCode).To(Equal(1))
		Expect(result.Stderr).To(HavePrefix(`The Foo "dry" is invalid: `))
		Expect(result.Stderr).To(Equal(kubectl(bad, "apply", "-f", "-").Stderr), "as the real call")
		Expect(exists(newObject("Foo", namespace, "dry"))).To(BeFalse())

		// A Foo that comes later has been seen through; so has whatever the dry-runs
		// might have set off.
		later := foo(namespace, "later", `{deploymentName: later}`)
		expectAccepted(create(later))
		settle(later)
		var deployments appsv1.DeploymentList
		Expect(user.List(ctx, &deployments, client.InNamespace(namespace))).To(Succeed())
		Expect(deployments.Items).To(HaveExactElements(HaveField("Name", "later")))

		before := stored(later)
		result = kubectl(fooManifest(namespace, "later", `{deploymentName: later, replicas: 7}`), "apply", "--server-side", "--force-conflicts", "--dry-run=server", "-o", "yaml", "-f", "-")
		Expect(result.ExitCode).To(BeZero(), result.Stderr)
		Expect(result.Stdout).To(MatchRegexp(`(?m)^  replicas: 7$`))
		Expect(stored(later)).To(Equal(before))
	})

	It("WO-31: writing a stored invalid Foo unchanged changes nothing", func() {
		namespace := newNamespace()
		many := foo(namespace, "many", `{deploymentName: many, replicas: 150}`)
		subjects := []*unstructured.Unstructured{
			foo(namespace, "malformed", `{deploymentName: a_b, replicas: 5}`),
			foo(namespace, "empty", `{deploymentName: "", replicas: 5}`),
			foo(namespace, "nameless", `{replicas: 5}`),
			foo(namespace, "template", `{deploymentName: template, replicas: 5, podTemplateName: A_B}`),
		}
		unguarded(func() {
			for _, subject := range append(subjects, many) {
				Expect(create(subject).err).NotTo(HaveOccurred())
			}
		}, anyFoo)
		for _, subject := range append(subjects, many) {
			// Until a controller has written the status, its default is not stored,
			// and the API server's own filling it in makes the first write one.
			if subject == many {
				settle(subject)
			} else {
				becomes(subject, samplev1alpha1.FooReasonInvalid)
			}
			kept := stored(subject)
			expectLetThrough(update(kept))
			Expect(stored(subject)).To(Equal(kept), "as it was, resourceVersion included")

			got := kubectl("", "get", "foo", "-n", namespace, subject.GetName(), "-o", "yaml")
			Expect(kubectl(got.Stdout, "replace", "-f", "-").ExitCode).To(BeZero())
			Expect(stored(subject)).To(Equal(kept), "as it was, resourceVersion included")

			response := review(defaulting, kept, kept)
			Expect(response.Allowed).To(BeTrue())
			Expect(patchOf(response)).To(BeEmpty(), "of the webhook itself, were it asked")

			expectLetThrough(mergePatch(subject, `{"metadata":{"labels":{"colour":"blue"}}}`))
			Expect(stored(subject).Object["spec"]).To(Equal(kept.Object["spec"]))
		}
	})
})
