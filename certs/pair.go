package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher/metrics"
)

// lookAgain is the pause between two looks at the files. The kubelet takes up to a
// minute to bring a Secret's change there.
const lookAgain = 5 * time.Second

// pair is a certificate with its key that follows two files. controller-runtime's
// certwatcher would do the same, but repeats an error with every look, needs the files
// from the beginning, and holds an inotify instance, of which a node has few.
type pair struct {
	dir   string
	clock clock.PassiveClock
	log   logr.Logger

	// served is the last pair that could be used; its Leaf is parsed.
	served atomic.Pointer[tls.Certificate]
	// found is closed with the first pair.
	found     chan struct{}
	foundOnce sync.Once
	// problem is what look last reported; "" for none.
	problem string
	expiry  *prometheus.Desc
}

func newPair(dir string, now clock.PassiveClock, log logr.Logger) *pair {
	return &pair{
		dir: dir, clock: now, log: log, found: make(chan struct{}),
		expiry: prometheus.NewDesc("samplecrd_webhook_certificate_expiry_seconds",
			"Seconds until the certificate that the webhooks are served with expires; negative when it has. Absent while there is none.", nil, nil),
	}
}

// get is tls.Config's GetCertificate.
func (p *pair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.served.Load(), nil }

// look reads the files again. What cannot be used leaves the old pair in use, and is
// reported once per change. Not for concurrent use.
func (p *pair) look(context.Context) {
	err := p.load()
	if err != nil && p.problem == "" {
		// The files are read one after the other, and may have been swapped between.
		err = p.load()
	}
	p.report(err, p.valid())
}

// load takes up the pair of the files.
func (p *pair) load() error {
	// These are certwatcher's metrics, with their meaning.
	metrics.ReadCertificateTotal.Inc()
	loaded, err := tls.LoadX509KeyPair(filepath.Join(p.dir, "tls.crt"), filepath.Join(p.dir, "tls.key"))
	if err != nil {
		metrics.ReadCertificateErrors.Inc()
		return err
	}
	before := p.served.Swap(&loaded)
	if before == nil || !bytes.Equal(before.Certificate[0], loaded.Certificate[0]) {
		p.log.Info("Took up a webhook certificate", "folder", p.dir, "serialNumber", loaded.Leaf.SerialNumber.Text(16),
			"notBefore", loaded.Leaf.NotBefore, "notAfter", loaded.Leaf.NotAfter)
	}
	p.foundOnce.Do(func() { close(p.found) })
	return nil
}

// valid says what is wrong with the pair in use. It is used as it is all the same: a
// client says so better than a connection that fails without a word.
func (p *pair) valid() error {
	served := p.served.Load()
	if served == nil {
		return fmt.Errorf("no webhook certificate in %s yet", p.dir)
	}
	now, leaf := p.clock.Now(), served.Leaf
	if now.Before(leaf.NotBefore) {
		return fmt.Errorf("the webhook certificate is not valid before %s", leaf.NotBefore.Format(time.RFC3339))
	}
	if !now.Before(leaf.NotAfter) {
		return fmt.Errorf("the webhook certificate expired at %s", leaf.NotAfter.Format(time.RFC3339))
	}
	return nil
}

func (p *pair) report(unusable, invalid error) {
	err := errors.Join(unusable, invalid)
	was := p.problem
	p.problem = ""
	if err != nil {
		p.problem = err.Error()
	}
	if p.problem == was {
		return
	}
	log := p.log.WithValues("folder", p.dir)
	const remedy = "see that tls.crt and tls.key in the folder are PEM, belong together and are valid now; with cert-manager, see the Certificate's conditions (kubectl describe certificate)"
	switch {
	case err == nil:
		log.Info("The webhook certificate is in order again")
	case p.served.Load() == nil:
		log.Error(err, "Waiting for a webhook certificate", "remedy", remedy)
	case unusable != nil:
		log.Error(err, "A new webhook certificate cannot be used, the old one stays in use", "remedy", remedy)
	default:
		log.Error(err, "The webhook certificate is not valid, API servers will refuse it", "remedy", remedy)
	}
}

// Describe is prometheus.Collector's.
func (p *pair) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- p.expiry }

// Collect is prometheus.Collector's.
func (p *pair) Collect(values chan<- prometheus.Metric) {
	if served := p.served.Load(); served != nil {
		left := served.Leaf.NotAfter.Sub(p.clock.Now()).Seconds()
		values <- prometheus.MustNewConstMetric(p.expiry, prometheus.GaugeValue, left)
	}
}
