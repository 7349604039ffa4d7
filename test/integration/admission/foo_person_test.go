package admission_test

import (
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/samplecrd/samplecrd/test/env"
)

const nameRule = "lower case letters, digits, '-' and '.', and a letter or digit at both ends of every part"

var _ = Describe("With kubectl a person who writes Foos sees", func() {
	var namespace string
	BeforeEach(func() { namespace = newNamespace() })
	apply := func(spec string) env.Result {
		GinkgoHelper()
		return kubectl(fooManifest(namespace, "x", spec), "apply", "-f", "-")
	}

	It("one fault in one line, with what would be right", func() {
		for spec, says := range map[string]string{
			`{deploymentName: a_b}`:                          `spec.deploymentName: Invalid value: "a_b": must be the name of a Deployment: ` + nameRule + "; write a-b",
			`{replicas: 2}`:                                  "spec.deploymentName: Required value: name the Deployment that this Foo keeps, for example example-foo",
			`{deploymentName: web, replicas: -1}`:            "spec.replicas: Invalid value: -1: must be 0 or more",
			`{deploymentName: web, replicas: 101}`:           "spec.replicas: Invalid value: 101: must be at most " + byManager,
			`{deploymentName: web, podTemplateName: My Pod}`: `spec.podTemplateName: Invalid value: "My Pod": must be the name of a PodTemplate: ` + nameRule + "; write my-pod",
		} {
			result := apply(spec)
			Expect(result.ExitCode).To(Equal(1))
			Expect(result.Stdout).To(BeEmpty())
			Expect(result.Stderr).To(Equal(`The Foo "x" is invalid: ` + says + "\n"))
		}
	})

	It("all faults of an object in one answer", func() {
		for _, args := range [][]string{{"apply"}, {"create"}, {"apply", "--server-side"}} {
			result := kubectl(fooManifest(namespace, "x", `{deploymentName: Web, replicas: 1000, podTemplateName: -}`), append(args, "-f", "-")...)
			Expect(result.ExitCode).To(Equal(1))
			Expect(result.Stderr).To(HavePrefix(`The Foo "x" is invalid: `))
			Expect(lines(result.Stderr, "* ")).To(ConsistOf(
				`* spec.deploymentName: Invalid value: "Web": must be the name of a Deployment: `+nameRule+"; write web",
				"* spec.replicas: Invalid value: 1000: must be at most "+byManager,
				`* spec.podTemplateName: Invalid value: "-": must be the name of a PodTemplate: `+nameRule,
			))
		}
	})

	It("the field of a wrong JSON type", func() {
		result := apply(`{deploymentName: web, replicas: "3"}`)
		Expect(result.ExitCode).To(Equal(1))
		Expect(result.Stderr).To(And(ContainSubstring("spec.replicas"), Not(ContainSubstring("InternalError"))))
	})

	It("a Deployment that is somebody else's", func() {
		makeDeployment(namespace, "taken", nil)
		awaitWarning(namespace, `{deploymentName: taken}`, "Deployment taken")
		result := apply(`{deploymentName: taken}`)
		Expect(result.ExitCode).To(BeZero())
		Expect(result.Stderr).To(Equal("Warning: spec.deploymentName: Deployment taken exists and is not managed by this Foo; this Foo waits until it goes\n"))
	})

	It("another Foo with the same deploymentName", func() {
		expectAccepted(create(foo(namespace, "first", `{deploymentName: shared}`)))
		awaitWarning(namespace, `{deploymentName: shared}`, "Foo first")
		result := apply(`{deploymentName: shared}`)
		Expect(result.ExitCode).To(BeZero())
		Expect(result.Stderr).To(Equal("Warning: spec.deploymentName: Foo first names Deployment shared too; the older Foo makes it, the other one waits\n"))
	})

	It("that a PodTemplate is missing", func() {
		result := apply(`{deploymentName: web, podTemplateName: absent}`)
		Expect(result.ExitCode).To(BeZero())
		Expect(result.Stderr).To(Equal("Warning: spec.podTemplateName: PodTemplate absent not found; the Foo waits until there is one\n"))
	})

	It("what was stored, in columns", func() {
		Expect(apply(`{deploymentName: web, replicas: 0}`).ExitCode).To(BeZero())
		result := kubectl("", "get", "foo", "-n", namespace)
		Expect(strings.Fields(lines(result.Stdout, "NAME")[0])).To(Equal([]string{"NAME", "DEPLOYMENT", "DESIRED", "AVAILABLE", "READY", "AGE"}))
		Expect(strings.Fields(lines(result.Stdout, "x ")[0])[:3]).To(Equal([]string{"x", "web", "0"}))
		Expect(kubectl("", "get", "samplecrd", "-n", namespace).Stdout).To(ContainSubstring("foo.samplecontroller.k8s.io/x"))
	})

	It("the Foos of one Deployment", func() {
		expectAccepted(create(foo(namespace, "one", `{deploymentName: one}`)))
		expectAccepted(create(foo(namespace, "two", `{deploymentName: two}`)))
		result := kubectl("", "get", "foos", "-n", namespace, "--field-selector=spec.deploymentName=two", "-o", "name")
		Expect(result.ExitCode).To(BeZero())
		Expect(result.Stdout).To(Equal("foo.samplecontroller.k8s.io/two\n"))
		Expect(kubectl("", "get", "foos", "-n", namespace, "--field-selector=spec.deploymentName=three", "-o", "name").Stdout).To(BeEmpty())
	})

	It("the default and the bounds in the explanation", func() {
		text := strings.Join(strings.Fields(kubectl("", "explain", "foo.spec.replicas").Stdout), " ")
		Expect(text).To(And(ContainSubstring("0 or more"), ContainSubstring("Absent or null: 1"), ContainSubstring("0 stays 0"),
			ContainSubstring("--foo-max-replicas, 100 by default"), ContainSubstring("annotation "+limitAnnotation)))
		text = strings.Join(strings.Fields(kubectl("", "explain", "foo.spec").Stdout), " ")
		Expect(text).To(And(ContainSubstring("deploymentName <string> -required-"), ContainSubstring("RFC 1123 subdomain) of at most 253 characters")))
	})

	DescribeTable("the original example applied unchanged", func(args ...string) {
		result := kubectl("", append(args, "-n", namespace, "-f", filepath.Join("testdata", "seed", "example-foo.yaml"))...)
		Expect(result.ExitCode).To(BeZero())
		Expect(result.Stderr).To(BeEmpty())
		kept := stored(newObject("Foo", namespace, "example-foo"))
		Expect(kept.Object["spec"]).To(Equal(map[string]any{"deploymentName": "example-foo", "replicas": int64(1)}))
	},
		Entry("by client-side apply", "apply"),
		Entry("by server-side apply", "apply", "--server-side"),
	)
})
