package controller

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/metrics"
)

// writes counts the requests that changed something, as the API server itself saw
// them.
func writes(g Gomega, e *env.Env) metrics.Requests {
	counts, err := metrics.Writes(ctx, e.Config)
	g.Expect(err).NotTo(HaveOccurred())
	return counts
}

// writesSince gives what was written after before was taken, for Eventually and
// Consistently.
func writesSince(e *env.Env, before metrics.Requests) func(Gomega) metrics.Requests {
	return func(g Gomega) metrics.Requests { return writes(g, e).Since(before) }
}

// reconciles counts the passes of the Network controller in this process.
func reconciles() int { return metrics.Reconciles("network") }

// reconcileErrors counts the passes that ended with an error.
func reconcileErrors() int { return metrics.ReconcileErrors("network") }

// settled waits until the controller has nothing in its hands.
func settled() {
	GinkgoHelper()
	Expect(metrics.Settle(ctx, "network", 250*time.Millisecond)).To(Succeed())
}

// versions gives the resource version of every object of a list, by name.
func versions(g Gomega, e *env.Env, list client.ObjectList, namespace string) map[string]string {
	g.Expect(e.Client.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	found := map[string]string{}
	objects, err := meta.ExtractList(list)
	g.Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		object := object.(client.Object)
		found[object.GetName()] = object.GetResourceVersion()
	}
	return found
}

// everything gives the resource versions of the Networks and their backend
// objects.
func (w *world) everything(g Gomega) map[string]string {
	all := versions(g, w.Env, &samplecrdv1.NetworkList{}, w.Namespace)
	for name, version := range versions(g, w.Env, newNADList(), w.Namespace) {
		all["nad/"+name] = version
	}
	return all
}
