// Package benchmark measures the manager as a whole, on a real API server.
package benchmark

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/metrics"
)

const (
	// foos are created at once, by as many workers as the controller has.
	foos, workers = 200, 4

	patience = 5 * time.Minute
)

// BenchmarkFoos creates 200 Foos at once and takes the time until all their
// Deployments exist, next to a bare loop that creates the same Deployments
// directly with the same number of workers (x-bare-loop). restart-x-bare-loop is
// for Foos that are stored already when a manager starts; its start counts. In
// both a Foo costs more than its Deployment: an Event and a write of its status,
// and when it is new its own creation with two calls of webhooks, all of it on the
// same machine. What the manager asks of the API server per Foo, until every Foo
// is Ready, is from the API server's own metrics. Run it with
//
//	go test ./test/benchmark -run '^$' -bench . -benchtime 1x
func BenchmarkFoos(b *testing.B) {
	ctrl.SetLogger(logr.Discard())
	e, err := env.Start(env.Options{Webhooks: true})
	check(b, err)
	defer func() { check(b, e.Stop()) }()

	var created, bare, restarted time.Duration
	total := map[string]float64{}
	for b.Loop() {
		s := &bench{b: b, env: e}
		made, took := s.create(total)
		created += took
		// Twice, around the restart, since it is short and the machine's mood counts.
		bare += s.bareLoop(made) / 2
		restarted += s.restart()
		bare += s.bareLoop(made) / 2
	}
	per := func(took time.Duration) float64 {
		return float64(took.Microseconds()) / 1000 / foos / float64(b.N)
	}
	b.ReportMetric(per(created), "ms/foo")
	b.ReportMetric(per(restarted), "restart-ms/foo")
	b.ReportMetric(per(bare), "bare-ms/deployment")
	b.ReportMetric(created.Seconds()/bare.Seconds(), "x-bare-loop")
	b.ReportMetric(restarted.Seconds()/bare.Seconds(), "restart-x-bare-loop")
	for unit, count := range total {
		b.ReportMetric(count/foos/float64(b.N), unit)
	}
	b.ReportMetric(0, "ns/op") // The whole run is no figure.
}

// bench is one iteration.
type bench struct {
	b   *testing.B
	env *env.Env
}

// create has a running manager make the Deployments of new Foos. It gives the
// Deployments, and adds what the API server was asked to total.
func (s *bench) create(total map[string]float64) ([]appsv1.Deployment, time.Duration) {
	stop := s.manager(env.ManagerOptions{Webhooks: true, Controllers: true})
	defer stop()
	namespace := s.namespace()
	before := s.counts()
	took := s.until(namespace, func() { s.createFoos(namespace) })

	var made appsv1.DeploymentList
	check(s.b, s.env.Client.List(s.b.Context(), &made, client.InNamespace(namespace)))
	s.makeAvailable(made.Items)
	s.awaitReady(namespace)
	check(s.b, metrics.Settle(s.b.Context(), "foo", 250*time.Millisecond))
	for unit, count := range s.counts() {
		total[unit] += count - before[unit]
	}
	s.clear(namespace)
	return made.Items, took
}

// restart has a manager start where Foos are stored and no Deployments. The time
// is from the start of the manager.
func (s *bench) restart() time.Duration {
	stop := s.manager(env.ManagerOptions{Webhooks: true})
	namespace := s.namespace()
	s.createFoos(namespace)
	stop()
	took := s.until(namespace, func() { stop = s.manager(env.ManagerOptions{Webhooks: true, Controllers: true}) })
	stop()
	s.clear(namespace)
	return took
}

// bareLoop creates Deployments like these, without anybody looking at them.
func (s *bench) bareLoop(like []appsv1.Deployment) time.Duration {
	namespace := s.namespace()
	defer s.clear(namespace)
	return s.until(namespace, func() {
		s.atOnce(func(i int) client.Object {
			return &appsv1.Deployment{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: like[i].Name, Labels: like[i].Labels},
				Spec:       *like[i].Spec.DeepCopy(),
			}
		})
	})
}

func (s *bench) createFoos(namespace string) {
	s.atOnce(func(i int) client.Object {
		name := fmt.Sprintf("foo-%03d", i)
		return &samplev1alpha1.Foo{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Spec:       samplev1alpha1.FooSpec{DeploymentName: name, Replicas: new(int32(1))},
		}
	})
}

// atOnce creates an object for each number, and returns when all are there.
func (s *bench) atOnce(object func(i int) client.Object) {
	atOnce(s.b, workers, foos, func(i int) error { return s.env.Client.Create(s.b.Context(), object(i)) })
}

// atOnce calls do for each number, with so many workers.
func atOnce(b *testing.B, workers, count int, do func(i int) error) {
	b.Helper()
	var group sync.WaitGroup
	failures := make(chan error, count)
	for worker := range workers {
		group.Go(func() {
			for i := worker; i < count; i += workers {
				if err := do(i); err != nil {
					failures <- err
				}
			}
		})
	}
	group.Wait()
	close(failures)
	for err := range failures {
		check(b, err)
	}
}

// until takes the time from the begin of do until every Deployment exists in a
// namespace that is empty before.
func (s *bench) until(namespace string, do func()) time.Duration {
	ctx, cancel := context.WithTimeout(s.b.Context(), patience)
	defer cancel()
	watcher, err := client.NewWithWatch(s.env.Config, client.Options{Scheme: s.env.Scheme})
	check(s.b, err)
	stream, err := watcher.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(namespace))
	check(s.b, err)
	defer stream.Stop()
	last := make(chan time.Time, 1)
	go func() {
		seen := 0
		for event := range stream.ResultChan() {
			if event.Type != watch.Added {
				continue
			}
			if seen++; seen == foos {
				last <- time.Now()
			}
		}
	}()
	began := time.Now()
	do()
	select {
	case end := <-last:
		return end.Sub(began)
	case <-ctx.Done():
		s.b.Fatal("the Deployments did not come")
		return 0
	}
}

// makeAvailable plays the Deployment controller.
func (s *bench) makeAvailable(deployments []appsv1.Deployment) {
	for i := range deployments {
		deployment := deployments[i].DeepCopy()
		deployment.Status = appsv1.DeploymentStatus{
			ObservedGeneration: deployment.Generation,
			Replicas:           1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1,
		}
		check(s.b, s.env.Client.Status().Update(s.b.Context(), deployment))
	}
}

func (s *bench) awaitReady(namespace string) {
	check(s.b, wait.PollUntilContextTimeout(s.b.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		var list samplev1alpha1.FooList
		if err := s.env.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		for i := range list.Items {
			for _, condition := range list.Items[i].Status.Conditions {
				if condition.Type == samplev1alpha1.FooConditionReady && condition.Status != metav1.ConditionTrue {
					return false, nil
				}
			}
		}
		return len(list.Items) == foos, nil
	}))
}

// clear leaves nothing for the next manager.
func (s *bench) clear(namespace string) {
	for _, kind := range []client.Object{&samplev1alpha1.Foo{}, &appsv1.Deployment{}} {
		check(s.b, s.env.Client.DeleteAllOf(s.b.Context(), kind, client.InNamespace(namespace)))
	}
}

// counts is what the manager has asked of the API server so far, by the unit that
// it is reported in: the benchmark's own requests are left out.
func (s *bench) counts() map[string]float64 {
	counts := map[string]float64{"api-writes/foo": 0, "api-reads/foo": 0} // Nothing is a figure too.
	writes, err := metrics.Writes(s.b.Context(), s.env.Config)
	check(s.b, err)
	for request, count := range writes {
		switch method, resource := split(request); method + " " + resource {
		case "POST foos", "POST namespaces", "PUT deployments/status":
			continue
		case "APPLY deployments":
			counts["api-applies/foo"] += float64(count)
		case "PATCH foos/status":
			counts["api-status-writes/foo"] += float64(count)
		}
		counts["api-writes/foo"] += float64(count)
	}
	// The manager lists at its start; the lists since are the benchmark's own.
	reads, err := metrics.Reads(s.b.Context(), s.env.Config, "foos", "deployments", "podtemplates")
	check(s.b, err)
	for request, count := range reads {
		if strings.HasPrefix(request, "GET ") {
			counts["api-reads/foo"] += float64(count)
		}
	}
	events, err := metrics.Events(s.b.Context(), s.env.Config)
	check(s.b, err)
	counts["api-events/foo"] = float64(events.Total())
	return counts
}

// split gives the method and the resource of a request.
func split(request string) (method, resource string) {
	fields := strings.Fields(request)
	return fields[0], fields[1]
}

func (s *bench) manager(opts env.ManagerOptions) (stop func()) {
	stopped, err := s.env.StartManager(opts)
	check(s.b, err)
	return func() { check(s.b, stopped()) }
}

func (s *bench) namespace() string { return namespace(s.b, s.env) }

func namespace(b *testing.B, e *env.Env) string {
	b.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}
	check(b, e.Client.Create(b.Context(), namespace))
	return namespace.Name
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
