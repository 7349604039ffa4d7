package certs

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestExpiryMetric(t *testing.T) {
	dir := t.TempDir()
	p, now, _ := pairIn(t, dir)
	if got := gathered(t, p); got != "" {
		t.Errorf("got %q without a pair", got)
	}
	mount(t, dir, newFiles(t, 1))
	p.look(t.Context())
	for at, want := range map[time.Time]string{
		expires.Add(-time.Minute): "samplecrd_webhook_certificate_expiry_seconds 60",
		expires:                   "samplecrd_webhook_certificate_expiry_seconds 0",
		expires.Add(time.Second):  "samplecrd_webhook_certificate_expiry_seconds -1",
	} {
		now.SetTime(at)
		if got := gathered(t, p); got != want {
			t.Errorf("at %s got %q, want %q", at, got, want)
		}
	}
}

// gathered gives name and value of a collector's gauges.
func gathered(t *testing.T, collector prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(collector); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			lines = append(lines, fmt.Sprintf("%s %v", family.GetName(), metric.GetGauge().GetValue()))
		}
	}
	return strings.Join(lines, "\n")
}

// counted gives a counter's value.
func counted(t *testing.T, counter prometheus.Collector) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	if err := registry.Register(counter); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families[0].GetMetric()[0].GetCounter().GetValue()
}
