package startup

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// request is a call of a webhook whose body the manager waits for.
type request struct {
	net.Conn
	answer *bufio.Reader
	body   string
}

// callWebhook sends the head of a request and returns when the webhook reads the body:
// HTTP's 100 Continue says so.
func callWebhook(body string) *request {
	GinkgoHelper()
	roots := x509.NewCertPool()
	Expect(roots.AppendCertsFromPEM(cluster.Webhooks.LocalServingCAData)).To(BeTrue())
	connection, err := tls.Dial("tcp", webhookAddress(), &tls.Config{RootCAs: roots})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { _ = connection.Close() })
	Expect(connection.SetDeadline(time.Now().Add(time.Minute))).To(Succeed())
	_, err = fmt.Fprintf(connection, "POST /mutate-samplecontroller-k8s-io-v1alpha1-foo HTTP/1.1\r\nHost: webhook\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", len(body))
	Expect(err).NotTo(HaveOccurred())
	r := &request{Conn: connection, answer: bufio.NewReader(connection), body: body}
	status, err := r.answer.ReadString('\n')
	Expect(err).NotTo(HaveOccurred())
	Expect(status).To(HavePrefix("HTTP/1.1 100 "))
	_, err = r.answer.ReadString('\n')
	Expect(err).NotTo(HaveOccurred())
	return r
}

// finish sends the body and gives the answer.
func (r *request) finish() string {
	GinkgoHelper()
	_, err := io.WriteString(r, r.body)
	Expect(err).NotTo(HaveOccurred())
	response, err := http.ReadResponse(r.answer, nil)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	Expect(response.StatusCode).To(Equal(http.StatusOK))
	text, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func webhookAddress() string {
	return fmt.Sprintf("127.0.0.1:%d", cluster.Webhooks.LocalServingPort)
}

// closed says that the webhook server takes no connections any more.
func closed() bool {
	connection, err := net.Dial("tcp", webhookAddress())
	if err == nil {
		_ = connection.Close()
	}
	return err != nil
}

const review = `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
	"uid": "1", "operation": "CREATE", "namespace": "default", "name": "a",
	"kind": {"group": "samplecontroller.k8s.io", "version": "v1alpha1", "kind": "Foo"},
	"resource": {"group": "samplecontroller.k8s.io", "version": "v1alpha1", "resource": "foos"},
	"object": {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo",
		"metadata": {"namespace": "default", "name": "a"}, "spec": {"deploymentName": "a"}}}}`

var _ = Describe("The end", func() {
	var manager *process

	BeforeEach(func() {
		serve(networks, classes, foos)
		manager = start()
		DeferCleanup(manager.kill)
		Eventually(manager.ready).Should(BeTrue())
	})

	DescribeTable("comes in order on one signal", func(signal syscall.Signal) {
		Expect(manager.Signal(signal)).To(Succeed())
		Eventually(manager.Ended()).Should(Receive(BeNil()), "exit code 0")
	},
		Entry("SIGTERM", syscall.SIGTERM),
		Entry("SIGINT", syscall.SIGINT),
	)

	It("waits for a request that is under way, and answers it", func() {
		held := callWebhook(review)
		Expect(manager.Signal(syscall.SIGTERM)).To(Succeed())
		Eventually(closed).Should(BeTrue())
		Consistently(manager.Ended()).ShouldNot(Receive())
		Expect(held.finish()).To(ContainSubstring(`"allowed":true`))
		Eventually(manager.Ended()).Should(Receive(BeNil()), "exit code 0")
	})

	DescribeTable("comes at once on a second signal, whatever is under way", func(signal syscall.Signal) {
		callWebhook(review)
		Expect(manager.Signal(signal)).To(Succeed())
		Eventually(closed).Should(BeTrue())
		Consistently(manager.Ended()).ShouldNot(Receive(), "it waits for the request")
		Expect(manager.Signal(signal)).To(Succeed())
		Eventually(manager.Ended()).WithTimeout(10 * time.Second).Should(Receive(MatchError("exit status 1")))
		Expect(manager.lines("grace period")).To(BeEmpty(), "it is the signal that ended it")
	},
		Entry("SIGTERM", syscall.SIGTERM),
		Entry("SIGINT", syscall.SIGINT),
	)
})
