package neutron

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/test/faults"
)

// TestOrphans: what bears the mark of a Network that is gone is told of, once, when two
// sweeps have seen it, and is left alone.
func TestOrphans(t *testing.T) {
	b := newBackend(t, nil)
	var lines []string
	ctx := ctrllog.IntoContext(t.Context(), funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	sweep := func() {
		t.Helper()
		spec := class().Neutron
		if err := b.in(ctx, sweeper, spec, func(s *session) error { return b.sweep(ctx, s, scopeOf(spec)) }); err != nil {
			t.Fatal(err)
		}
	}
	kept, gone := b.new(t), b.new(t)
	b.ensures(t, kept, planOf(t, seed))
	orphan := b.ensures(t, gone, planOf(t, seed))
	object := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: kept.Namespace, Name: kept.Name, UID: kept.UID}}
	if err := b.kube.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	foreign := mark(types.UID("another-cluster"), gone.UID)
	if err := networks.Create(t.Context(), b.eye, networkCreate{Name: nameOf(gone), Description: foreign}).Err; err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{0, 1, 1, 1} {
		sweep()
		if got := b.metric(t, "samplecrd_neutron_orphans"); got != want {
			t.Errorf("after sweep %d there are %v orphans, want %v", i+1, got, want)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], orphan.ID) || !strings.Contains(lines[0], string(gone.UID)) {
		t.Errorf("the log says %q", lines)
	}
	if len(b.ours(t, gone)) != 1 || len(b.networks(t, gone, foreign)) != 1 {
		t.Error("an orphan is not left alone")
	}
	if err := networks.Delete(t.Context(), b.eye, orphan.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if sweep(); b.metric(t, "samplecrd_neutron_orphans") != 0 {
		t.Error("the orphan is gone, and counted")
	}
}

// TestSweepIsDue: the interval that counts is the class's as it is now.
func TestSweepIsDue(t *testing.T) {
	ended := round{ended: noon, share: 0.9}
	failed, running := ended, ended
	failed.failed, running.running = true, true
	for name, tc := range map[string]struct {
		round    round
		after    time.Duration
		interval time.Duration
		due      bool
	}{
		"the first one":                    {interval: time.Hour, due: true},
		"before its time":                  {round: ended, after: 53 * time.Minute, interval: time.Hour},
		"at its time":                      {round: ended, after: 54 * time.Minute, interval: time.Hour, due: true},
		"at a time that is earlier by now": {round: ended, after: 9 * time.Second, interval: probing, due: true},
		"at a time that is later by now":   {round: ended, after: 54 * time.Minute, interval: 2 * time.Hour},
		"after a failure":                  {round: failed, after: 9 * time.Second, interval: time.Hour, due: true},
		"right after a failure":            {round: failed, after: 8 * time.Second, interval: time.Hour},
		"while one goes on":                {round: running, after: time.Hour, interval: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.round.due(noon.Add(tc.after), tc.interval); got != tc.due {
				t.Errorf("it is due: %t", got)
			}
		})
	}
	if d := interval(&samplecrdv1.NeutronSpec{}); d != 10*time.Minute {
		t.Errorf("where a class says nothing the interval is %v", d)
	}
	low, high := time.Hour, time.Duration(0)
	for range 1000 {
		low, high = min(low, spread(time.Minute)), max(high, spread(time.Minute))
	}
	if low < 48*time.Second || low > 54*time.Second || high > 72*time.Second || high < 66*time.Second {
		t.Errorf("a minute is spread from %v to %v", low, high)
	}
}

// TestAbandon: of a project whose last class is gone nothing is told any more.
func TestAbandon(t *testing.T) {
	p := New(Options{})
	kept, gone, running := scopeOf(class().Neutron), scope{project: "gone"}, scope{project: "running"}
	for _, s := range []scope{kept, gone, running} {
		p.state(s).running = s == running
		p.metrics.orphans.WithLabelValues(s.secret, s.cloud, s.project).Set(1)
	}
	p.account(class().Neutron)
	p.account(&samplecrdv1.NeutronSpec{CredentialsSecretName: "gone"})
	p.abandon(map[scope]*samplecrdv1.NeutronSpec{kept: class().Neutron})
	if p.scopes[kept] == nil || p.scopes[gone] != nil || p.scopes[running] == nil {
		t.Errorf("what is left is %v", p.scopes)
	}
	if p.accounts[kept.accountKey] == nil || len(p.accounts) != 1 {
		t.Errorf("the credentials that are left are %v", p.accounts)
	}
	if got := (&backend{Provider: p}).metric(t, "samplecrd_neutron_orphans"); got != 2 {
		t.Errorf("orphans of %v projects are told of, want 2", got)
	}
}

// metric gives the sum of a metric's values.
func (b *backend) metric(t *testing.T, name string) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(b.Metrics())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == name {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return sum
}

// TestPages: Neutron's own pages, of four objects, in any order, tell the same as one.
func TestPages(t *testing.T) {
	b := newBackend(t, nil)
	plan := planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", AdditionalSubnets: []samplecrdv1.SubnetSpec{{CIDR: "fd00:1::/64"}}})
	var ids []providers.Identity
	for range 5 {
		id := b.new(t)
		b.ensures(t, id, plan)
		id.New = false
		ids = append(ids, id)
	}
	again := b.restarted(nil)
	again.calls.Add(faults.Rule{Method: http.MethodGet, Path: "/v2.0/"}, func(request *http.Request, next http.RoundTripper) (*http.Response, error) {
		small := request.Clone(context.WithoutCancel(request.Context()))
		query := small.URL.Query()
		query.Set("limit", "4")
		small.URL.RawQuery = query.Encode()
		return next.RoundTrip(small)
	})
	again.calls.Add(faults.Rule{Method: http.MethodGet}, faults.Reordered())
	again.sees(t)
	if again.reads() < 2+3 {
		t.Errorf("%d reads, of pages of four", again.reads())
	}
	again.checkAsks(t, "all that was seen", func() {
		for _, id := range ids {
			if again.ensures(t, id, plan).Changed {
				t.Error("something has changed")
			}
		}
	})
}
