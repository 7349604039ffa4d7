package startup

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The pair on disk", func() {
	It("is known before the kinds are", func() {
		withdrawAbandoned(foos)
		manager := startReplica(newNamespace())
		DeferCleanup(manager.kill)
		Eventually(manager.waits).Should(HaveLen(1))
		Eventually(manager.scrape).Should(HaveKey("samplecrd_webhook_certificate_expiry_seconds"))
		Expect(manager.ready()).To(BeFalse())
		Expect(manager.Stop()).To(Succeed(), "exit code 0")
	})

	It("is waited for when it is missing, and one that is corrupt leaves the old one in use", func() {
		serve(networks, classes, foos)
		dir := GinkgoT().TempDir()
		write := func(name string, content []byte) {
			GinkgoHelper()
			Expect(os.WriteFile(filepath.Join(dir, name), content, 0o600)).To(Succeed())
		}
		read := func(name string) []byte {
			GinkgoHelper()
			content, err := os.ReadFile(filepath.Join(cluster.Webhooks.LocalServingCertDir, name))
			Expect(err).NotTo(HaveOccurred())
			return content
		}
		certificate, key := read("tls.crt"), read("tls.key")

		manager := startReplica(newNamespace(), "--webhook-cert-dir="+dir)
		DeferCleanup(manager.kill)
		Eventually(func() []string { return manager.lines("Waiting for a webhook certificate") }).Should(HaveLen(1))
		Expect(manager.live()).To(BeTrue())
		Expect(manager.ready()).To(BeFalse())
		Expect(manager.scrape(Default)).NotTo(HaveKey("samplecrd_webhook_certificate_expiry_seconds"))

		write("tls.crt", certificate)
		write("tls.key", key)
		Eventually(manager.ready).Should(BeTrue())
		manager.judge(Default)
		metrics := manager.scrape(Default)
		Expect(metrics).To(HaveKeyWithValue("samplecrd_webhook_certificate_expiry_seconds", BeNumerically(">", 0)))
		failures := metrics["certwatcher_read_certificate_errors_total"]
		Expect(failures).To(BeNumerically(">", 0), "it was missing")

		write("tls.key", key[:len(key)/2])
		unusable := func() []string { return manager.lines("A new webhook certificate cannot be used") }
		Eventually(unusable).Should(HaveLen(1))
		Expect(unusable()[0]).To(And(ContainSubstring(dir), ContainSubstring("remedy=")))
		Eventually(func(g Gomega) float64 {
			return manager.scrape(g)["certwatcher_read_certificate_errors_total"]
		}).Should(BeNumerically(">", failures+2), "it is looked at again")
		Expect(unusable()).To(HaveLen(1))
		Expect(manager.ready()).To(BeTrue())
		manager.judge(Default)

		write("tls.key", key)
		Eventually(func() []string { return manager.lines("The webhook certificate is in order again") }).Should(HaveLen(2))
		Expect(manager.Stop()).To(Succeed(), "exit code 0")
	})
})
