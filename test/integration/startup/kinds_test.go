package startup

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

var _ = Describe("Whatever comes late, goes and comes back", Ordered, func() {
	var (
		manager *process
		shop    string
	)

	BeforeAll(func() {
		manager, shop = start(), newNamespace()
		DeferCleanup(func() { manager.kill() })
	})

	AfterEach(func() {
		Expect(manager.Ended()).NotTo(Receive(), "it is one process from the beginning to the end")
	})

	It("is alive on an empty cluster, not ready, and says once what it waits for", func() {
		Eventually(manager.live).Should(BeTrue())
		Eventually(manager.waits).Should(HaveLen(1))
		Expect(manager.waits()[0]).To(And(ContainSubstring(networks), ContainSubstring(classes)))
		Consistently(func(g Gomega) {
			g.Expect(manager.ready()).To(BeFalse())
			g.Expect(manager.waits()).To(HaveLen(1))
		}).Should(Succeed())
	})

	It("says what is still missing when one CRD has come", func() {
		serve(classes)
		Eventually(manager.waits).Should(HaveLen(2))
		Expect(manager.waits()[1]).To(And(ContainSubstring(networks), Not(ContainSubstring(classes))))
		Consistently(manager.ready).Should(BeFalse())
		Expect(manager.waits()).To(HaveLen(2))
	})

	It("is ready when the last CRD has come, and judges what is written", func() {
		serve(networks)
		Eventually(manager.ready).Should(BeTrue())
		Eventually(func() error {
			bad := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "bad"}}
			bad.Spec.CIDR, bad.Spec.Gateway = "10.0.0.0/24", "10.0.0.255"
			return cluster.Client.Create(ctx, bad)
		}).Should(And(MatchError(apierrors.IsInvalid, "IsInvalid"), MatchError(ContainSubstring("broadcast"))), "only the webhook knows the broadcast address")
	})

	It("waits for a class, and then for the kind that Multus brings", func() {
		createNetwork(shop, "a", "10.0.0.0/24")
		Eventually(conditions(shop, "a")).Should(ContainElement("Ready False ClassNotFound"))
		createClass()
		Eventually(conditions(shop, "a")).Should(beWithoutBackend())
		Expect(readyMessage(shop, "a")).To(ContainSubstring("kind NetworkAttachmentDefinition is not served"))
	})

	It("takes the kind up within a minute when it comes, and watches it", func() {
		serve(nads)
		Eventually(conditions(shop, "a")).WithTimeout(time.Minute).Should(beReady())
		expectRepair(shop, "a")
		Expect(manager.lines("Successfully synced")).To(ContainElement(ContainSubstring(shop + "/a")))
	})

	It("PR-18: says that the kind is missing when it goes, and a Network can go all the same", func() {
		createNetwork(shop, "b", "10.1.0.0/24")
		Eventually(conditions(shop, "b")).Should(beReady())
		withdraw(nads)
		Eventually(conditions(shop, "a")).Should(beWithoutBackend())
		Eventually(conditions(shop, "b")).Should(beWithoutBackend())
		// At first the API server says that the kind is going.
		Eventually(readyMessage).WithArguments(shop, "a").Should(ContainSubstring("kind NetworkAttachmentDefinition is not served"))
		deleteNetwork(shop, "b")
	})

	It("makes everything again when the kind comes back, and watches it again", func() {
		serve(nads)
		Eventually(conditions(shop, "a")).WithTimeout(time.Minute).Should(beReady())
		expectRepair(shop, "a")
	})

	It("lets the Networks go with their CRD, and takes new ones when it comes back", func() {
		withdraw(networks)
		nad := newNAD(shop, "a")
		Expect(apierrors.IsNotFound(cluster.Client.Get(ctx, client.ObjectKeyFromObject(nad), nad))).To(BeTrue())
		serve(networks)
		createNetwork(shop, "a", "10.0.0.0/24")
		Eventually(conditions(shop, "a")).Should(beReady())
		expectRepair(shop, "a")
	})

	It("outlives the CRD of the classes while no Network uses one", func() {
		deleteNetwork(shop, "a")
		withdraw(classes)
		Expect(manager.live()).To(BeTrue())
		serve(classes)
		createNetwork(shop, "a", "10.0.0.0/24")
		Eventually(conditions(shop, "a")).Should(ContainElement("Ready False ClassNotFound"))
		createClass()
		Eventually(conditions(shop, "a")).Should(beReady())
		Eventually(func(g Gomega) {
			var class samplecrdv1.NetworkClass
			g.Expect(cluster.Client.Get(ctx, client.ObjectKey{Name: "standard"}, &class)).To(Succeed())
			g.Expect(class.Status.Conditions).To(ConsistOf(HaveField("Status", metav1.ConditionTrue)))
		}).Should(Succeed())
	})

	It("deletes what it made, without a panic or an error that nobody caused", func() {
		deleteNetwork(shop, "a")
		Expect(manager.lines("panic")).To(BeEmpty())
	})

	It("leaves nothing to the next start, whatever the order of the CRDs", func() {
		Expect(manager.Stop()).To(Succeed(), "SIGTERM ends it with exit code 0")
		withdraw(networks)
		withdraw(classes)

		manager = start(originalArguments()...)
		Eventually(manager.waits).Should(HaveLen(1))
		serve(networks)
		Eventually(manager.waits).Should(HaveLen(2))
		Expect(manager.waits()[1]).To(And(ContainSubstring(classes), Not(ContainSubstring(networks))))
		serve(classes)
		Eventually(manager.ready).Should(BeTrue())
		createClass()
		createNetwork(shop, "a", "10.0.0.0/24")
		Eventually(conditions(shop, "a")).Should(beReady())
		deleteNetwork(shop, "a")
	})
})

// originalArguments are a command line as the original had it, with a kubeconfig
// that leads nowhere: --master counts for more.
func originalArguments() []string {
	GinkgoHelper()
	text, err := os.ReadFile(cluster.Kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	host := strings.Trim(strings.TrimPrefix(cluster.Config.Host, "https://"), "/")
	Expect(strings.Contains(string(text), host)).To(BeTrue())
	nowhere := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(os.WriteFile(nowhere, []byte(strings.ReplaceAll(string(text), host, "127.0.0.1:1")), 0o600)).To(Succeed())
	return []string{"-kubeconfig=" + nowhere, "-master=https://" + host, "-alsologtostderr=true"}
}
