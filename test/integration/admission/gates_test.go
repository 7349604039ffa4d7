package admission_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/test/env"
)

// An object stands before two gates, the webhooks and its CRD's own rules. These
// helpers open and close them on the running API server. A spec that opens one
// has both closed again at its end, whatever becomes of it.

// unguarded runs store while both gates are open. edits take out of the CRDs what
// else is in its way.
func unguarded(store func(), edits ...edit) {
	GinkgoHelper()
	DeferCleanup(closeGates)
	removeWebhooks()
	removeFloor(edits...)
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
		g.Expect(probeFoo("{deploymentName: x, podTemplateName: absent}").warnings).To(BeEmpty())
		g.Expect(proposes(probeFoo("{deploymentName: a_b}"))).To(BeFalse())
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

// inForce says whether the webhooks of Network and Foo answer. Of Network one fills
// in, one warns; of Foo the first refuses before the CRD does, the second warns. The
// webhook of foos/scale comes and goes with that, in one configuration.
func inForce() bool {
	a := probe("{cidr: 10.0.0.1/24}")
	warned := probeFoo("{deploymentName: x, podTemplateName: absent}")
	return a.err == nil && specOf(a.object, "gateway") == "10.0.0.1" && len(a.warnings) == 1 &&
		proposes(probeFoo("{deploymentName: a_b}")) && warned.err == nil && len(warned.warnings) == 1
}

// proposes says whether the name a_b is refused by a webhook: the CRD's rules cannot
// propose another one.
func proposes(a answer) bool { return a.err != nil && strings.Contains(a.err.Error(), "write a-b") }

// edit changes a CRD before it is installed.
type edit = func(*apiextensionsv1.CustomResourceDefinition)

// anyFoo takes out of Foo's CRD what else keeps a bad Foo from being stored: what is
// required, the default of replicas, their minimum, and the scale subresource, with
// which the API server itself bounds them.
func anyFoo(crd *apiextensionsv1.CustomResourceDefinition) {
	if crd.Spec.Names.Kind != "Foo" {
		return
	}
	crd.Spec.Versions[0].Subresources.Scale = nil
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	spec := schema.Properties["spec"]
	spec.Required = nil
	replicas := spec.Properties["replicas"]
	replicas.Default, replicas.Minimum = nil, nil
	spec.Properties["replicas"] = replicas
	schema.Properties["spec"] = spec
}

func removeFloor(edits ...edit) {
	GinkgoHelper()
	install(append(edits, env.Floorless)...)
	Eventually(func(g Gomega) {
		g.Expect(probe("{cidr: nonsense}").err).NotTo(HaveOccurred())
		g.Expect(probeClass("{provider: Multus}").err).NotTo(HaveOccurred())
		g.Expect(probeFoo("{deploymentName: a_b}").err).NotTo(HaveOccurred())
	}).Should(Succeed(), "the CRDs' rules are gone")
}

func restoreFloor() {
	GinkgoHelper()
	install()
	Eventually(func(g Gomega) {
		g.Expect(apierrors.IsInvalid(probe("{cidr: nonsense}").err)).To(BeTrue())
		g.Expect(apierrors.IsInvalid(probeClass("{provider: Multus}").err)).To(BeTrue())
		g.Expect(apierrors.IsInvalid(probeFoo("{deploymentName: a_b}").err)).To(BeTrue())
	}).Should(Succeed(), "the CRDs' rules are in force")
}

// install puts our CRDs, changed by edits, in place of those that are installed.
func install(edits ...edit) {
	GinkgoHelper()
	crds, err := env.CRDs()
	Expect(err).NotTo(HaveOccurred())
	for _, crd := range crds {
		for _, change := range edits {
			change(crd)
		}
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

// probeFoo asks the same of a Foo.
func probeFoo(spec string) answer {
	return create(foo(metav1.NamespaceDefault, "probe", spec), client.DryRunAll)
}

func probeClass(spec string) answer {
	return create(withSpec(newObject("NetworkClass", "", "probe"), spec), client.DryRunAll)
}
