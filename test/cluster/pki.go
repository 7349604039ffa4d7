package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// authority signs the certificates of one cluster, which live as long as it does.
type authority struct {
	key         crypto.Signer
	certificate *x509.Certificate
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: namespace}, key)
	return &authority{key: key, certificate: certificate}, err
}

// pair is a certificate and its key, as PEM.
type pair struct{ certificate, key []byte }

// issue makes a pair for a client, whose groups are organizations, or for a server
// with the given names and addresses.
func (a *authority) issue(name string, groups, hosts []string) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return pair{}, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: name, Organization: groups},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     a.certificate.NotAfter,
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	for _, host := range hosts {
		if address := net.ParseIP(host); address != nil {
			template.IPAddresses = append(template.IPAddresses, address)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return pair{}, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return pair{}, err
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		return pair{}, err
	}
	certificate, err := cert.EncodeCertificates(signed)
	return pair{certificate: certificate, key: keyPEM}, err
}

// users are the kubeconfigs that are written, each with the identity that Kubernetes'
// bootstrap policy expects of the component.
var users = []struct{ file, name, group string }{
	{"admin", "admin", "system:masters"},
	{"controller-manager", "system:kube-controller-manager", ""},
	{"scheduler", "system:kube-scheduler", ""},
	{"proxy", "system:kube-proxy", ""},
	{"kubelet", "system:node:" + nodeName, "system:nodes"},
}

// writePKI writes every key, certificate and kubeconfig of a new cluster.
func (c *cluster) writePKI() error {
	ca, err := newAuthority()
	if err != nil {
		return err
	}
	caPEM, err := cert.EncodeCertificates(ca.certificate)
	if err != nil {
		return err
	}
	caKey, err := keyutil.MarshalPrivateKeyToPEM(ca.key)
	if err != nil {
		return err
	}
	server, err := ca.issue("kube-apiserver", nil, []string{
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost", "127.0.0.1", nodeAddress, firstService,
	})
	if err != nil {
		return err
	}
	kubeletClient, err := ca.issue("kube-apiserver-kubelet-client", []string{"system:masters"}, nil)
	if err != nil {
		return err
	}
	accounts, err := ca.issue("service-accounts", nil, nil)
	if err != nil {
		return err
	}
	files := map[string][]byte{
		"ca.crt": caPEM, "ca.key": caKey,
		"apiserver.crt": server.certificate, "apiserver.key": server.key,
		"kubelet-client.crt": kubeletClient.certificate, "kubelet-client.key": kubeletClient.key,
		"service-accounts.key": accounts.key,
	}
	var all error
	for name, text := range files {
		all = errors.Join(all, keyutil.WriteKey(c.path("pki", name), text))
	}
	for _, user := range users {
		var groups []string
		if user.group != "" {
			groups = []string{user.group}
		}
		client, err := ca.issue(user.name, groups, nil)
		all = errors.Join(all, err, c.writeKubeconfig(c.path(user.file+".kubeconfig"), caPEM, client))
	}
	return all
}

func (c *cluster) writeKubeconfig(path string, ca []byte, client pair) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[namespace] = &clientcmdapi.Cluster{Server: apiURL, CertificateAuthorityData: ca}
	config.AuthInfos[namespace] = &clientcmdapi.AuthInfo{ClientCertificateData: client.certificate, ClientKeyData: client.key}
	config.Contexts[namespace] = &clientcmdapi.Context{Cluster: namespace, AuthInfo: namespace}
	config.CurrentContext = namespace
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return err
	}
	return os.Chmod(path, 0o600)
}
