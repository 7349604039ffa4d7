package foo

import (
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/env"
)

var _ = Describe("With no rights but those of the generated ClusterRole", func() {
	const user = "least"

	It("the manager does all that it is there for", func() {
		text, err := os.ReadFile(env.Path("config", "rbac", "role.yaml"))
		Expect(err).NotTo(HaveOccurred())
		role := &rbacv1.ClusterRole{}
		Expect(yaml.UnmarshalStrict(text, role)).To(Succeed())
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		}
		w := newWorld(whole)
		Expect(w.Client.Create(ctx, role)).To(Succeed())
		Expect(w.Client.Create(ctx, binding)).To(Succeed())
		DeferCleanup(func() {
			Expect(w.Client.Delete(ctx, binding)).To(Succeed())
			Expect(w.Client.Delete(ctx, role)).To(Succeed())
		})
		w.start(env.ManagerOptions{Controllers: true, Webhooks: true, As: user})
		w.play()

		By("keeping a Deployment, also through a rename, and telling of it")
		w.podTemplate("template", "nginx")
		w.foo("a", "old", madeFrom("template"))
		Eventually(w.of("a")).Should(beReady())
		w.change("a", naming("new"), replicas(2))
		Eventually(w.of("a")).Should(And(beReady(), speakOf("new"), count(2, 2)))
		Eventually(w.names).Should(ConsistOf("new"))
		Eventually(w.events("a")).Should(ContainElement("Normal Synced"))

		By("judging what is written, by the namespace's limit too")
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
		w.kubectl("annotate", "namespace", namespace.Name, samplev1alpha1.AnnotationMaxReplicas+"=2")
		Eventually(func() error {
			return w.Client.Create(ctx, w.draft("b", "b", replicas(3)))
		}).Should(MatchError(apierrors.IsInvalid, "IsInvalid"))

		By("making a Network real, and letting it go")
		w.kubectl("apply", "-f", env.Path("config", "samples", "networkclass.yaml"))
		DeferCleanup(func() { w.kubectl("delete", "-f", env.Path("config", "samples", "networkclass.yaml")) })
		network := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		network.Spec.CIDR, network.Spec.NetworkClassName = "10.0.0.0/24", "standard"
		w.create(network)
		ready := func(g Gomega) bool {
			g.Expect(w.Client.Get(ctx, w.key("n"), network)).To(Succeed())
			return meta.IsStatusConditionTrue(network.Status.Conditions, samplecrdv1.NetworkConditionReady)
		}
		Eventually(ready).Should(BeTrue())
		w.kubectl("patch", "network", "n", "--type=merge", "--patch", `{"spec":{"cidr":"10.1.0.0/24","gateway":"10.1.0.9"}}`)
		Eventually(func(g Gomega) {
			g.Expect(ready(g)).To(BeTrue())
			g.Expect(network.Status.Subnets).To(ConsistOf(HaveField("CIDR", "10.1.0.0/24")))
		}).Should(Succeed())
		Expect(w.Client.Delete(ctx, network)).To(Succeed())
		Eventually(w.gone(network)).Should(BeTrue())
	})
})
