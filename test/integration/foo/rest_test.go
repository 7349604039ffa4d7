package foo

import (
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/matchers"
)

// verdicts counts what a person's tools conclude about the Foos of the namespace.
func (w *world) verdicts(g Gomega) map[string]int {
	var foos samplev1alpha1.FooList
	g.Expect(w.Client.List(ctx, &foos, client.InNamespace(w.namespace))).To(Succeed())
	found := map[string]int{}
	for i := range foos.Items {
		// One that nobody has looked at yet would be in progress too.
		if len(foos.Items[i].Status.Conditions) == 0 {
			found["unseen"]++
			continue
		}
		found[matchers.Verdict(&foos.Items[i])]++
	}
	return found
}

// everything gives the resource versions of the Foos and the Deployments.
func (w *world) everything(g Gomega) map[string]string {
	var foos samplev1alpha1.FooList
	g.Expect(w.Client.List(ctx, &foos, client.InNamespace(w.namespace))).To(Succeed())
	all := map[string]string{}
	for i := range foos.Items {
		all["foo/"+foos.Items[i].Name] = foos.Items[i].ResourceVersion
	}
	for _, deployment := range w.deployments(g) {
		all["deployment/"+deployment.Name] = deployment.ResourceVersion
	}
	return all
}

var _ = Describe("At rest", func() {
	It("300 Foos cause no write in a quiet minute, in whatever state they are", func() {
		const foos, blocked, waiting = 300, 10, 10
		w := newWorld(whole)
		w.start(env.ManagerOptions{Controllers: true, Webhooks: true})
		stop := w.play()
		for i := range blocked {
			w.create(strange(fmt.Sprintf("foo-%03d", i)))
		}
		var group sync.WaitGroup
		const creators = 4
		for creator := range creators {
			group.Go(func() {
				defer GinkgoRecover()
				for i := creator; i < foos; i += creators {
					name := fmt.Sprintf("foo-%03d", i)
					if i >= blocked && i < blocked+waiting {
						w.foo(name, name, madeFrom("missing"))
					} else {
						w.foo(name, name)
					}
				}
			})
		}
		group.Wait()
		Eventually(w.verdicts).WithTimeout(2 * time.Minute).WithPolling(250 * time.Millisecond).Should(Equal(map[string]int{
			matchers.Current: foos - blocked - waiting, matchers.Failed: blocked, matchers.InProgress: waiting,
		}))
		stop()
		settled()

		before, stored, passes := w.writes(Default), w.everything(Default), reconciles()
		Expect(stored).To(HaveLen(foos+foos-waiting), "Foos and Deployments")
		Consistently(w.writesSince(before)).WithTimeout(time.Minute).WithPolling(2 * time.Second).Should(BeEmpty())
		Expect(w.everything(Default)).To(Equal(stored))
		Expect(reconciles()).To(Equal(passes), "nobody looks without a reason")
	})
})
