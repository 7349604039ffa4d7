package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// served waits until every replica serves the certificate in the Secret, and until
// that is one that the API server trusts for the Service's name.
func served(ctx context.Context) {
	GinkgoHelper()
	for _, pod := range managerPods(ctx) {
		Eventually(func(g Gomega) {
			// It may be away: cert-manager makes another where it was deleted.
			var pair corev1.Secret
			g.Expect(c.Get(ctx, client.ObjectKey{Namespace: system, Name: leaf}, &pair)).To(Succeed())
			block, _ := pem.Decode(pair.Data[corev1.TLSCertKey])
			g.Expect(block).NotTo(BeNil())
			chain, err := shown(ctx, pod.Name)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(bytes.Equal(chain[0].Raw, block.Bytes)).To(BeTrue(), "%s still serves number %x", pod.Name, chain[0].SerialNumber)
			for _, bundle := range bundles(ctx) {
				roots := x509.NewCertPool()
				g.Expect(roots.AppendCertsFromPEM([]byte(bundle))).To(BeTrue())
				_, err := chain[0].Verify(x509.VerifyOptions{Roots: roots, DNSName: webhook + "." + system + ".svc"})
				g.Expect(err).NotTo(HaveOccurred())
			}
		}).WithContext(ctx).Should(Succeed())
	}
}

// shown gives what a manager's Pod shows at a TLS handshake. The connection to the Pod
// is made for it alone: client-go ends a port-forward for good after one that the other
// side did not end well.
func shown(ctx context.Context, pod string) ([]*x509.Certificate, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	address, err := forward(ctx, pod, 9443)
	if err != nil {
		return nil, err
	}
	return handshake(ctx, address)
}

// handshake gives what a TLS server shows.
func handshake(ctx context.Context, address string) ([]*x509.Certificate, error) {
	dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 5 * time.Second}, Config: &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // What it shows is looked at afterwards.
	}}
	connection, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = connection.Close() }()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates, nil
}

// forward gives an address of this machine that leads to a port of a manager's Pod,
// until ctx ends.
func forward(ctx context.Context, pod string, port int) (string, error) {
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequest(http.MethodPost, fmt.Sprintf("%s/api/v1/namespaces/%s/pods/%s/portforward", config.Host, system, pod), nil)
	if err != nil {
		return "", err
	}
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, request.URL)
	ready, ended := make(chan struct{}), make(chan error, 1)
	forwarder, err := portforward.New(dialer, []string{fmt.Sprintf("0:%d", port)}, ctx.Done(), ready, nil, nil)
	if err != nil {
		return "", err
	}
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-ended:
		return "", fmt.Errorf("forwarding a port of %s: %w", pod, err)
	case <-ctx.Done():
		return "", ctx.Err()
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local), nil
}
