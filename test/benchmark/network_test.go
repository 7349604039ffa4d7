package benchmark

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/providers/neutron"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/faults"
	servers "github.com/samplecrd/samplecrd/test/openstack"
)

// neutronWorkers is how many Networks of a cloud are at work at once.
const neutronWorkers = 8

// BenchmarkNetworks creates Networks at once and takes the time until all are Ready,
// next to a bare loop of the same POSTs to the same OpenStack Neutron with as many workers
// (x-bare-loop), once as Neutron is and once with 200 ms added to each call. of-ideal is
// how much it is of what the workers could make if they did nothing but wait for Neutron.
// API server, webhooks, controller and Neutron share one machine. It needs a Neutron; run
// it with
//
//	make neutron-up && NEUTRON=required go test ./test/benchmark -run '^$' -bench Networks -benchtime 1x -timeout 30m
func BenchmarkNetworks(b *testing.B) {
	credentials, err := os.ReadFile(servers.Need(b))
	check(b, err)
	ctrl.SetLogger(logr.Discard())
	e, err := env.Start(env.Options{Webhooks: true})
	check(b, err)
	defer func() { check(b, e.Stop()) }()
	for _, added := range []time.Duration{0, 200 * time.Millisecond} {
		b.Run(fmt.Sprintf("%v added to each call", added), func(b *testing.B) {
			newNeutronBench(b, e, credentials, added).run()
		})
	}
}

// neutronBench is a manager on a Neutron, and somebody who works there by hand.
type neutronBench struct {
	b         *testing.B
	env       *env.Env
	namespace string
	class     string
	// calls are the manager's, hand's those of the bare loop.
	calls, hands *faults.Transport
	hand         *gophercloud.ServiceClient
	added        time.Duration

	mu sync.Mutex
	// waited is how long the manager waited for Neutron's answers to posts in all.
	waited time.Duration
	posts  int
}

func newNeutronBench(b *testing.B, e *env.Env, credentials []byte, added time.Duration) *neutronBench {
	b.Helper()
	s := &neutronBench{b: b, env: e, namespace: namespace(b, e), calls: faults.New(nil), hands: faults.New(http.DefaultTransport), added: added}
	check(b, e.Client.Create(b.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "cloud"},
		Data:       map[string][]byte{"clouds.yaml": credentials},
	}))
	stop, err := e.StartManager(env.ManagerOptions{Webhooks: true, Controllers: true, Backends: s.backends})
	check(b, err)
	b.Cleanup(func() { check(b, stop()) })

	class := &samplecrdv1.NetworkClass{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"},
		Spec: samplecrdv1.NetworkClassSpec{
			Provider: samplecrdv1.ProviderNeutron,
			Neutron:  &samplecrdv1.NeutronSpec{CredentialsSecretName: "cloud", DriftIntervalSeconds: new(int32(24 * 60 * 60))},
		},
	}
	check(b, e.Client.Create(b.Context(), class))
	s.class = class.Name

	s.hand, err = servers.Client(b.Context(), credentials, servers.Member)
	check(b, err)
	s.hand.HTTPClient.Transport = s.hands
	b.Cleanup(s.tidy)
	return s
}

func (s *neutronBench) backends(mgr ctrl.Manager) map[samplecrdv1.ProviderType]providers.Provider {
	provider := neutron.New(neutron.Options{
		Live: mgr.GetAPIReader(), Cached: mgr.GetClient(), Namespace: s.namespace, Transport: s.calls.Over,
	})
	check(s.b, mgr.Add(provider))
	backends := env.Multus(mgr)
	backends[samplecrdv1.ProviderNeutron] = provider
	return backends
}

func (s *neutronBench) run() {
	count := 200
	if testing.Short() {
		count = 48
	}
	// Whoever comes first pays for session, class and connections.
	s.create("warm", 2*neutronWorkers)
	s.clear()
	s.bareLoop("warm", 2*neutronWorkers)

	of := faults.Rule{Path: "/v2.0/"}
	s.calls.Add(of, s.watch)
	if s.added > 0 {
		s.calls.Add(of, faults.Latency(s.added))
		s.hands.Add(of, faults.Latency(s.added))
	}
	var ours, bare time.Duration
	calls := 0
	for s.b.Loop() {
		// Half before and half after, since the machine's mood counts.
		bare += s.bareLoop("before", count/2)
		before := len(s.calls.Calls())
		ours += s.create("ours", count)
		calls += len(s.calls.Calls()) - before
		s.clear()
		bare += s.bareLoop("after", count/2)
	}
	made := float64(count * s.b.N)
	mean := s.waited.Seconds() / float64(s.posts)
	s.b.ReportMetric(ours.Seconds()/bare.Seconds(), "x-bare-loop")
	s.b.ReportMetric(float64(calls)/made, "calls/network")
	s.b.ReportMetric(1000*mean, "ms/call")
	s.b.ReportMetric(made/ours.Seconds()/(neutronWorkers/(2*mean)), "of-ideal")
	s.b.ReportMetric(0, "ns/op") // The whole run is no figure.
}

// watch takes the time of the manager's POSTs.
func (s *neutronBench) watch(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	began := time.Now()
	response, err := next.RoundTrip(request)
	if request.Method == http.MethodPost {
		s.mu.Lock()
		s.waited += time.Since(began)
		s.posts++
		s.mu.Unlock()
	}
	return response, err
}

// create has the manager make Networks, and takes the time from the first to the last
// that is Ready.
func (s *neutronBench) create(prefix string, count int) time.Duration {
	ctx, cancel := context.WithTimeout(s.b.Context(), 3*patience)
	defer cancel()
	watcher, err := client.NewWithWatch(s.env.Config, client.Options{Scheme: s.env.Scheme})
	check(s.b, err)
	stream, err := watcher.Watch(ctx, &samplecrdv1.NetworkList{}, client.InNamespace(s.namespace))
	check(s.b, err)
	defer stream.Stop()
	last := make(chan time.Time, 1)
	go func() {
		ready := map[string]bool{}
		for event := range stream.ResultChan() {
			network, ok := event.Object.(*samplecrdv1.Network)
			if !ok || event.Type == watch.Deleted || !meta.IsStatusConditionTrue(network.Status.Conditions, samplecrdv1.NetworkConditionReady) {
				continue
			}
			if ready[network.Name] = true; len(ready) == count {
				last <- time.Now()
				return
			}
		}
	}()
	began := time.Now()
	atOnce(s.b, neutronWorkers, count, func(i int) error {
		network := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: fmt.Sprintf("%s-%03d", prefix, i)}}
		network.Spec.CIDR, network.Spec.NetworkClassName = fmt.Sprintf("10.1.%d.0/24", i), s.class
		return s.env.Client.Create(ctx, network)
	})
	select {
	case end := <-last:
		return end.Sub(began)
	case <-ctx.Done():
		s.b.Fatal("the Networks did not become Ready")
		return 0
	}
}

// clear has the manager remove the Networks.
func (s *neutronBench) clear() {
	check(s.b, s.env.Client.DeleteAllOf(s.b.Context(), &samplecrdv1.Network{}, client.InNamespace(s.namespace)))
	check(s.b, wait.PollUntilContextTimeout(s.b.Context(), time.Second, 3*patience, true, func(ctx context.Context) (bool, error) {
		var left samplecrdv1.NetworkList
		err := s.env.Client.List(ctx, &left, client.InNamespace(s.namespace))
		return len(left.Items) == 0, err
	}))
}

// bareLoop sends the same requests, and takes the time; what it made is removed.
func (s *neutronBench) bareLoop(prefix string, count int) time.Duration {
	made := make([]string, count)
	ctx := s.b.Context()
	began := time.Now()
	atOnce(s.b, neutronWorkers, count, func(i int) error {
		name := fmt.Sprintf("%s/%s-%03d", s.namespace, prefix, i)
		network, err := networks.Create(ctx, s.hand, networks.CreateOpts{Name: name, Description: mark}).Extract()
		if err != nil {
			return err
		}
		made[i] = network.ID
		return subnets.Create(ctx, s.hand, subnets.CreateOpts{
			NetworkID: network.ID, Name: name, Description: mark, IPVersion: gophercloud.IPv4, EnableDHCP: new(true),
			CIDR: fmt.Sprintf("10.1.%d.0/24", i), GatewayIP: new(fmt.Sprintf("10.1.%d.1", i)),
		}).Err
	})
	took := time.Since(began)
	atOnce(s.b, neutronWorkers, count, func(i int) error {
		return networks.Delete(ctx, s.hand, made[i]).ExtractErr()
	})
	return took
}

// tidy removes what a benchmark that failed has left on Neutron.
func (s *neutronBench) tidy() {
	ctx := context.Background()
	pages, err := networks.List(s.hand, networks.ListOpts{}).AllPages(ctx)
	check(s.b, err)
	left, err := networks.ExtractNetworks(pages)
	check(s.b, err)
	for _, network := range left {
		if strings.HasPrefix(network.Name, s.namespace+"/") {
			check(s.b, networks.Delete(ctx, s.hand, network.ID).ExtractErr())
		}
	}
}

// mark is as long as that of a Network.
var mark = "by hand " + strings.Repeat("x", 120)
