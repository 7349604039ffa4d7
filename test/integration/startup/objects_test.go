package startup

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers/multus"
	"github.com/samplecrd/samplecrd/test/env"
)

const (
	networks = "networks.samplecrd.k8s.io"
	classes  = "networkclasses.samplecrd.k8s.io"
	foos     = "foos.samplecontroller.k8s.io"
	nads     = "network-attachment-definitions.k8s.cni.cncf.io"
)

// every is all that can be served. Specs of other files run before or after, as the
// seed has it, so that each begins by serving or withdrawing what it speaks of.
var every = []string{networks, classes, foos, nads}

// serve installs CRDs, unless they are there, and waits until their kinds are served.
func serve(names ...string) {
	GinkgoHelper()
	all, err := env.CRDs()
	Expect(err).NotTo(HaveOccurred())
	nad, err := env.NADCRD()
	Expect(err).NotTo(HaveOccurred())
	all = append(all, nad)
	for _, name := range names {
		i := slices.IndexFunc(all, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Name == name })
		Expect(i).NotTo(Equal(-1), "no CRD is called "+name)
		Expect(client.IgnoreAlreadyExists(cluster.Client.Create(ctx, all[i]))).To(Succeed())
		Eventually(served).Should(ContainElement(name))
	}
}

// withdraw deletes CRDs, with all objects of their kinds, and waits until they are
// gone; one that is not there is gone already.
func withdraw(names ...string) {
	GinkgoHelper()
	for _, name := range names {
		crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
		Expect(client.IgnoreNotFound(cluster.Client.Delete(ctx, crd))).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(cluster.Client.Get(ctx, client.ObjectKeyFromObject(crd), crd))
		}).Should(BeTrue())
		Eventually(served).ShouldNot(ContainElement(name))
	}
}

// withdrawAbandoned is withdraw where no manager runs that would let the classes go
// which an earlier one holds.
func withdrawAbandoned(names ...string) {
	GinkgoHelper()
	var held samplecrdv1.NetworkClassList
	err := cluster.Client.List(ctx, &held)
	if !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) {
		Expect(err).NotTo(HaveOccurred())
	}
	for i := range held.Items {
		class := held.Items[i].DeepCopy()
		class.Finalizers = nil
		Expect(client.IgnoreNotFound(cluster.Client.Patch(ctx, class, client.MergeFrom(&held.Items[i])))).To(Succeed())
	}
	withdraw(names...)
}

// served lists the kinds that the API server says it serves, by the names of their
// CRDs.
func served(g Gomega) []string {
	direct, err := discovery.NewDiscoveryClientForConfig(cluster.Config)
	g.Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, version := range []schema.GroupVersion{samplecrdv1.SchemeGroupVersion, samplev1alpha1.SchemeGroupVersion, multus.Kind.GroupVersion()} {
		list, err := direct.ServerResourcesForGroupVersion(version.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		g.Expect(err).NotTo(HaveOccurred())
		for _, resource := range list.APIResources {
			names = append(names, resource.Name+"."+version.Group)
		}
	}
	return names
}

func newNamespace() string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-"}}
	Expect(cluster.Client.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

// createClass creates the default class, unless it is there, as soon as its kind is
// served.
func createClass() {
	GinkgoHelper()
	class := &samplecrdv1.NetworkClass{
		ObjectMeta: metav1.ObjectMeta{Name: "standard", Annotations: map[string]string{samplecrdv1.AnnotationIsDefaultClass: "true"}},
		Spec: samplecrdv1.NetworkClassSpec{
			Provider: samplecrdv1.ProviderMultus, Multus: &samplecrdv1.MultusSpec{Type: samplecrdv1.MultusBridge},
		},
	}
	Eventually(func() error {
		return client.IgnoreAlreadyExists(cluster.Client.Create(ctx, class))
	}).Should(Succeed())
}

// createNetwork creates the seed's Network, as soon as its kind is served.
func createNetwork(namespace, name, cidr string) {
	GinkgoHelper()
	network := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	network.Spec.CIDR, network.Spec.Gateway = cidr, strings.Replace(cidr, ".0/24", ".1", 1)
	Eventually(func() error { return cluster.Client.Create(ctx, network) }).Should(Succeed())
}

func deleteNetwork(namespace, name string) {
	GinkgoHelper()
	network := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	Expect(cluster.Client.Delete(ctx, network)).To(Succeed())
	Eventually(func() bool {
		return apierrors.IsNotFound(cluster.Client.Get(ctx, client.ObjectKeyFromObject(network), network))
	}).Should(BeTrue())
}

// conditions gives a Network's conditions as "Ready False BackendUnavailable".
func conditions(namespace, name string) func(Gomega) []string {
	return func(g Gomega) []string {
		var network samplecrdv1.Network
		g.Expect(cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &network)).To(Succeed())
		var all []string
		for _, condition := range network.Status.Conditions {
			if condition.ObservedGeneration == network.Generation {
				all = append(all, condition.Type+" "+string(condition.Status)+" "+condition.Reason)
			}
		}
		return all
	}
}

func beReady() types.GomegaMatcher {
	return ConsistOf("Accepted True Accepted", "Programmed True Programmed", "Ready True Ready")
}

func beWithoutBackend() types.GomegaMatcher {
	return ConsistOf("Accepted True Accepted", "Programmed False BackendUnavailable", "Ready False BackendUnavailable")
}

// readyMessage says why a Network is not ready.
func readyMessage(namespace, name string) string {
	GinkgoHelper()
	var network samplecrdv1.Network
	Expect(cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &network)).To(Succeed())
	return meta.FindStatusCondition(network.Status.Conditions, samplecrdv1.NetworkConditionReady).Message
}

func newNAD(namespace, name string) *unstructured.Unstructured {
	nad := &unstructured.Unstructured{}
	nad.SetGroupVersionKind(multus.Kind)
	nad.SetNamespace(namespace)
	nad.SetName(name)
	return nad
}

// expectRepair deletes a NetworkAttachmentDefinition and sees it come again, which
// only a watch that works can bring about.
func expectRepair(namespace, name string) {
	GinkgoHelper()
	nad := newNAD(namespace, name)
	Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(nad), nad)).To(Succeed())
	before := nad.GetUID()
	Expect(cluster.Client.Delete(ctx, nad)).To(Succeed())
	Eventually(func(g Gomega) {
		again := newNAD(namespace, name)
		g.Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(again), again)).To(Succeed())
		g.Expect(again.GetUID()).NotTo(Equal(before))
	}).Should(Succeed())
}
