package foo

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/matchers"
	"github.com/samplecrd/samplecrd/test/metrics"
)

// What the specs themselves write is among the numbers.
var _ = Describe("The writes of a Foo, as the API server counts them,", func() {
	var w *world

	BeforeEach(func() {
		w = onWhole()
		settled()
	})

	It("are one to its Deployment and two to its status, and none for a look that finds nothing to do", func() {
		before := w.writes(Default)
		foo := w.foo("a", "web", replicas(2))
		w.made(foo, "web")
		w.report("web")
		Eventually(w.of("a")).Should(And(beReady(), count(2, 2)))
		settled()
		want := map[string]int{
			"POST foos 201":              1, // the test's own
			"APPLY deployments 201":      1,
			"PUT deployments/status 200": 1, // the test's own
			"PATCH foos/status 200":      2, // made; Ready
		}
		Eventually(w.writesSince(before)).Should(Equal(want))

		w.touch("a")
		want["PATCH foos 200"]++ // the test's own
		Eventually(w.writesSince(before)).Should(Equal(want))
		Consistently(w.writesSince(before)).Should(Equal(want))
	})

	It("CF-08: are one to its Deployment and two to its status when the Deployment was changed by hand", func() {
		foo := w.foo("a", "web", replicas(2))
		w.made(foo, "web")
		w.report("web")
		Eventually(w.of("a")).Should(beReady())
		settled()
		before := w.writes(Default)
		changed := w.changeDeployment("web", func(deployment *appsv1.Deployment) { deployment.Spec.Replicas = new(int32(6)) })
		Eventually(w.deploymentOf("web")).Should(And(
			HaveField("Spec.Replicas", HaveValue(BeEquivalentTo(2))), HaveField("Generation", changed.Generation+1)))
		Eventually(w.of("a")).Should(beWaiting(samplev1alpha1.FooReasonProgressing))
		w.report("web")
		Eventually(w.of("a")).Should(And(beReady(), count(2, 2)))
		settled()
		want := map[string]int{
			"PATCH deployments 200":      1, // the test's own
			"APPLY deployments 200":      1,
			"PUT deployments/status 200": 1, // the test's own
			"PATCH foos/status 200":      2, // brought back; Ready
		}
		Eventually(w.writesSince(before)).Should(Equal(want))
		Consistently(w.writesSince(before)).Should(Equal(want))
	})

	It("are two for a name that is another's, and nobody's write when it waits", func() {
		w.foreign("web")
		before := w.writes(Default)
		w.foo("a", "web")
		w.foo("b", "late", madeFrom("missing"))
		Eventually(w.of("a")).Should(beStalled(samplev1alpha1.FooReasonResourceExists))
		Eventually(w.of("b")).Should(beWaiting(samplev1alpha1.FooReasonTemplateNotFound))
		settled()
		want := map[string]int{
			"POST foos 201":         2, // the test's own
			"PATCH foos/status 200": 2, // one each
		}
		Eventually(w.writesSince(before)).Should(Equal(want))
		Consistently(w.writesSince(before)).Should(Equal(want))
	})
})

var _ = Describe("A manager that starts", func() {
	It("writes nothing where Foos have what they ask for, and reads lists alone", func() {
		const foos = 20
		w := newWorld(whole)
		w.start(env.ManagerOptions{Controllers: true, Webhooks: true})
		w.podTemplate("web", "registry.example/web")
		stop := w.play()
		w.foreign("blocked")
		for i := range foos {
			name := fmt.Sprintf("web-%02d", i)
			switch {
			case i < 2:
				w.foo(name, "blocked")
			case i < 4:
				w.foo(name, name, madeFrom("missing"))
			case i < 10:
				w.foo(name, name, madeFrom("web"))
			default:
				w.foo(name, name)
			}
		}
		Eventually(w.verdicts).Should(Equal(map[string]int{matchers.Current: foos - 4, matchers.Failed: 2, matchers.InProgress: 2}))
		stop()
		settled()
		w.stop()
		stored := w.everything(Default)

		written, passes := w.writes(Default), reconciles()
		read, err := metrics.Reads(ctx, w.Config, "foos", "deployments", "podtemplates")
		Expect(err).NotTo(HaveOccurred())
		w.start(env.ManagerOptions{Controllers: true, Webhooks: true})
		Eventually(reconciles).Should(BeNumerically(">=", passes+foos))
		settled()
		after, err := metrics.Reads(ctx, w.Config, "foos", "deployments", "podtemplates")
		Expect(err).NotTo(HaveOccurred())
		for request := range after.Since(read) {
			Expect(request).NotTo(HavePrefix("GET "))
		}
		Expect(after.Since(read).Total()).To(BeNumerically("<", foos/2))
		Consistently(w.writesSince(written)).Should(BeEmpty())
		Expect(w.everything(Default)).To(Equal(stored))
		Expect(reconciles()).To(BeNumerically("<=", passes+2*foos))
	})
})
