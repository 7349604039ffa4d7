package certs

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher/metrics"
)

var (
	made    = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	expires = made.Add(90 * 24 * time.Hour)
	noon    = made.Add(12 * time.Hour)
)

// files are what a folder holds, by name.
type files map[string][]byte

// newFiles makes a pair that signs for 127.0.0.1, from made until expires.
func newFiles(t *testing.T, serial int64) files {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: made, NotAfter: expires,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return files{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}

// mount puts files into a folder as the kubelet does: into a folder of their own, to
// which the link ..data then points.
func mount(t *testing.T, dir string, of files) {
	t.Helper()
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, fmt.Sprintf("..%d", len(before)))
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range of {
		if err := os.WriteFile(filepath.Join(data, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	next, current := filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")
	if err := os.Symlink(filepath.Base(data), next); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, current); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tls.crt", "tls.key"} {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
}

// logged collects what is logged: errors, and the rest.
type logged struct{ errors, infos []string }

func (l *logged) logger() logr.Logger {
	return funcr.New(func(_, line string) {
		if strings.Contains(line, `"error"=`) {
			l.errors = append(l.errors, line)
			return
		}
		l.infos = append(l.infos, line)
	}, funcr.Options{})
}

// pairIn gives the pair of a folder, at noon, looked at once.
func pairIn(t *testing.T, dir string) (*pair, *clocktesting.FakePassiveClock, *logged) {
	t.Helper()
	now, log := clocktesting.NewFakePassiveClock(noon), &logged{}
	p := newPair(dir, now, log.logger())
	p.look(t.Context())
	return p, now, log
}

func serial(p *pair) int64 {
	if served := p.served.Load(); served != nil {
		return served.Leaf.SerialNumber.Int64()
	}
	return 0
}

func TestPairThatCannotBeUsed(t *testing.T) {
	one, other := newFiles(t, 1), newFiles(t, 2)
	half := func(text []byte) []byte { return text[:len(text)/2] }
	for name, tc := range map[string]struct {
		then files
		says string
	}{
		"a certificate that is none":        {files{"tls.crt": []byte("none"), "tls.key": other["tls.key"]}, "failed to find any PEM data in certificate"},
		"a key that is none":                {files{"tls.crt": other["tls.crt"], "tls.key": []byte("none")}, "failed to find any PEM data in key"},
		"a key of another certificate":      {files{"tls.crt": other["tls.crt"], "tls.key": one["tls.key"]}, "private key does not match public key"},
		"a certificate written by half":     {files{"tls.crt": half(other["tls.crt"]), "tls.key": other["tls.key"]}, "failed to find any PEM data in certificate"},
		"a certificate without its key":     {files{"tls.crt": other["tls.crt"]}, "tls.key: no such file"},
		"empty files":                       {files{"tls.crt": nil, "tls.key": nil}, "failed to find any PEM data in certificate"},
		"a certificate that does not parse": {files{"tls.crt": bytes.Replace(other["tls.crt"], []byte("MII"), []byte("AAA"), 1), "tls.key": other["tls.key"]}, "malformed certificate"},
		"nothing":                           {nil, "tls.crt: no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mount(t, dir, one)
			p, _, log := pairIn(t, dir)

			failures := counted(t, metrics.ReadCertificateErrors)
			mount(t, dir, tc.then)
			for range 3 {
				p.look(t.Context())
			}
			if got := serial(p); got != 1 {
				t.Errorf("served is %d, want the old pair", got)
			}
			if err := p.valid(); err != nil {
				t.Errorf("the old pair is not valid: %v", err)
			}
			if len(log.errors) != 1 || !strings.Contains(log.errors[0], tc.says) || !strings.Contains(log.errors[0], dir) || !strings.Contains(log.errors[0], "remedy") {
				t.Errorf("logged %q, want once %q with folder and remedy", log.errors, tc.says)
			}
			if got := counted(t, metrics.ReadCertificateErrors) - failures; got < 3 {
				t.Errorf("counted %v failures, want one for each look", got)
			}

			mount(t, dir, other)
			p.look(t.Context())
			if got := serial(p); got != 2 {
				t.Errorf("served is %d, want the new pair", got)
			}
			if last := log.infos[len(log.infos)-1]; !strings.Contains(last, "in order again") {
				t.Errorf("logged %q, want the recovery", last)
			}
			if len(log.errors) != 1 {
				t.Errorf("logged %q, want nothing new", log.errors)
			}
		})
	}
}

func TestPairIsReportedOncePerChange(t *testing.T) {
	one, dir := newFiles(t, 1), t.TempDir()
	mount(t, dir, one)
	p, now, log := pairIn(t, dir)
	for i, step := range []func(){
		func() { mount(t, dir, nil) },
		func() { mount(t, dir, files{"tls.crt": []byte("none"), "tls.key": []byte("none")}) },
		func() { now.SetTime(expires) },
		func() { mount(t, dir, one) },
	} {
		step()
		p.look(t.Context())
		p.look(t.Context())
		if len(log.errors) != i+1 {
			t.Fatalf("after step %d logged %q", i, log.errors)
		}
	}
	if last := log.errors[3]; !strings.Contains(last, "expired at 2026-05-30T00:00:00Z") || !strings.Contains(last, "API servers will refuse it") {
		t.Errorf("logged %q", last)
	}
}

func TestPairThatComesLate(t *testing.T) {
	dir := t.TempDir()
	p, _, log := pairIn(t, dir)
	p.look(t.Context())
	if err := p.valid(); err == nil || err.Error() != "no webhook certificate in "+dir+" yet" {
		t.Errorf("got %v", err)
	}
	if len(log.errors) != 1 || !strings.Contains(log.errors[0], "Waiting for a webhook certificate") {
		t.Errorf("logged %q", log.errors)
	}
	select {
	case <-p.found:
		t.Fatal("found a pair where there is none")
	default:
	}

	mount(t, dir, newFiles(t, 1))
	p.look(t.Context())
	<-p.found
	if err := p.valid(); err != nil {
		t.Error(err)
	}
	if served, err := p.get(nil); err != nil || served.Leaf.SerialNumber.Int64() != 1 {
		t.Errorf("got %v, %v", served, err)
	}
	p.look(t.Context())
	if taken := len(log.infos); taken != 2 {
		t.Errorf("logged %q, want what was taken up and that all is in order", log.infos)
	}
}

func TestValid(t *testing.T) {
	dir := t.TempDir()
	mount(t, dir, newFiles(t, 1))
	p, now, _ := pairIn(t, dir)
	for name, tc := range map[string]struct {
		at   time.Time
		want string
	}{
		"before it begins":        {made.Add(-time.Second), "the webhook certificate is not valid before 2026-03-01T00:00:00Z"},
		"when it begins":          {made, ""},
		"a second before its end": {expires.Add(-time.Second), ""},
		"at its end":              {expires, "the webhook certificate expired at 2026-05-30T00:00:00Z"},
		"long after its end":      {expires.Add(time.Hour), "the webhook certificate expired at 2026-05-30T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			now.SetTime(tc.at)
			got := ""
			if err := p.valid(); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
