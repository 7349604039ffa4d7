// Package certs is the TLS of the webhooks in one place: where the pair comes from,
// how it is served and when it counts as ready, how serving ends, and what is said of
// a pair, or a renewal, that fails.
package certs

import (
	"crypto/tls"
	"flag"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Options say where the webhooks are served and with which pair.
type Options struct {
	// Port of the webhook server.
	Port int
	// Dir holds tls.crt and tls.key, as a mounted Secret of type
	// kubernetes.io/tls does. A pair that comes or changes there is taken up by
	// itself, within seconds.
	Dir string
	// Certificate is the name of cert-manager's Certificate that the pair comes
	// from, in the manager's own namespace; empty for none. See Renewal.
	Certificate string
}

// BindFlags adds the options to a flag set, with their defaults.
func (o *Options) BindFlags(flags *flag.FlagSet) {
	flags.IntVar(&o.Port, "webhook-port", 9443, "Port of the webhook server.")
	flags.StringVar(&o.Dir, "webhook-cert-dir", "/etc/samplecrd/webhook-certs", "Folder with tls.crt and tls.key of the webhook server. A pair that comes or changes is taken up within seconds; one that cannot be used leaves the old one in use.")
	flags.StringVar(&o.Certificate, "webhook-certificate", "samplecrd-webhook-server", "Name of cert-manager's Certificate that the pair comes from, in the manager's own namespace. Where cert-manager's kinds are served it is watched, and a renewal that fails is reported. Empty for none.")
}

// Server gives a server of the webhooks over TLS 1.2 or newer, without HTTP/2: it
// brings no gain here, and two denial-of-service attacks (CVE-2023-44487,
// CVE-2023-39325).
func (o *Options) Server() *Server {
	pair := newPair(o.Dir, clock.RealClock{}, ctrl.Log.WithName("certs"))
	return &Server{
		Server: webhook.NewServer(webhook.Options{
			Port: o.Port,
			TLSOpts: []func(*tls.Config){func(c *tls.Config) {
				c.MinVersion = tls.VersionTLS12
				c.NextProtos = []string{"http/1.1"}
				c.GetCertificate = pair.get
			}},
		}),
		pair:  pair,
		clock: clock.RealClock{},
		log:   ctrl.Log.WithName("webhooks"),
	}
}
