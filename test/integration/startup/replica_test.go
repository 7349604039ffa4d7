package startup

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// replica is one of several managers, with a webhook port and metrics of its own.
type replica struct {
	*process
	port    int
	metrics string
}

func startReplica(electionNamespace string, args ...string) *replica {
	GinkgoHelper()
	r := &replica{port: freePort()}
	address := fmt.Sprintf("127.0.0.1:%d", freePort())
	r.metrics = "http://" + address + "/metrics"
	r.process = start(append([]string{"--leader-elect", "--leader-election-namespace=" + electionNamespace,
		fmt.Sprintf("--webhook-port=%d", r.port), "--metrics-bind-address=" + address}, args...)...)
	return r
}

func freePort() int {
	GinkgoHelper()
	listener, err := net.Listen("tcp", ":0")
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(listener.Close()).To(Succeed()) }()
	return listener.Addr().(*net.TCPAddr).Port
}

// counted adds up the metrics of one name that have a label.
func (r *replica) counted(g Gomega, name, label string) int {
	total := 0
	for metric, value := range r.scrape(g) {
		if strings.HasPrefix(metric, name+"{") && strings.Contains(metric, label) {
			total += int(value)
		}
	}
	return total
}

// scrape gives the metrics, by name and labels.
func (r *replica) scrape(g Gomega) map[string]float64 {
	response, err := http.Get(r.metrics)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	all := map[string]float64{}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		end := strings.LastIndex(lines.Text(), " ")
		all[lines.Text()[:end]], err = strconv.ParseFloat(lines.Text()[end+1:], 64)
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(lines.Err()).NotTo(HaveOccurred())
	return all
}

// judge calls a replica's webhook, as an API server does.
func (r *replica) judge(g Gomega) *http.Response {
	roots := x509.NewCertPool()
	g.Expect(roots.AppendCertsFromPEM(cluster.Webhooks.LocalServingCAData)).To(BeTrue())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	defer transport.CloseIdleConnections()
	caller := &http.Client{Transport: transport, Timeout: time.Minute}
	response, err := caller.Post(fmt.Sprintf("https://127.0.0.1:%d/mutate-samplecontroller-k8s-io-v1alpha1-foo", r.port),
		"application/json", strings.NewReader(review))
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	g.Expect(response.StatusCode).To(Equal(http.StatusOK))
	text, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(ContainSubstring(`"allowed":true`))
	return response
}

// answers counts what a replica's webhooks answered.
type answers struct{ defaulted, validated, scaled int }

func (r *replica) answers(g Gomega) answers {
	counted := func(path string) int {
		return r.counted(g, "controller_runtime_webhook_requests_total", `webhook="/`+path+`"`)
	}
	return answers{
		defaulted: counted("mutate-samplecontroller-k8s-io-v1alpha1-foo"),
		validated: counted("validate-samplecontroller-k8s-io-v1alpha1-foo"),
		scaled:    counted("validate-samplecontroller-k8s-io-v1alpha1-foo-scale"),
	}
}

// leads says that the replica holds the Lease, as it says itself.
func (r *replica) leads(g Gomega) bool {
	return r.counted(g, "leader_election_master_status", "") == 1
}

// passes counts the reconciling of Foos.
func (r *replica) passes(g Gomega) int {
	return r.counted(g, "controller_runtime_reconcile_total", `controller="foo"`)
}

// pointWebhooks has the API server call the webhooks at a port, and nowhere else.
func pointWebhooks(port int) {
	GinkgoHelper()
	key := client.ObjectKey{Name: "samplecrd-controller"}
	var mutating admissionv1.MutatingWebhookConfiguration
	Expect(cluster.Client.Get(ctx, key, &mutating)).To(Succeed())
	for i := range mutating.Webhooks {
		pointAt(&mutating.Webhooks[i].ClientConfig, port)
	}
	Expect(cluster.Client.Update(ctx, &mutating)).To(Succeed())
	var validating admissionv1.ValidatingWebhookConfiguration
	Expect(cluster.Client.Get(ctx, key, &validating)).To(Succeed())
	for i := range validating.Webhooks {
		pointAt(&validating.Webhooks[i].ClientConfig, port)
	}
	Expect(cluster.Client.Update(ctx, &validating)).To(Succeed())
}

func pointAt(where *admissionv1.WebhookClientConfig, port int) {
	GinkgoHelper()
	address, err := url.Parse(*where.URL)
	Expect(err).NotTo(HaveOccurred())
	address.Host = fmt.Sprintf("%s:%d", address.Hostname(), port)
	where.URL = new(address.String())
}

// pointWebhooksBack ends what pointWebhooks began, once nobody serves any more. The
// API server takes a moment to learn of it.
func pointWebhooksBack(namespace string) {
	GinkgoHelper()
	port := cluster.Webhooks.LocalServingPort
	pointWebhooks(port)
	Eventually(func() error {
		return cluster.Client.Create(ctx, newFoo(namespace, "nobody", 1), client.DryRunAll)
	}).Should(MatchError(ContainSubstring(":%d/mutate-", port)))
}
