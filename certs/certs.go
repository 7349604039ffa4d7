// Package certs is the TLS of the webhooks in one place: where the pair comes
// from, how it is served, and when it counts as ready.
package certs

import (
	"crypto/tls"
	"flag"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Options say where the webhooks are served and with which pair.
type Options struct {
	// Port of the webhook server.
	Port int
	// Dir holds tls.crt and tls.key, as a mounted Secret of type
	// kubernetes.io/tls does. A pair that changes there is taken up by itself.
	Dir string
}

// BindFlags adds the options to a flag set, with their defaults.
func (o *Options) BindFlags(flags *flag.FlagSet) {
	flags.IntVar(&o.Port, "webhook-port", 9443, "Port of the webhook server.")
	flags.StringVar(&o.Dir, "webhook-cert-dir", "/etc/samplecrd/webhook-certs", "Folder with tls.crt and tls.key of the webhook server.")
}

// Server serves the webhooks over TLS 1.2 or newer, without HTTP/2: it brings no
// gain here, and two denial-of-service attacks (CVE-2023-44487, CVE-2023-39325).
func (o *Options) Server() webhook.Server {
	return webhook.NewServer(webhook.Options{
		Port:    o.Port,
		CertDir: o.Dir,
		TLSOpts: []func(*tls.Config){func(c *tls.Config) {
			c.MinVersion = tls.VersionTLS12
			c.NextProtos = []string{"http/1.1"}
		}},
	})
}

// Ready succeeds once the server answers with its pair.
func Ready(server webhook.Server) healthz.Checker {
	return func(request *http.Request) error { return server.StartedChecker()(request) }
}
