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
		withdrawAbandoned(every...)
		manager, shop = start(), newNamespace()
		DeferCleanup(func() { manager.kill() })
	})

	AfterEach(func() {
		Expect(manager.Ended()).NotTo(Receive(), "it is one process from the beginning to the end")
	})

	It("is alive on an empty cluster, not ready, and says once what it waits for", func() {
		Eventually(manager.live).Should(BeTrue())
		Eventually(manager.waits).Should(HaveLen(1))
		Expect(manager.waits()[0]).To(miss(networks, classes, foos))
		Consistently(func(g Gomega) {
			g.Expect(manager.ready()).To(BeFalse())
			g.Expect(manager.waits()).To(HaveLen(1))
		}).Should(Succeed())
	})

	It("says what is still missing when one CRD has come, and another one", func() {
		serve(classes)
		Eventually(manager.waits).Should(HaveLen(2))
		Expect(manager.waits()[1]).To(miss(networks, foos))
		serve(foos)
		Eventually(manager.waits).Should(HaveLen(3))
		Expect(manager.waits()[2]).To(miss(networks))
		Consistently(manager.ready).Should(BeFalse())
		Expect(manager.waits()).To(HaveLen(3))
	})

	It("is ready when the last CRD has come, and judges what is written", func() {
		serve(networks)
		Eventually(manager.ready).Should(BeTrue())
		Eventually(func() error {
			bad := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "bad"}}
			bad.Spec.CIDR, bad.Spec.Gateway = "10.0.0.0/24", "10.0.0.255"
			return cluster.Client.Create(ctx, bad)
		}).Should(And(MatchError(apierrors.IsInvalid, "IsInvalid"), MatchError(ContainSubstring("broadcast"))), "only the webhook knows the broadcast address")
		Eventually(func() error {
			return cluster.Client.Create(ctx, newFoo(shop, "bad", 101))
		}).Should(beOver(100), "only the webhook knows the limit")
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

	DescribeTable("leaves nothing to the next start, whatever the order of the CRDs", func(args func() []string, first, second, third string) {
		Expect(manager.Stop()).To(Succeed(), "SIGTERM ends it with exit code 0")
		withdrawAbandoned(networks, classes, foos)

		manager = start(args()...)
		Eventually(manager.waits).Should(HaveLen(1))
		serve(first)
		Eventually(manager.waits).Should(HaveLen(2))
		serve(second)
		Eventually(manager.waits).Should(HaveLen(3))
		Expect(manager.waits()).To(HaveExactElements(
			miss(networks, classes, foos),
			And(ContainSubstring(second), ContainSubstring(third), Not(ContainSubstring(first))),
			miss(third)))
		Expect(manager.ready()).To(BeFalse())
		serve(third)
		Eventually(manager.ready).Should(BeTrue())
		createClass()
		createNetwork(shop, "a", "10.0.0.0/24")
		Eventually(conditions(shop, "a")).Should(beReady())
		expectDeployment(createFoo(newNamespace(), "a"))
		deleteNetwork(shop, "a")
	},
		Entry("the original's command line; Foos last", originalArguments, networks, classes, foos),
		Entry("Foos first", func() []string { return nil }, foos, networks, classes),
	)
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
