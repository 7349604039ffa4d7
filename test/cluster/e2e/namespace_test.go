package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

const (
	beta           = "beta"
	movedNamespace = "moved"
)

// moved is the bundle in another namespace, and back.
func moved() {
	BeforeAll(func(ctx context.Context) {
		prepared(ctx)
		namespace(ctx, movedNamespace)
		Expect(c.Create(ctx, newNetwork(movedNamespace, "before", "10.0.0.0/24"))).To(Succeed())
		allReady(ctx, movedNamespace, 1, 0)
		DeferCleanup(func(ctx context.Context) {
			deploy(ctx)
			mustKubectl(ctx, "delete", "namespace", beta, "--ignore-not-found", "--timeout="+patience.String())
		}, NodeTimeout(10*time.Minute))
	}, NodeTimeout(10*time.Minute))

	It("as by kustomize edit set namespace, with one pair of configurations, and the old one can go [WO-16]", func(ctx context.Context) {
		mustKubectl(ctx, "apply", "-k", inNamespace(beta))
		mustKubectl(ctx, "-n", beta, "rollout", "status", "deployment/"+controller, "--timeout="+patience.String())
		servedFrom(ctx, beta)
		probe := newNetwork(movedNamespace, "probe", "192.0.2.0/24")
		Eventually(func() error { return c.Create(ctx, probe.DeepCopy(), client.DryRunAll) }).WithContext(ctx).Should(Succeed())
		mustKubectl(ctx, "delete", "namespace", system, "--timeout="+patience.String())
		goesOn(ctx, beta, "10.0.1.0/24", "10.0.0.254")
	}, NodeTimeout(15*time.Minute))

	It("and back", func(ctx context.Context) {
		deploy(ctx)
		servedFrom(ctx, system)
		mustKubectl(ctx, "delete", "namespace", beta, "--timeout="+patience.String())
		goesOn(ctx, system, "10.0.2.0/24", "10.0.0.1")
	}, NodeTimeout(15*time.Minute))
}

// inNamespace is overlay of a copy of the manifests, in which config/default has been
// edited to say another namespace; it gives its folder.
func inNamespace(name string) string {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	original := overlay()
	from, err := filepath.Rel(root, original)
	Expect(err).NotTo(HaveOccurred())
	// At the same place, so that what it says of other folders is true.
	for _, part := range []string{"config", filepath.Join("certs", "cert-manager"), from} {
		Expect(os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(root, part)))).To(Succeed())
	}
	file := filepath.Join(dir, "config", "default", "kustomization.yaml")
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	said := "namespace: " + system + "\n"
	Expect(strings.Count(string(text), said)).To(Equal(1))
	Expect(os.WriteFile(file, []byte(strings.Replace(string(text), said, "namespace: "+name+"\n", 1)), 0o600)).To(Succeed())
	return filepath.Join(dir, from)
}

// servedFrom waits until every webhook of our kinds is the Service's in this namespace
// and the root of this namespace is trusted for it; there are none but one pair of
// configurations.
func servedFrom(ctx context.Context, name string) {
	GinkgoHelper()
	authority, err := base64.StdEncoding.DecodeString(mustKubectl(ctx, "-n", name, "get", "secret", ca, `-o=jsonpath={.data.tls\.crt}`))
	Expect(err).NotTo(HaveOccurred())
	Expect(authority).NotTo(BeEmpty())
	Eventually(func(g Gomega) {
		var mutating admissionregistrationv1.MutatingWebhookConfigurationList
		g.Expect(c.List(ctx, &mutating)).To(Succeed())
		mutating.Items = slices.DeleteFunc(mutating.Items, func(configuration admissionregistrationv1.MutatingWebhookConfiguration) bool {
			return !slices.ContainsFunc(configuration.Webhooks, func(hook admissionregistrationv1.MutatingWebhook) bool { return isOurs(hook.Rules) })
		})
		g.Expect(mutating.Items).To(HaveLen(1))
		for _, hook := range mutating.Items[0].Webhooks {
			g.Expect(hook.ClientConfig.Service.Namespace).To(Equal(name))
		}
		var validating admissionregistrationv1.ValidatingWebhookConfigurationList
		g.Expect(c.List(ctx, &validating)).To(Succeed())
		validating.Items = slices.DeleteFunc(validating.Items, func(configuration admissionregistrationv1.ValidatingWebhookConfiguration) bool {
			return !slices.ContainsFunc(configuration.Webhooks, func(hook admissionregistrationv1.ValidatingWebhook) bool { return isOurs(hook.Rules) })
		})
		g.Expect(validating.Items).To(HaveLen(1))
		for _, hook := range validating.Items[0].Webhooks {
			g.Expect(hook.ClientConfig.Service.Namespace).To(Equal(name))
		}
		g.Expect(bundles(ctx)).To(HaveEach(ContainSubstring(string(authority))))
	}).WithContext(ctx).Should(Succeed())
}

// isOurs says that rules are of our kinds.
func isOurs(rules []admissionregistrationv1.RuleWithOperations) bool {
	return slices.ContainsFunc(rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		return slices.Contains(rule.APIGroups, samplecrdv1.SchemeGroupVersion.Group) || slices.Contains(rule.APIGroups, samplev1alpha1.SchemeGroupVersion.Group)
	})
}

// goesOn shows that the bundle in this namespace judges, and reconciles what is new and
// what was there before.
func goesOn(ctx context.Context, name, cidr, gateway string) {
	GinkgoHelper()
	servedFrom(ctx, name)
	created := newNetwork(movedNamespace, "in-"+name, cidr)
	Expect(c.Create(ctx, created)).To(Succeed())
	Expect(created.Spec.Gateway).NotTo(BeEmpty(), "a webhook fills it in")
	bad := newNetwork(movedNamespace, "bad", "198.51.100.0/24")
	bad.Spec.Gateway = "203.0.113.1"
	Expect(apierrors.IsInvalid(c.Create(ctx, bad))).To(BeTrue())

	mustKubectl(ctx, "-n", movedNamespace, "patch", "networks.samplecrd.k8s.io", "before", "--type=merge", "--patch", fmt.Sprintf(`{"spec": {"gateway": %q}}`, gateway))
	for _, network := range []string{created.Name, "before"} {
		awaitReady(ctx, movedNamespace, "network.samplecrd.k8s.io/"+network)
	}
	_, text := attachment(ctx, movedNamespace, "before")
	Expect(text).To(ContainSubstring(strconv.Quote(gateway)))
}
