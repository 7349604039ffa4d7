package admission_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/test/env"
)

// A Network stands before two gates, the webhooks and the CRD's own rules. These
// helpers open and close them on the running API server. A spec that opens one
// has both closed again at its end, whatever becomes of it.

// unguarded runs store while both gates are open.
func unguarded(store func()) {
	GinkgoHelper()
	DeferCleanup(closeGates)
	removeWebhooks()
	removeFloor()
	store()
	closeGates()
}

// floorAlone leaves the CRD's rules in force and no webhook, until the spec ends.
func floorAlone() {
	GinkgoHelper()
	DeferCleanup(closeGates)
	removeWebhooks()
}

func closeGates() {
	GinkgoHelper()
	restoreFloor()
	restoreWebhooks()
}

func webhookConfigurations() []client.Object {
	var all []client.Object
	for _, configuration := range control.Webhooks.MutatingWebhooks {
		all = append(all, configuration.DeepCopy())
	}
	for _, configuration := range control.Webhooks.ValidatingWebhooks {
		all = append(all, configuration.DeepCopy())
	}
	return all
}

func removeWebhooks() {
	GinkgoHelper()
	for _, configuration := range webhookConfigurations() {
		Expect(client.IgnoreNotFound(user.Delete(ctx, configuration))).To(Succeed())
	}
	Eventually(func(g Gomega) {
		a := probe("{cidr: 10.0.0.1/24}")
		g.Expect(a.err).NotTo(HaveOccurred())
		g.Expect(specOf(a.object, "gateway")).To(BeEmpty(), "nothing is filled in")
		g.Expect(a.warnings).To(BeEmpty())
	}).Should(Succeed(), "the webhooks are not called")
}

func restoreWebhooks() {
	GinkgoHelper()
	for _, configuration := range webhookConfigurations() {
		configuration.SetResourceVersion("")
		configuration.SetUID("")
		err := user.Create(ctx, configuration)
		Expect(err == nil || apierrors.IsAlreadyExists(err)).To(BeTrue(), "%v", err)
	}
	Eventually(inForce).Should(BeTrue(), "the webhooks are called")
}

// inForce says whether both webhooks of Network answer: one fills in, one warns.
func inForce() bool {
	a := probe("{cidr: 10.0.0.1/24}")
	return a.err == nil && specOf(a.object, "gateway") == "10.0.0.1" && len(a.warnings) == 1
}

func removeFloor() {
	GinkgoHelper()
	install(env.Floorless)
	Eventually(func(g Gomega) {
		g.Expect(probe("{cidr: nonsense}").err).NotTo(HaveOccurred())
		g.Expect(probeClass("{provider: Multus}").err).NotTo(HaveOccurred())
	}).Should(Succeed(), "the CRDs' rules are gone")
}

func restoreFloor() {
	GinkgoHelper()
	install(func(*apiextensionsv1.CustomResourceDefinition) {})
	Eventually(func(g Gomega) {
		g.Expect(apierrors.IsInvalid(probe("{cidr: nonsense}").err)).To(BeTrue())
		g.Expect(apierrors.IsInvalid(probeClass("{provider: Multus}").err)).To(BeTrue())
	}).Should(Succeed(), "the CRDs' rules are in force")
}

// install puts our CRDs, changed by edit, in place of those that are installed.
func install(edit func(*apiextensionsv1.CustomResourceDefinition)) {
	GinkgoHelper()
	crds, err := env.CRDs()
	Expect(err).NotTo(HaveOccurred())
	for _, crd := range crds {
		edit(crd)
		Eventually(func() error {
			var installed apiextensionsv1.CustomResourceDefinition
			if err := user.Get(ctx, client.ObjectKeyFromObject(crd), &installed); err != nil {
				return err
			}
			installed.Spec.Versions = crd.Spec.Versions
			return user.Update(ctx, &installed)
		}).Should(Succeed())
	}
}

// probe asks whether such a Network would be created.
func probe(spec string) answer {
	return create(network(metav1.NamespaceDefault, "probe", spec), client.DryRunAll)
}

func probeClass(spec string) answer {
	return create(withSpec(newObject("NetworkClass", "", "probe"), spec), client.DryRunAll)
}
