package certs

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// lookForKind is the pause between two looks whether cert-manager's kinds are served,
// and between two judgements of a Certificate that does not change: time passes.
const lookForKind = time.Minute

// Renewal watches the Certificate that the webhooks' pair comes from, on every
// replica, where cert-manager's kinds are served and as soon as they are. A renewal
// that fails while the old pair still works would else be known only when the pair
// expires. It is told once per change, in the log and in a metric, and by the leader as
// an event on the Certificate. Without cert-manager, without the Certificate and
// without the right to read it nothing is told, and nothing else waits.
type Renewal struct {
	key     types.NamespacedName
	cache   cache.Cache
	clock   clock.PassiveClock
	events  events.EventRecorder
	elected <-chan struct{}
	failing *prometheus.Desc

	// last is the verdict on the Certificate; nil while there is none.
	last atomic.Pointer[verdict]
	// published is what the last event said.
	published verdict
}

// NewRenewal gives the watch of the Certificate of that key; add it to mgr.
func NewRenewal(mgr ctrl.Manager, key types.NamespacedName) (*Renewal, error) {
	scheme := runtime.NewScheme()
	if err := certmanagerv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	// A cache of its own: controllers wait for all that is in the manager's. It holds
	// the one object, and the right to read that one is enough.
	own, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: scheme, Mapper: mgr.GetRESTMapper(),
		DefaultNamespaces: map[string]cache.Config{key.Namespace: {
			FieldSelector: fields.OneTermEqualSelector("metadata.name", key.Name),
		}},
		DefaultTransform: cache.TransformStripManagedFields(),
		SyncPeriod:       new(lookForKind),
	})
	if err != nil {
		return nil, err
	}
	return newRenewal(key, own, clock.RealClock{}, mgr.GetEventRecorder("webhook-certificate"), mgr.Elected()), nil
}

func newRenewal(key types.NamespacedName, own cache.Cache, now clock.PassiveClock, recorder events.EventRecorder, elected <-chan struct{}) *Renewal {
	return &Renewal{
		key: key, cache: own, clock: now, events: recorder, elected: elected,
		failing: prometheus.NewDesc("samplecrd_webhook_certificate_renewal_failing",
			"1 while cert-manager does not get on with renewing the webhooks' certificate, else 0. Absent while there is no Certificate to watch.", nil, nil),
	}
}

// NeedLeaderElection is false: each replica has metrics of its own.
func (r *Renewal) NeedLeaderElection() bool { return false }

// Start watches until ctx ends.
func (r *Renewal) Start(ctx context.Context) error {
	log := ctrl.Log.WithName("certs").WithValues("certificate", klog.KRef(r.key.Namespace, r.key.Name))
	ctx = ctrl.LoggerInto(ctx, log)
	if err := wait.PollUntilContextCancel(ctx, lookForKind, true, func(ctx context.Context) (bool, error) {
		err := r.watch(ctx)
		if err != nil {
			log.V(1).Info("The Certificate cannot be watched yet", "cause", err.Error())
		}
		return err == nil, nil
	}); err != nil {
		return nil // Only because ctx has ended.
	}
	return r.cache.Start(ctx)
}

// watch has each state of the Certificate judged when it comes, and again with each
// resync. It fails while the kind is not served.
func (r *Renewal) watch(ctx context.Context) error {
	informer, err := r.cache.GetInformer(ctx, &certmanagerv1.Certificate{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	judge := func(object any) {
		if certificate, is := object.(*certmanagerv1.Certificate); is {
			r.judge(ctx, certificate)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    judge,
		UpdateFunc: func(_, object any) { judge(object) },
		DeleteFunc: func(any) {
			r.last.Store(nil)
			r.published = verdict{}
		},
	})
	if err == nil {
		ctrl.LoggerFrom(ctx).Info("Watching the Certificate's renewals")
	}
	return err
}

// judge tells what has changed. The informer calls it for one state after the other.
func (r *Renewal) judge(ctx context.Context, certificate *certmanagerv1.Certificate) {
	var before verdict
	if last := r.last.Load(); last != nil {
		before = *last
	}
	now := judge(certificate, r.clock.Now())
	if now.again && before.failing {
		now = before // Its outcome will be told.
	}
	r.last.Store(&now)
	if now != before {
		r.log(ctx, certificate, now)
	}
	select {
	case <-r.elected:
		r.publish(certificate, now)
	default:
	}
}

func (r *Renewal) log(ctx context.Context, certificate *certmanagerv1.Certificate, now verdict) {
	log := ctrl.LoggerFrom(ctx)
	if until := certificate.Status.NotAfter; until != nil {
		log = log.WithValues("validUntil", until.Time)
	}
	if now.failing {
		log.Error(errors.New(now.message), "Renewing the webhook certificate fails", "reason", now.reason)
		return
	}
	log.Info("Renewing the webhook certificate works again")
}

func (r *Renewal) publish(certificate *certmanagerv1.Certificate, now verdict) {
	if now == r.published {
		return
	}
	r.published = now
	if !now.failing {
		return
	}
	// The manager's scheme, by which the recorder finds kinds, has none of cert-manager's.
	regarding := certificate.DeepCopy()
	regarding.SetGroupVersionKind(certmanagerv1.SchemeGroupVersion.WithKind(certmanagerv1.CertificateKind))
	r.events.Eventf(regarding, nil, corev1.EventTypeWarning, "RenewalFailing", "Renew", "%s", note(now))
}

// note is the text of an event; the API server takes up to 1024 bytes.
func note(now verdict) string {
	text := now.reason + ": " + now.message
	if len(text) <= 1024 {
		return text
	}
	return strings.ToValidUTF8(text[:1021], "") + "…"
}

// Describe is prometheus.Collector's.
func (r *Renewal) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- r.failing }

// Collect is prometheus.Collector's.
func (r *Renewal) Collect(values chan<- prometheus.Metric) {
	last := r.last.Load()
	if last == nil {
		return
	}
	value := 0.0
	if last.failing {
		value = 1
	}
	values <- prometheus.MustNewConstMetric(r.failing, prometheus.GaugeValue, value)
}
