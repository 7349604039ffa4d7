package admission_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("A Network that takes over another network", func() {
	const importing = `{cidr: 10.0.0.0/24, importID: 4f9a5b1e-1c5c-4b7e-9d0a-2f1f8f0c7a11, networkClassName: cloud`
	ofCloud := func(policy string) string {
		return `{provider: Neutron, neutron: {credentialsSecretName: openstack}` + policy + `}`
	}

	It("is refused where the class does not allow it, with what can be done", func() {
		makeClass("cloud", false, ofCloud(""))
		a := create(network(newNamespace(), "x", importing+"}"))
		expectCause(a, metav1.CauseType("FieldValueForbidden"), "spec.importID", `NetworkClass "cloud"`, "remove it", "import: Allowed")
	})

	It("is kept in the end, whatever the class's policy, unless it says otherwise", func() {
		makeClass("cloud", false, ofCloud(", import: Allowed, deletionPolicy: Delete"))
		namespace := newNamespace()
		kept, lost := network(namespace, "kept", importing+"}"), network(newNamespace(), "lost", importing+", deletionPolicy: Delete}")
		expectAccepted(create(kept))
		expectAccepted(create(lost))
		Expect(specOf(stored(kept), "deletionPolicy")).To(Equal("Retain"))
		Expect(specOf(stored(lost), "deletionPolicy")).To(Equal("Delete"))
		made := network(namespace, "made", `{cidr: 10.1.0.0/24, networkClassName: cloud}`)
		expectAccepted(create(made))
		Expect(specOf(stored(made), "deletionPolicy")).To(Equal("Delete"))
	})

	It("stays what it is when the class allows it no more", func() {
		makeClass("cloud", false, ofCloud(", import: Allowed"))
		taken := network(newNamespace(), "taken", importing+"}")
		expectAccepted(create(taken))
		expectAccepted(mergePatch(newObject("NetworkClass", "", "cloud"), `{"spec":{"import":"Forbidden"}}`))
		late := network(newNamespace(), "late", importing+"}")
		Eventually(func() error { return create(late, client.DryRunAll).err }).Should(HaveOccurred())
		expectAccepted(mergePatch(taken, `{"spec":{"mtu":1400}}`))
		expectRefusal(mergePatch(taken, `{"spec":{"importID":null}}`), "spec.importID", "cannot be changed, added or removed")
	})
})
