package controller

import (
	"maps"
	"regexp"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/env"
)

var (
	requestLine = regexp.MustCompile(`^apiserver_request_total\{(.*)\} (\S+)$`)
	labelPair   = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// writes counts the requests that change something, as the API server itself saw
// them: "PATCH networks/status 200" → how many. Leases and Events are left out.
func writes(g Gomega, e *env.Env) map[string]int {
	direct, err := discovery.NewDiscoveryClientForConfig(e.Config)
	g.Expect(err).NotTo(HaveOccurred())
	text, err := direct.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	counts := map[string]int{}
	for line := range strings.Lines(string(text)) {
		found := requestLine.FindStringSubmatch(strings.TrimSpace(line))
		if found == nil {
			continue
		}
		label := map[string]string{}
		for _, pair := range labelPair.FindAllStringSubmatch(found[1], -1) {
			label[pair[1]] = pair[2]
		}
		switch label["verb"] {
		case "GET", "LIST", "WATCH", "CONNECT", "HEAD", "PROXY":
			continue
		}
		if label["resource"] == "leases" || label["resource"] == "events" || label["dry_run"] != "" {
			continue
		}
		resource := label["resource"]
		if label["subresource"] != "" {
			resource += "/" + label["subresource"]
		}
		count, err := strconv.ParseFloat(found[2], 64)
		g.Expect(err).NotTo(HaveOccurred())
		counts[label["verb"]+" "+resource+" "+label["code"]] += int(count)
	}
	g.Expect(counts).NotTo(BeEmpty(), "the API server's metrics have another form now")
	return counts
}

// writesSince gives what was written after before was taken, for Eventually and
// Consistently.
func writesSince(e *env.Env, before map[string]int) func(Gomega) map[string]int {
	return func(g Gomega) map[string]int {
		since := writes(g, e)
		for key, count := range before {
			since[key] -= count
		}
		maps.DeleteFunc(since, func(_ string, count int) bool { return count == 0 })
		return since
	}
}

// reconciles counts the passes of the Network controller in this process.
func reconciles() int { return counter("controller_runtime_reconcile_total") }

// reconcileErrors counts the passes that ended with an error.
func reconcileErrors() int { return counter("controller_runtime_reconcile_errors_total") }

func counter(name string) int {
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	total := 0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == "network" {
					total += int(metric.GetCounter().GetValue())
				}
			}
		}
	}
	return total
}

// settled waits until the controller has nothing in its hands: several looks at
// its counter find the same.
func settled() {
	last := -1
	Eventually(func() bool {
		now := reconciles()
		same := now == last
		last = now
		return same
	}).WithPolling(250 * time.Millisecond).MustPassRepeatedly(4).Should(BeTrue())
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
	all := versions(g, w.Env, &samplecrdv1.NetworkList{}, w.namespace)
	for name, version := range versions(g, w.Env, newNADList(), w.namespace) {
		all["nad/"+name] = version
	}
	return all
}
