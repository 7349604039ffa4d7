package neutron

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are what the backend tells of itself.
type metrics struct {
	requests *prometheus.CounterVec
	orphans  *prometheus.GaugeVec
}

func newMetrics() metrics {
	return metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "samplecrd_neutron_requests_total",
			Help: "HTTP requests to OpenStack, Keystone's among them, by method and status code; 0 for no answer.",
		}, []string{"method", "code"}),
		orphans: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "samplecrd_neutron_orphans",
			Help: "Neutron networks that bear the mark of a Network of this cluster that is gone, by credentials Secret, cloud and project.",
		}, []string{"secret", "cloud", "project"}),
	}
}

// Metrics are what the backend tells of itself, to be registered.
func (p *Provider) Metrics() prometheus.Collector { return p.metrics }

// Describe describes the metrics.
func (m metrics) Describe(to chan<- *prometheus.Desc) {
	m.requests.Describe(to)
	m.orphans.Describe(to)
}

// Collect gives the metrics.
func (m metrics) Collect(to chan<- prometheus.Metric) {
	m.requests.Collect(to)
	m.orphans.Collect(to)
}

// counting counts the requests that pass inner.
func (m metrics) counting(inner http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := inner.RoundTrip(request)
		code := 0
		if err == nil {
			code = response.StatusCode
		}
		m.requests.WithLabelValues(request.Method, strconv.Itoa(code)).Inc()
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls f.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
