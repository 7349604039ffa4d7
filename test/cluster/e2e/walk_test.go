package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// walkNamespace is where the seeds' manifests are applied.
const walkNamespace = "walk"

// prepared deploys the bundle, the kind that Multus brings and a default class.
func prepared(ctx context.Context) {
	GinkgoHelper()
	mustKubectl(ctx, "apply", "-f", "test/env/nad-crd.yaml")
	deploy(ctx)
	mustKubectl(ctx, "apply", "-f", "config/samples/networkclass.yaml")
}

// awaitReady waits as the documentation says, for the generation that is stored now.
func awaitReady(ctx context.Context, namespace, object string) {
	GinkgoHelper()
	mustKubectl(ctx, "-n", namespace, "wait", "--for=condition=Ready", "--timeout="+patience.String(), object)
}

// attachment gives a NetworkAttachmentDefinition and the CNI configuration in it.
func attachment(ctx context.Context, namespace, name string) (*unstructured.Unstructured, string) {
	GinkgoHelper()
	nad := &unstructured.Unstructured{}
	nad.SetGroupVersionKind(schema.GroupVersionKind{Group: "k8s.cni.cncf.io", Version: "v1", Kind: "NetworkAttachmentDefinition"})
	Expect(c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, nad)).To(Succeed())
	text, _, err := unstructured.NestedString(nad.Object, "spec", "config")
	Expect(err).NotTo(HaveOccurred())
	return nad, text
}

// bridged is the CNI configuration of a Network with one subnet and a gateway.
func bridged(uid types.UID, subnet, gateway string) string {
	return fmt.Sprintf(`{"cniVersion": "1.0.0", "name": %q, "type": "bridge", "bridge": "br-%.12s", "isGateway": true, "forceAddress": true,
		"ipam": {"type": "host-local", "ranges": [[{"subnet": %q, "gateway": %q}]]}}`, uid, strings.ReplaceAll(string(uid), "-", ""), subnet, gateway)
}

// walk is the way through the seeds' manifests, with Pods that run.
func walk() {
	BeforeAll(func(ctx context.Context) {
		prepared(ctx)
		namespace(ctx, walkNamespace)
	}, NodeTimeout(10*time.Minute))

	networksWalk()
	foosWalk()

	It("a Network's attachment definition goes with it", func(ctx context.Context) {
		nad, _ := attachment(ctx, walkNamespace, "example-network")
		mustKubectl(ctx, "-n", walkNamespace, "delete", "networks.samplecrd.k8s.io", "example-network", "--timeout="+patience.String())
		Eventually(func() bool {
			return apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(nad), nad.NewEmptyInstance().(client.Object)))
		}).WithContext(ctx).Should(BeTrue())
	}, NodeTimeout(5*time.Minute))
}

// networksWalk makes a Network and moves it.
func networksWalk() {
	var configs []string // what the Network's attachment definition has said, in turn

	It("a Network becomes an attachment definition that is its own, and says so", func(ctx context.Context) {
		mustKubectl(ctx, "-n", walkNamespace, "apply", "-f", "config/samples/example-network.yaml")
		awaitReady(ctx, walkNamespace, "network.samplecrd.k8s.io/example-network")
		Expect(mustKubectl(ctx, "-n", walkNamespace, "get", "networks.samplecrd.k8s.io")).To(
			MatchRegexp(`NAME +CIDR +GATEWAY +CLASS +READY +AGE\nexample-network +192\.168\.0\.0/16 +192\.168\.0\.1 +standard +True +`))
		network := networkAs(ctx, "192.168.0.0/16", "192.168.0.1")
		nad, text := attachment(ctx, walkNamespace, "example-network")
		Expect(text).To(MatchJSON(bridged(network.UID, "192.168.0.0/16", "192.168.0.1")))
		Expect(nad.GetOwnerReferences()).To(ConsistOf(metav1.OwnerReference{
			APIVersion: "samplecrd.k8s.io/v1", Kind: "Network", Name: network.Name, UID: network.UID,
			Controller: new(true), BlockOwnerDeletion: new(true),
		}))
		configs = append(configs, text)
	}, NodeTimeout(5*time.Minute))

	It("its update, with host bits, draws a warning and changes the same attachment definition", func(ctx context.Context) {
		before, _ := attachment(ctx, walkNamespace, "example-network")
		answer := kubectl(ctx, "", "-n", walkNamespace, "apply", "-f", "config/samples/example-network-updated.yaml")
		Expect(answer.code).To(BeZero(), answer.stderr)
		Expect(answer.stderr).To(And(ContainSubstring("Warning: "), ContainSubstring("192.168.0.0/16")))
		awaitReady(ctx, walkNamespace, "network.samplecrd.k8s.io/example-network")
		network := networkAs(ctx, "192.168.0.0/16", "192.168.1.1")
		Expect(network.Spec.CIDR).To(Equal("192.168.1.0/16"))
		after, text := attachment(ctx, walkNamespace, "example-network")
		Expect(text).To(MatchJSON(bridged(network.UID, "192.168.0.0/16", "192.168.1.1")))
		Expect(after.GetUID()).To(Equal(before.GetUID()))
		configs = append(configs, text)
	}, NodeTimeout(5*time.Minute))

	It("what the attachment definition says is a network to the CNI plugins, before and after the update", func(ctx context.Context) {
		Expect(configs).To(HaveLen(2))
		attach(ctx, configs)
	}, NodeTimeout(5*time.Minute))
}

// networkAs gives the seeds' Network once its status has exactly this.
func networkAs(ctx context.Context, cidr, gateway string) samplecrdv1.Network {
	GinkgoHelper()
	var network samplecrdv1.Network
	Expect(c.Get(ctx, client.ObjectKey{Namespace: walkNamespace, Name: "example-network"}, &network)).To(Succeed())
	Expect(network.Status.Subnets).To(ConsistOf(And(
		HaveField("CIDR", cidr), HaveField("Gateway", HaveValue(Equal(gateway))), HaveField("State", samplecrdv1.SubnetActive))))
	for _, kind := range []string{samplecrdv1.NetworkConditionReady, samplecrdv1.NetworkConditionAccepted, samplecrdv1.NetworkConditionProgrammed} {
		Expect(network.Status.Conditions).To(ContainElement(And(
			HaveField("Type", kind), HaveField("Status", metav1.ConditionTrue), HaveField("ObservedGeneration", network.Generation))))
	}
	return network
}
