package startup

import (
	"fmt"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

var _ = Describe("WO-23: two managers with leader election", Ordered, func() {
	const creates = 100

	var (
		leader, standby *replica
		election, shop  string
		last            *samplev1alpha1.Foo
	)

	BeforeAll(func() {
		serve(every...)
		election, shop = newNamespace(), newNamespace()
		DeferCleanup(pointWebhooksBack, shop)
		leader = startReplica(election)
		DeferCleanup(leader.kill)
		Eventually(leader.leads).Should(BeTrue())
		standby = startReplica(election)
		DeferCleanup(standby.kill)
		Eventually(leader.ready).Should(BeTrue())
		Eventually(standby.ready).Should(BeTrue(), "ready means that the webhooks are served, not that it leads")
		Expect(standby.leads(Default)).To(BeFalse())
	})

	// alone creates Foos while only one of the two is called, and has it refuse what
	// is bad.
	alone := func(called, other *replica, names string) {
		GinkgoHelper()
		pointWebhooks(called.port)
		Eventually(func(g Gomega) {
			before, idle := called.answers(g), other.answers(g)
			g.Expect(cluster.Client.Create(ctx, newFoo(shop, "probe", 1), client.DryRunAll)).To(Succeed())
			after := called.answers(g)
			g.Expect(after.defaulted).To(BeNumerically(">", before.defaulted))
			g.Expect(after.validated).To(BeNumerically(">", before.validated))
			g.Expect(other.answers(g)).To(Equal(idle))
		}).Should(Succeed())

		before, idle := called.answers(Default), other.answers(Default)
		for i := range creates {
			last = newFoo(shop, fmt.Sprintf("%s-%d", names, i), 1)
			Expect(cluster.Client.Create(ctx, last)).To(Succeed(), "create %d", i)
		}
		Expect(cluster.Client.Create(ctx, newFoo(shop, "bad", 101))).To(beOver(100))
		Expect(scale(last, 101)).To(beOver(100))
		Expect(scale(last, 2)).To(Succeed())

		after := called.answers(Default)
		Expect(after.defaulted - before.defaulted).To(BeNumerically(">=", creates))
		Expect(after.validated - before.validated).To(BeNumerically(">=", creates))
		Expect(after.scaled - before.scaled).To(BeNumerically(">=", 2))
		Expect(other.answers(Default)).To(Equal(idle), "the other one was not asked")
	}

	It("admits and refuses by the one that does not lead", func() {
		alone(standby, leader, "by-standby")
		Expect(standby.leads(Default)).To(BeFalse())
	})

	It("admits and refuses by the one that leads", func() {
		alone(leader, standby, "by-leader")
		Expect(leader.leads(Default)).To(BeTrue())
	})

	It("reconciles in the one that leads, and only there", func() {
		Eventually(func(g Gomega) {
			var all appsv1.DeploymentList
			g.Expect(cluster.Client.List(ctx, &all, client.InNamespace(shop))).To(Succeed())
			g.Expect(all.Items).To(HaveLen(2 * creates))
		}).Should(Succeed())
		Expect(leader.lines("Successfully synced")).NotTo(BeEmpty())
		Expect(leader.passes(Default)).To(BeNumerically(">=", 2*creates))
		Expect(standby.lines("Successfully synced")).To(BeEmpty())
		Expect(standby.passes(Default)).To(BeZero())
	})

	It("goes on admitting when the leader is killed, and reconciles in the other one", func() {
		pointWebhooks(standby.port)
		was := holder(election)(Default)
		Expect(leader.Signal(syscall.SIGKILL)).To(Succeed())
		Eventually(leader.Ended()).Should(Receive(HaveOccurred()))

		meanwhile := createFoo(shop, "meanwhile")
		Eventually(holder(election)).Should(And(Not(BeEmpty()), Not(Equal(was))))
		expectWatched(meanwhile)
		expectWatched(last)
		Expect(standby.leads(Default)).To(BeTrue())
		Expect(standby.lines("Successfully synced")).To(ContainElement(ContainSubstring(shop + "/meanwhile")))

		Expect(standby.Stop()).To(Succeed(), "exit code 0")
		Eventually(holder(election)).Should(BeEmpty())
	})
})
