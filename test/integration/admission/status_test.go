package admission_test

import (
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/env"
)

var _ = Describe("With the controller running", Ordered, ContinueOnFailure, func() {
	BeforeAll(func() {
		stop, err := control.StartManager(env.ManagerOptions{Controllers: true})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(stop()).To(Succeed()) })
		makeClass("real", false, bridge)
		DeferCleanup(func() {
			// The class stays as long as one of them does.
			var networks samplecrdv1.NetworkList
			Expect(user.List(ctx, &networks, client.MatchingFields{samplecrdv1.FieldNetworkClassName: "real"})).To(Succeed())
			for i := range networks.Items {
				Expect(client.IgnoreNotFound(user.Delete(ctx, &networks.Items[i]))).To(Succeed())
			}
		})
	})

	condition := func(subject *unstructured.Unstructured, kind string) string {
		GinkgoHelper()
		var network samplecrdv1.Network
		Expect(user.Get(ctx, client.ObjectKeyFromObject(subject), &network)).To(Succeed())
		found := meta.FindStatusCondition(network.Status.Conditions, kind)
		if found == nil || found.ObservedGeneration != network.Generation {
			return ""
		}
		return string(found.Status)
	}
	// ready waits for the Network to be real in its present form, and gives the
	// subnets in its status.
	ready := func(subject *unstructured.Unstructured) []samplecrdv1.SubnetStatus {
		GinkgoHelper()
		Eventually(func() string { return condition(subject, "Ready") }).Should(Equal("True"))
		var network samplecrdv1.Network
		Expect(user.Get(ctx, client.ObjectKeyFromObject(subject), &network)).To(Succeed())
		return network.Status.Subnets
	}
	active := func(cidr, gateway string) samplecrdv1.SubnetStatus {
		return samplecrdv1.SubnetStatus{CIDR: cidr, Gateway: &gateway, State: samplecrdv1.SubnetActive}
	}
	nad := func(subject *unstructured.Unstructured) *unstructured.Unstructured {
		object := &unstructured.Unstructured{}
		object.SetAPIVersion("k8s.cni.cncf.io/v1")
		object.SetKind("NetworkAttachmentDefinition")
		object.SetNamespace(subject.GetNamespace())
		object.SetName(subject.GetName())
		return object
	}

	It("AN-24: status has the canonical form of a long spelling, and both are one network", func() {
		subject := network(newNamespace(), "subject", `{cidr: "2001:0db8:0000:001a:0000:0000:0000:0000/64", networkClassName: real}`)
		expectAccepted(create(subject))
		want := []samplecrdv1.SubnetStatus{active("2001:db8:0:1a::/64", "2001:db8:0:1a::1")}
		Expect(ready(subject)).To(Equal(want))
		Expect(specOf(stored(subject), "cidr")).To(Equal("2001:0db8:0000:001a:0000:0000:0000:0000/64"))
		before := nad(subject)
		Expect(user.Get(ctx, client.ObjectKeyFromObject(before), before)).To(Succeed())

		expectAccepted(mergePatch(subject, `{"spec":{"cidr":"2001:DB8:0:1A::/64"}}`))
		Expect(ready(subject)).To(Equal(want))
		after := nad(subject)
		Expect(user.Get(ctx, client.ObjectKeyFromObject(after), after)).To(Succeed())
		Expect(after).To(Equal(before), "nothing is written to the backend")
	})

	It("AN-26: status has the canonical range, and the spec what the user wrote", func() {
		subject := network(newNamespace(), "subject", `{cidr: 10.0.0.5/24, gateway: 10.0.0.5, networkClassName: real}`)
		expectAccepted(create(subject), "10.0.0.0/24")
		Expect(ready(subject)).To(Equal([]samplecrdv1.SubnetStatus{active("10.0.0.0/24", "10.0.0.5")}))
		Expect(specOf(stored(subject), "cidr")).To(Equal("10.0.0.5/24"))
	})

	It("WO-17: a dry-run answers as the real call does and leaves no trace", func() {
		namespace := newNamespace()
		good := manifest(namespace, "dry", `{cidr: 192.168.1.0/16, networkClassName: real}`)
		bad := manifest(namespace, "dry", `{cidr: 192.168.1.0/16, gateway: 10.0.0.1, networkClassName: real}`)
		const warning = `(?m)^Warning: spec\.cidr: .*192\.168\.0\.0/16`

		result := kubectl(good, "apply", "--dry-run=server", "-o", "yaml", "-f", "-")
		Expect(result.ExitCode).To(BeZero())
		Expect(result.Stdout).To(MatchRegexp(`(?m)^  gateway: 192\.168\.0\.1$`))
		Expect(result.Stderr).To(MatchRegexp(warning))

		_, err := exec.LookPath("diff")
		Expect(err).NotTo(HaveOccurred(), "kubectl diff needs it")
		result = kubectl(good, "diff", "-f", "-")
		Expect(result.ExitCode).To(Equal(1), "there is a difference")
		Expect(result.Stdout).To(And(MatchRegexp(`(?m)^\+  gateway: 192\.168\.0\.1$`), MatchRegexp(`(?m)^\+  cidr: 192\.168\.1\.0/16$`)))
		Expect(result.Stderr).To(MatchRegexp(warning))

		result = kubectl(bad, "apply", "--dry-run=server", "-f", "-")
		Expect(result.ExitCode).To(Equal(1))
		Expect(result.Stderr).To(HavePrefix(`The Network "dry" is invalid: spec.gateway: `))
		Expect(result.Stderr).To(Equal(kubectl(bad, "apply", "-f", "-").Stderr), "as the real call")
		Expect(exists(newObject("Network", namespace, "dry"))).To(BeFalse())

		// A Network that comes later has been seen through; so has whatever the
		// dry-runs might have set off.
		later := network(namespace, "later", `{cidr: 10.0.0.0/24, networkClassName: real}`)
		expectAccepted(create(later))
		ready(later)
		var networks samplecrdv1.NetworkList
		Expect(user.List(ctx, &networks, client.InNamespace(namespace))).To(Succeed())
		Expect(networks.Items).To(HaveExactElements(HaveField("Name", "later")))
		attachments := &unstructured.UnstructuredList{}
		attachments.SetGroupVersionKind(nad(later).GroupVersionKind())
		Expect(user.List(ctx, attachments, client.InNamespace(namespace))).To(Succeed())
		Expect(attachments.Items).To(HaveExactElements(WithTransform(func(found unstructured.Unstructured) string { return found.GetName() }, Equal("later"))))
		var events corev1.EventList
		Expect(user.List(ctx, &events, client.InNamespace(namespace))).To(Succeed())
		Expect(events.Items).NotTo(ContainElement(HaveField("InvolvedObject.Name", "dry")))
	})

	It("WO-17: a dry-run of an update changes neither object nor backend", func() {
		subject := newObject("Network", newNamespace(), "subject")
		apply := []string{"apply", "--server-side", "-f", "-"}
		Expect(kubectl(manifest(subject.GetNamespace(), "subject", `{cidr: 10.0.0.0/24, networkClassName: real}`), apply...).ExitCode).To(BeZero())
		ready(subject)
		before := stored(subject)
		result := kubectl(manifest(subject.GetNamespace(), "subject", `{cidr: 10.1.0.0/24, networkClassName: real}`), append(apply, "--dry-run=server", "-o", "yaml")...)
		Expect(result.ExitCode).To(BeZero(), result.Stderr)
		Expect(result.Stdout).To(MatchRegexp(`(?m)^  gateway: 10\.1\.0\.1$`))
		Expect(stored(subject)).To(Equal(before))
	})

	It("WO-31: writing a stored invalid Network unchanged changes nothing", func() {
		namespace := newNamespace()
		subjects := []*unstructured.Unstructured{
			network(namespace, "leading-zero", `{cidr: 010.0.0.0/8, networkClassName: real}`),
			network(namespace, "gateway-outside", `{cidr: 10.0.0.0/24, gateway: 10.9.9.9, dnsServers: [10.0.0.53, 10.0.0.53], networkClassName: real}`),
			network(namespace, "pool-outside", `{cidr: 192.168.1.0/16, allocationPools: [{start: 10.0.0.1, end: 10.0.0.9}]}`),
		}
		unguarded(func() {
			for _, subject := range subjects {
				expectAccepted(create(subject))
			}
		})
		for _, subject := range subjects {
			// Until a controller has written the status, its default is not stored,
			// and the API server's own filling it in makes the first write one.
			Eventually(func() string { return condition(subject, "Accepted") }).Should(Equal("False"))
			kept := stored(subject)
			expectLetThrough(update(kept))
			Expect(stored(subject)).To(Equal(kept), "as it was, resourceVersion included")

			got := kubectl("", "get", "network", "-n", namespace, subject.GetName(), "-o", "yaml")
			Expect(kubectl(got.Stdout, "replace", "-f", "-").ExitCode).To(BeZero())
			Expect(stored(subject)).To(Equal(kept), "as it was, resourceVersion included")

			expectLetThrough(mergePatch(subject, `{"metadata":{"labels":{"colour":"blue"}}}`))
			Expect(stored(subject).Object["spec"]).To(Equal(kept.Object["spec"]))
		}
	})
})
