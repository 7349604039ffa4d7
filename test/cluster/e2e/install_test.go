package e2e

import (
	"context"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// generations are what a second apply must leave alone, of every object in the bundle.
func generations(ctx context.Context) string {
	GinkgoHelper()
	return mustKubectl(ctx, "get", "-k", overlay(), "-o",
		`jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.generation}{"\n"}{end}`)
}

// bundle are the CA bundles that the API server trusts, one a webhook.
func bundles(ctx context.Context) []string {
	GinkgoHelper()
	var all []string
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	Expect(c.Get(ctx, client.ObjectKey{Name: controller}, &validating)).To(Succeed())
	for _, hook := range validating.Webhooks {
		all = append(all, string(hook.ClientConfig.CABundle))
	}
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	Expect(c.Get(ctx, client.ObjectKey{Name: controller}, &mutating)).To(Succeed())
	for _, hook := range mutating.Webhooks {
		all = append(all, string(hook.ClientConfig.CABundle))
	}
	return all
}

func install() {
	It("by kubectl apply -k, without a warning", func(ctx context.Context) {
		// The kind that Multus brings; the cluster has no Multus.
		mustKubectl(ctx, "apply", "-f", "test/env/nad-crd.yaml")
		answer := kubectl(ctx, "", "apply", "-k", overlay())
		Expect(answer.code).To(BeZero(), answer.stderr)
		Expect(answer.stderr).NotTo(ContainSubstring("Warning"))
		// As docs/install.md says to wait; it installs another image.
		documented := commands("## Install")
		Expect(documented[:3]).To(HaveExactElements(
			HavePrefix("kubectl apply -k "), HavePrefix("kubectl -n samplecrd-system rollout status "), HavePrefix("kubectl wait ")))
		for _, command := range documented[1:3] {
			answer := typed(ctx, command)
			Expect(answer.code).To(BeZero(), "$ %s\n%s%s", command, answer.stdout, answer.stderr)
		}
		Expect(managerPods(ctx)).To(HaveLen(2))
	}, NodeTimeout(10*time.Minute))

	It("into a namespace that enforces restricted Pod Security", func(ctx context.Context) {
		var namespace corev1.Namespace
		Expect(c.Get(ctx, client.ObjectKey{Name: system}, &namespace)).To(Succeed())
		Expect(namespace.Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))
		// The API server would say here what it would refuse.
		answer := kubectl(ctx, "", "label", "--dry-run=server", "--overwrite", "namespace", system, "pod-security.kubernetes.io/enforce=restricted", "check=yes")
		Expect(answer.stderr).To(BeEmpty())
		privileged := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "privileged"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "a", Image: workload, SecurityContext: &corev1.SecurityContext{Privileged: new(true)},
			}}},
		}
		Expect(c.Create(ctx, privileged)).To(MatchError(ContainSubstring("violates PodSecurity")), "nothing is enforced")
	}, NodeTimeout(time.Minute))

	It("and tells its version and commit in its first line", func(ctx context.Context) {
		for _, pod := range managerPods(ctx) {
			first, _, _ := strings.Cut(mustKubectl(ctx, "-n", system, "logs", pod.Name), "\n")
			Expect(first).To(And(ContainSubstring("Starting samplecrd-controller"), MatchRegexp(`version="[^"]+"`), MatchRegexp(`commit="[0-9a-f]{7,}"`)))
		}
	}, NodeTimeout(time.Minute))

	It("and refuses a bad Network, through Service and Pod, with cert-manager's TLS", func(ctx context.Context) {
		Eventually(func() int { return kubectl(ctx, "", "apply", "-f", "config/samples/networkclass.yaml").code }).WithContext(ctx).Should(BeZero())
		answer := kubectl(ctx, "", "apply", "-f", "config/samples/invalid/three-faults.yaml")
		Expect(answer.code).To(Equal(1))
		Expect(answer.stderr).To(Equal(`The Network "three-faults" is invalid: 
* spec.gateway: Invalid value: "10.9.9.9": not inside 10.0.0.0/24; use an address from 10.0.0.1 to 10.0.0.254
* spec.dnsServers[1]: Invalid value: "dns.example.com": not an IP address such as 192.0.2.1 or 2001:db8::1
* spec.mtu: Invalid value: 20: must be from 68 to 9216
`))
		Expect(kubectl(ctx, "", "get", "networks.samplecrd.k8s.io", "three-faults").stderr).To(ContainSubstring("NotFound"))
	}, NodeTimeout(10*time.Minute))

	for _, way := range []string{"client", "server"} {
		It("a second time without a difference, "+way+"-side, and the CA stays [WO-07]", func(ctx context.Context) {
			args := []string{"-k", overlay()}
			if way == "server" {
				args = append(args, "--server-side")
				mustKubectl(ctx, append([]string{"apply"}, args...)...)
			}
			awaitServing(ctx)
			trusted, before := bundles(ctx), generations(ctx)
			Expect(trusted).To(HaveEach(Not(BeEmpty())))
			probes := startLoad(ctx, 5)
			for range 2 {
				mustKubectl(ctx, append([]string{"apply"}, args...)...)
				answer := kubectl(ctx, "", append([]string{"diff"}, args...)...)
				Expect(answer.code).To(BeZero(), answer.stdout+answer.stderr)
				Expect(bundles(ctx)).To(Equal(trusted))
			}
			Expect(generations(ctx)).To(Equal(before))
			Consistently(func() []string { return bundles(ctx) }, 5*time.Second).WithContext(ctx).Should(Equal(trusted))
			counts := probes.end(ctx, way+"-side apply twice")
			Expect(counts.failed()).To(BeZero(), counts.String())
			Expect(counts.good).NotTo(BeZero())
		}, NodeTimeout(5*time.Minute))
	}

	It("as an image of nothing but a static binary", func(ctx context.Context) {
		if _, err := os.Stat(os.Getenv("E2E_BINARY")); err != nil {
			Skip("E2E_BINARY names no binary: the image was not built here")
		}
		pod := managerPods(ctx)[0]
		Expect(pod.Spec.Containers[0].Image).To(HaveSuffix(image))
		Expect(kubectl(ctx, "", "-n", system, "exec", pod.Name, "--", "/bin/sh").stderr).To(ContainSubstring("no such file"))
		out := mustKubectl(ctx, "-n", system, "exec", pod.Name, "--", "/samplecrd-controller", "--version")
		Expect(out).To(MatchRegexp(`^samplecrd-controller \S+ \([0-9a-f]{7,}\)\n$`))
		for _, status := range pod.Status.ContainerStatuses {
			Expect(status.RestartCount).To(BeZero())
		}
	}, NodeTimeout(time.Minute))
}
