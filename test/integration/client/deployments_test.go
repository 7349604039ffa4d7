package client

import (
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/gexec"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8stypes "k8s.io/apimachinery/pkg/types"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/env"
)

var _ = Describe("the example deployment-networks", Ordered, ContinueOnFailure, func() {
	var (
		binary    string
		namespace string
		process   *gexec.Session
	)

	run := func(command *exec.Cmd) {
		GinkgoHelper()
		process = must(gexec.Start(command, GinkgoWriter, GinkgoWriter))
		DeferCleanup(process.Kill)
		Eventually(process.Err).Should(gbytes.Say("Watching Deployments and Networks"))
	}

	BeforeAll(func() {
		binary = filepath.Join(GinkgoT().TempDir(), "deployment-networks")
		build := exec.Command("go", "build", "-o", binary, "./docs/examples/deployment-networks")
		build.Dir = env.Path()
		said, err := build.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(said))
	})

	BeforeEach(func() { namespace = newNamespace() })

	Describe("while it runs", func() {
		BeforeEach(func() { run(exec.Command(binary, "--kubeconfig="+cluster.Kubeconfig)) })

		It("makes a Network for each Deployment that asks for one", func() {
			createDeployment(namespace, "silent", "")
			web := createDeployment(namespace, "web", "10.20.0.0/24")
			network := awaitNetwork(namespace, "web")
			Expect(network.Spec.CIDR).To(Equal("10.20.0.0/24"))
			Expect(network.OwnerReferences).To(ConsistOf(beOwner(web)))
			Expect(must(ours.SamplecrdV1().Networks(namespace).List(ctx, metav1.ListOptions{})).Items).To(HaveLen(1))
			Expect(string(process.Err.Contents())).NotTo(ContainSubstring("silent"), "it was not even tried")

			annotate(namespace, "silent", "10.21.0.0/24")
			Expect(awaitNetwork(namespace, "silent").Spec.CIDR).To(Equal("10.21.0.0/24"))
		})

		It("makes a Network that was deleted again", func() {
			createDeployment(namespace, "web", "10.20.0.0/24")
			first := awaitNetwork(namespace, "web")
			Expect(ours.SamplecrdV1().Networks(namespace).Delete(ctx, "web", metav1.DeleteOptions{})).To(Succeed())
			Eventually(func() (k8stypes.UID, error) {
				network, err := ours.SamplecrdV1().Networks(namespace).Get(ctx, "web", metav1.GetOptions{})
				return network.GetUID(), err
			}).ShouldNot(Equal(first.UID))
		})

		It("says why a Network is refused, and takes the annotation that is right", func() {
			createDeployment(namespace, "web", "10.20.0.0/33")
			Eventually(process.Err).Should(gbytes.Say(`The Network is refused.*spec.cidr`))
			annotate(namespace, "web", "10.20.0.0/24")
			Expect(awaitNetwork(namespace, "web").Spec.CIDR).To(Equal("10.20.0.0/24"))
		})

		It("leaves a Network alone that is somebody else's", func() {
			before := must(ours.SamplecrdV1().Networks(namespace).Create(ctx, draftNetwork("web", "10.30.0.0/24"), metav1.CreateOptions{}))
			createDeployment(namespace, "web", "10.20.0.0/24")
			Eventually(process.Err).Should(gbytes.Say(`leaving it alone.*web`))
			Expect(must(ours.SamplecrdV1().Networks(namespace).Get(ctx, "web", metav1.GetOptions{}))).To(Equal(before))
		})

		It("logs when a Network becomes ready", func() {
			network := must(ours.SamplecrdV1().Networks(namespace).Create(ctx, draftNetwork("any", "10.30.0.0/24"), metav1.CreateOptions{}))
			network.Status.Conditions = ready()
			must(ours.SamplecrdV1().Networks(namespace).UpdateStatus(ctx, network, metav1.UpdateOptions{}))
			Eventually(process.Err).Should(gbytes.Say(`changed its readiness.*` + namespace + `/any.*was="Unknown" is="True" reason="Tested"`))
		})

		It("ends well when it is asked to", func() {
			Eventually(process.Terminate()).Should(gexec.Exit(0))
		})
	})

	It("finds what was created while it was away, and the cluster by KUBECONFIG", func() {
		createDeployment(namespace, "web", "10.20.0.0/24")
		command := exec.Command(binary)
		command.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig)
		run(command)
		awaitNetwork(namespace, "web")
		Eventually(process.Interrupt()).Should(gexec.Exit(0))
	})

	It("ends with an error when it cannot know the cluster", func() {
		process := must(gexec.Start(exec.Command(binary, "--kubeconfig="+filepath.Join(GinkgoT().TempDir(), "none")), GinkgoWriter, GinkgoWriter))
		Eventually(process).Should(gexec.Exit(1))
		Expect(process.Err).To(gbytes.Say("deployment-networks: reading the kubeconfig"))
	})
})

const annotation = "example.com/cidr"

// createDeployment creates a Deployment that asks for a Network, or none for "".
func createDeployment(namespace, name, cidr string) *appsv1.Deployment {
	GinkgoHelper()
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: metav1.SetAsLabelSelector(labels),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: "nginx"}}},
			},
		},
	}
	if cidr != "" {
		deployment.Annotations = map[string]string{annotation: cidr}
	}
	return must(builtIn.AppsV1().Deployments(namespace).Create(ctx, deployment, metav1.CreateOptions{}))
}

func annotate(namespace, name, cidr string) {
	GinkgoHelper()
	patch := []byte(`{"metadata":{"annotations":{"` + annotation + `":"` + cidr + `"}}}`)
	must(builtIn.AppsV1().Deployments(namespace).Patch(ctx, name, k8stypes.MergePatchType, patch, metav1.PatchOptions{}))
}

func awaitNetwork(namespace, name string) *samplecrdv1.Network {
	GinkgoHelper()
	var network *samplecrdv1.Network
	Eventually(func() (err error) {
		network, err = ours.SamplecrdV1().Networks(namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	}).Should(Succeed())
	return network
}

// beOwner is true of the reference by which a Deployment controls an object.
func beOwner(deployment *appsv1.Deployment) types.GomegaMatcher {
	return Equal(metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "Deployment", Name: deployment.Name, UID: deployment.UID,
		Controller: new(true), BlockOwnerDeletion: new(true),
	})
}
