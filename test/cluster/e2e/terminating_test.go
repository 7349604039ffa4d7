package e2e

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// handful is how often something of one object may be tried to be created.
const handful = 4

func terminating() {
	BeforeAll(func(ctx context.Context) { prepared(ctx) }, NodeTimeout(10*time.Minute))

	It("with 50 Networks and with Foos ends, and nothing is tried again and again [CN-10]", func(ctx context.Context) {
		const networks, foos = 50, 5
		// A name of its own, so that the audit log has nothing older.
		name := fmt.Sprintf("terminating-%d", time.Now().Unix())
		namespace(ctx, name)
		for i := range networks {
			Expect(c.Create(ctx, newNetwork(name, fmt.Sprintf("net-%d", i), fmt.Sprintf("10.0.%d.0/24", i)))).To(Succeed())
		}
		for i := range foos {
			Expect(c.Create(ctx, newFoo(name, fmt.Sprintf("foo-%d", i), 1))).To(Succeed())
		}
		allReady(ctx, name, networks, foos)
		before := reconciled(ctx)

		begun := time.Now()
		mustKubectl(ctx, "delete", "namespace", name, "--timeout="+patience.String())
		took := time.Since(begun)

		after := reconciled(ctx)
		failures := after["controller_runtime_reconcile_errors_total"] - before["controller_runtime_reconcile_errors_total"]
		passes := after["controller_runtime_reconcile_total"] - before["controller_runtime_reconcile_total"]
		logged := complaints(ctx, name)
		AddReportEntry(fmt.Sprintf("%d Networks and %d Foos were gone in %s: %.0f reconciles, %.0f errors, %d lines of errors in the log",
			networks, foos, took.Round(time.Second), passes, failures, len(logged)), ReportEntryVisibilityAlways)
		Expect(failures).To(BeNumerically("<=", networks+foos))
		Expect(len(logged)).To(BeNumerically("<=", networks+foos), strings.Join(logged, "\n"))
		Expect(passes).To(BeNumerically("<=", 10*(networks+foos)))
		if auditLog == "" {
			return
		}
		attempts := attempts(name)
		Expect(attempts).To(HaveLen(networks+foos), "so many should have been made once")
		for object, times := range attempts {
			Expect(times).To(BeNumerically("<=", handful), object)
		}
	}, NodeTimeout(15*time.Minute))
}

// allReady waits until so many Networks and Foos are there and ready.
func allReady(ctx context.Context, namespace string, networks, foos int) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var all samplecrdv1.NetworkList
		g.Expect(c.List(ctx, &all, client.InNamespace(namespace))).To(Succeed())
		g.Expect(all.Items).To(HaveLen(networks))
		for _, each := range all.Items {
			g.Expect(meta.IsStatusConditionTrue(each.Status.Conditions, samplecrdv1.NetworkConditionReady)).To(BeTrue(), each.Name)
		}
		var others samplev1alpha1.FooList
		g.Expect(c.List(ctx, &others, client.InNamespace(namespace))).To(Succeed())
		g.Expect(others.Items).To(HaveLen(foos))
		for _, each := range others.Items {
			g.Expect(meta.IsStatusConditionTrue(each.Status.Conditions, samplev1alpha1.FooConditionReady)).To(BeTrue(), each.Name)
		}
	}).WithContext(ctx).Should(Succeed())
}

// reconciled are the counters of the controllers, of all controllers and replicas.
func reconciled(ctx context.Context) map[string]float64 {
	GinkgoHelper()
	sums := map[string]float64{}
	for _, pod := range managerPods(ctx) {
		text := mustKubectl(ctx, "get", "--raw", fmt.Sprintf("/api/v1/namespaces/%s/pods/%s:8080/proxy/metrics", system, pod.Name))
		for _, name := range []string{"controller_runtime_reconcile_total", "controller_runtime_reconcile_errors_total"} {
			series := regexp.MustCompile(`(?m)^`+name+`\{.*\} (\S+)$`).FindAllStringSubmatch(text, -1)
			for _, each := range series {
				value, err := strconv.ParseFloat(each[1], 64)
				Expect(err).NotTo(HaveOccurred())
				sums[name] += value
			}
		}
	}
	// The leader has them; on others no controller runs.
	Expect(sums).To(HaveLen(2))
	return sums
}

// complaints are the lines of errors in the manager's log that speak of a namespace.
func complaints(ctx context.Context, namespace string) []string {
	GinkgoHelper()
	isError := regexp.MustCompile(`^E\d{4} .*"?` + regexp.QuoteMeta(namespace) + `\b`)
	var all []string
	for _, pod := range managerPods(ctx) {
		for line := range strings.Lines(mustKubectl(ctx, "-n", system, "logs", pod.Name)) {
			if isError.MatchString(line) {
				all = append(all, line)
			}
		}
	}
	return all
}

// attempts counts, by the API server's audit log, how often the manager has tried to
// make each object in a namespace. Deployments are made by server-side apply, which is
// counted while there is none.
func attempts(namespace string) map[string]int {
	GinkgoHelper()
	all := map[string]int{}
	for _, event := range audited() {
		object := event.ObjectRef
		made := event.Verb == "create" || event.Verb == "patch" && event.ResponseStatus.Code != http.StatusOK
		if object != nil && object.Namespace == namespace && made && object.Subresource == "" &&
			(object.Resource == "network-attachment-definitions" || object.Resource == "deployments") {
			all[object.Resource+"/"+object.Name]++
		}
	}
	return all
}
