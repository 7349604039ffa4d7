package certs

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
)

var certificateKind = certmanagerv1.SchemeGroupVersion.WithKind("Certificate")

// watched is a Renewal and what it tells.
type watched struct {
	*Renewal
	now    *clocktesting.FakePassiveClock
	log    logged
	events *events.FakeRecorder
	ctx    context.Context
}

// watch gives a Renewal of a replica that leads when elected is closed.
func watch(t *testing.T, elected chan struct{}, of cache.Cache) *watched {
	t.Helper()
	w := &watched{now: clocktesting.NewFakePassiveClock(due), events: events.NewFakeRecorder(10)}
	w.Renewal = newRenewal(types.NamespacedName{Namespace: "samplecrd-system", Name: "samplecrd-webhook-server"}, of, w.now, w.events, elected)
	w.ctx = ctrl.LoggerInto(t.Context(), w.log.logger())
	return w
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// told gives the events so far, and forgets them.
func (w *watched) told() []string {
	var all []string
	for {
		select {
		case event := <-w.events.Events:
			all = append(all, event)
		default:
			return all
		}
	}
}

func (w *watched) expect(t *testing.T, errors, infos int, told []string, metric string) {
	t.Helper()
	if len(w.log.errors) != errors || len(w.log.infos) != infos {
		t.Errorf("logged %q and %q, want %d errors and %d other lines", w.log.errors, w.log.infos, errors, infos)
	}
	if got := w.told(); strings.Join(got, "\n") != strings.Join(told, "\n") {
		t.Errorf("events are %q, want %q", got, told)
	}
	if got := gathered(t, w.Renewal); got != metric {
		t.Errorf("metric is %q, want %q", got, metric)
	}
}

const (
	works = "samplecrd_webhook_certificate_renewal_failing 0"
	fails = "samplecrd_webhook_certificate_renewal_failing 1"
)

func TestRenewalIsToldOncePerChange(t *testing.T) {
	w := watch(t, closed(), &informertest.FakeInformers{})
	w.expect(t, 0, 0, nil, "")
	w.judge(w.ctx, newCertificate(ready, issued))
	w.expect(t, 0, 0, nil, works)

	broken := newCertificate(ready, issued, failed(1, due), stopped(due, "Failed", "no CA"))
	for range 3 {
		w.judge(w.ctx, broken)
	}
	w.expect(t, 1, 0, []string{"Warning RenewalFailing Failed: no CA"}, fails)
	for _, part := range []string{"Renewing the webhook certificate fails", "no CA", `"reason"="Failed"`, "2026-05-30"} {
		if !strings.Contains(w.log.errors[0], part) {
			t.Errorf("logged %q, want %q in it", w.log.errors[0], part)
		}
	}

	w.judge(w.ctx, newCertificate(ready, issued, failed(1, due), issuing(due, "Renewing", "again")))
	w.judge(w.ctx, newCertificate(ready, issued, failed(2, due), stopped(due, "Failed", "no CA")))
	w.expect(t, 1, 0, nil, fails)
	w.judge(w.ctx, newCertificate(ready, issued, failed(3, due), stopped(due, "Denied", "by policy")))
	w.expect(t, 2, 0, []string{"Warning RenewalFailing Denied: by policy"}, fails)

	w.judge(w.ctx, newCertificate(ready, issued))
	w.expect(t, 2, 1, nil, works)
	if !strings.Contains(w.log.infos[0], "works again") {
		t.Errorf("logged %q", w.log.infos)
	}
	w.judge(w.ctx, broken)
	w.expect(t, 3, 1, []string{"Warning RenewalFailing Failed: no CA"}, fails)
}

func TestRenewalIsToldInEventsByTheLeaderAlone(t *testing.T) {
	elected := make(chan struct{})
	w := watch(t, elected, &informertest.FakeInformers{})
	broken := newCertificate(ready, issued, failed(1, due), stopped(due, "Failed", "no CA"))
	w.judge(w.ctx, broken)
	w.expect(t, 1, 0, nil, fails)
	close(elected)
	w.judge(w.ctx, broken)
	w.expect(t, 1, 0, []string{"Warning RenewalFailing Failed: no CA"}, fails)
}

func TestNoteFitsIntoAnEvent(t *testing.T) {
	for _, message := range []string{"short", strings.Repeat("x", 2000), strings.Repeat("ü", 2000)} {
		if got := note(verdict{reason: "Failed", message: message}); len(got) > 1024 || !utf8.ValidString(got) || !strings.HasPrefix(got, "Failed: "+message[:4]) {
			t.Errorf("got %d bytes, %q", len(got), got)
		}
	}
}

// served is a cache of an API server on which the kind comes late.
type served struct {
	informertest.FakeInformers
	missing atomic.Bool
}

func (s *served) GetInformer(ctx context.Context, object client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	if s.missing.Load() {
		return nil, &meta.NoKindMatchError{GroupKind: certificateKind.GroupKind()}
	}
	return s.FakeInformers.GetInformer(ctx, object, opts...)
}

func (s *served) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

func TestRenewalIsWatchedWhenTheKindComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scheme := runtime.NewScheme()
		if err := certmanagerv1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		informer := controllertest.NewFakeInformer(controllertest.Synced)
		s := &served{FakeInformers: informertest.FakeInformers{Scheme: scheme, InformersByGVK: map[schema.GroupVersionKind]toolscache.SharedIndexInformer{certificateKind: informer}}}
		s.missing.Store(true)
		w := watch(t, closed(), s)
		ctx, stop := context.WithCancel(w.ctx)
		ended := make(chan error, 1)
		go func() { ended <- w.Start(ctx) }()

		time.Sleep(10 * lookForKind)
		s.missing.Store(false)
		time.Sleep(lookForKind + time.Second)
		healthy := newCertificate(ready, issued)
		informer.Add(healthy)
		if got := gathered(t, w.Renewal); got != works {
			t.Errorf("metric is %q, want %q", got, works)
		}
		w.now.SetTime(due.Add(time.Hour))
		informer.Update(healthy, healthy) // As a resync does.
		if got := gathered(t, w.Renewal); got != fails {
			t.Errorf("metric is %q, want %q: time alone has passed", got, fails)
		}
		informer.Delete(healthy)
		if got := gathered(t, w.Renewal); got != "" {
			t.Errorf("metric is %q without a Certificate", got)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
