package startup

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	certmanagermeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/samplecrd/samplecrd/test/env"
)

// serveCertificates installs cert-manager's CRD of Certificates for a spec, and gives a
// client that knows the kind.
func serveCertificates() client.Client {
	GinkgoHelper()
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager")
	list.Dir = env.Path()
	dir, err := list.Output()
	Expect(err).NotTo(HaveOccurred())
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "deploy", "crds", "cert-manager.io_certificates.yaml"))
	Expect(err).NotTo(HaveOccurred())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	Expect(yaml.UnmarshalStrict(text, crd)).To(Succeed())
	Expect(cluster.Client.Create(ctx, crd)).To(Succeed())
	DeferCleanup(func() {
		Expect(cluster.Client.Delete(ctx, crd)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(cluster.Client.Get(ctx, client.ObjectKeyFromObject(crd), crd))
		}).Should(BeTrue())
	})
	scheme := env.Scheme()
	Expect(certmanagerv1.AddToScheme(scheme)).To(Succeed())
	certificates, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return certificates
}

var _ = Describe("The Certificate that the pair comes from", func() {
	const failing = "samplecrd_webhook_certificate_renewal_failing"

	It("is watched, and a renewal that fails is told in log, metric and event, as is that it works again", func() {
		certificates := serveCertificates()
		namespace := newNamespace()
		newCertificate := func(name string) *certmanagerv1.Certificate {
			return &certmanagerv1.Certificate{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
				Spec:       certmanagerv1.CertificateSpec{SecretName: name, DNSNames: []string{"webhook"}, IssuerRef: certmanagermeta.IssuerReference{Name: "ca"}},
			}
		}
		own, other := newCertificate("samplecrd-webhook-server"), newCertificate("other")
		// Until its kind is served.
		Eventually(certificates.Create).WithArguments(ctx, own).Should(Succeed())
		Expect(certificates.Create(ctx, other)).To(Succeed())
		manager := startReplica(namespace)
		DeferCleanup(manager.kill)
		Eventually(manager.scrape).Should(HaveKeyWithValue(failing, 0.0))
		Eventually(manager.leads).Should(BeTrue())

		now := metav1.Now()
		fail := func(certificate *certmanagerv1.Certificate) {
			GinkgoHelper()
			certificate.Status = certmanagerv1.CertificateStatus{
				LastFailureTime: &now, FailedIssuanceAttempts: new(1), NotAfter: new(metav1.NewTime(now.Add(time.Hour))),
				Conditions: []certmanagerv1.CertificateCondition{
					{Type: "Ready", Status: "True", Reason: "Ready", Message: "Certificate is up to date and has not expired", LastTransitionTime: &now},
					{Type: "Issuing", Status: "False", Reason: "Failed", Message: "no luck with " + certificate.Name, LastTransitionTime: &now},
				},
			}
			Expect(certificates.Status().Update(ctx, certificate)).To(Succeed())
		}
		fail(other)
		fail(own)
		Eventually(manager.scrape).Should(HaveKeyWithValue(failing, 1.0))
		fails := manager.lines("Renewing the webhook certificate fails")
		Expect(fails).To(HaveLen(1))
		Expect(fails[0]).To(And(ContainSubstring(`reason="Failed"`), ContainSubstring("no luck with samplecrd-webhook-server"), ContainSubstring(namespace+"/samplecrd-webhook-server")))
		told := func(g Gomega) []eventsv1.Event {
			var all eventsv1.EventList
			g.Expect(certificates.List(ctx, &all, client.InNamespace(namespace))).To(Succeed())
			var found []eventsv1.Event
			for _, event := range all.Items {
				if event.Reason == "RenewalFailing" {
					found = append(found, event)
				}
			}
			return found
		}
		Eventually(told).Should(ConsistOf(And(
			HaveField("Type", "Warning"), HaveField("Note", "Failed: no luck with samplecrd-webhook-server"),
			HaveField("Regarding.Kind", "Certificate"), HaveField("Regarding.APIVersion", "cert-manager.io/v1"), HaveField("Regarding.UID", own.UID))))

		own.Status.LastFailureTime, own.Status.FailedIssuanceAttempts = nil, nil
		own.Status.Conditions = own.Status.Conditions[:1]
		Expect(certificates.Status().Update(ctx, own)).To(Succeed())
		Eventually(manager.scrape).Should(HaveKeyWithValue(failing, 0.0))
		Expect(manager.lines("Renewing the webhook certificate works again")).To(HaveLen(1))

		Expect(certificates.Delete(ctx, own)).To(Succeed())
		Eventually(manager.scrape).ShouldNot(HaveKey(failing))
		Expect(manager.lines("no luck with other")).To(BeEmpty(), "it is not ours")
		Expect(told(Default)).To(HaveLen(1))
		Expect(manager.Stop()).To(Succeed(), "exit code 0")
	})
})
