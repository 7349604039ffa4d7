package deploy

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"

	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/render"
)

// An alert on a name that nobody serves never fires, and nobody misses it.
var _ = Describe("The alerts of config/components/prometheus", Ordered, func() {
	var (
		c       *cluster
		process string // where the manager serves its metrics
	)
	BeforeAll(func() {
		c = start()
		c.run("apply", "-k", env.Path("config", "default"))
		c.settle()
		process = c.manager()
	})

	It("look at metrics that the manager serves, and at labels and values that they have", func() {
		looked := selectors(func(metric string) bool { return !strings.HasPrefix(metric, "apiserver_") })
		Expect(len(looked)).To(BeNumerically(">=", 8))
		Eventually(func(g Gomega) {
			response, err := http.Get(process)
			g.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = response.Body.Close() }()
			text, err := io.ReadAll(response.Body)
			g.Expect(err).NotTo(HaveOccurred())
			for _, selector := range looked {
				g.Expect(selector.in(string(text))).To(BeTrue(), "%v selects nothing", selector)
			}
		}).Should(Succeed())
	})

	It("look at what the API server counts when our webhooks cannot be called", func() {
		refused, err := c.Kubectl("", "apply", "-f", env.Path("config", "samples", "networkclass.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(refused.Stderr).To(ContainSubstring("failed calling webhook"))

		overlay := GinkgoT().TempDir()
		Expect(render.Overlay(overlay, "components: [ROOT/config/components/fail-open]")).To(Succeed())
		c.run("apply", "-k", overlay)
		Eventually(func() (int, error) {
			result, err := c.Kubectl("", "apply", "-f", env.Path("config", "samples", "networkclass.yaml"))
			return result.ExitCode, err
		}).Should(BeZero())

		clientset, err := kubernetes.NewForConfig(c.Config)
		Expect(err).NotTo(HaveOccurred())
		text, err := clientset.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
		Expect(err).NotTo(HaveOccurred())
		looked := selectors(func(metric string) bool { return strings.HasPrefix(metric, "apiserver_") })
		Expect(looked).To(HaveLen(2))
		for _, selector := range looked {
			Expect(selector.in(string(text))).To(BeTrue(), "%v selects nothing", selector)
		}
	})
})

// root makes a certificate such as cainjector writes.
func root() string {
	GinkgoHelper()
	pem, _, err := cert.GenerateSelfSignedCertKey("root", nil, nil)
	Expect(err).NotTo(HaveOccurred())
	return string(pem)
}

// manager runs the binary beside the bundle, with a pair, and gives where its metrics are.
func (c *cluster) manager() string {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	binary := filepath.Join(dir, "samplecrd-controller")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Dir = env.Path()
	said, err := build.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(said))
	pem, key, err := cert.GenerateSelfSignedCertKey("webhook-service", nil, nil)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(dir, "tls.crt"), pem, 0o600)).To(Succeed())
	Expect(os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600)).To(Succeed())
	metrics, webhooks := free(), free()
	_, port, err := net.SplitHostPort(webhooks)
	Expect(err).NotTo(HaveOccurred())
	process, err := c.StartController(binary, GinkgoWriter, "--metrics-bind-address="+metrics, "--webhook-port="+port, "--webhook-cert-dir="+dir,
		"--leader-elect", "--leader-election-namespace="+namespace)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(process.Stop)
	return "http://" + metrics + "/metrics"
}

func free() string {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// selector is what an expression looks at.
type selector struct {
	metric string
	labels map[string]*regexp.Regexp
}

var (
	selected = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}`)
	matcher  = regexp.MustCompile(`([a-z_]+)(=~?)("(?:[^"\\]|\\.)*")`)
	label    = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)
)

// selectors are those of the alerts' expressions. The job is Prometheus' own label.
func selectors(of func(metric string) bool) []selector {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	Expect(render.Overlay(dir, "components: [ROOT/config/components/prometheus]")).To(Succeed())
	bundle, err := render.Build(dir)
	Expect(err).NotTo(HaveOccurred())
	var all []selector
	for _, expression := range expressions(bundle) {
		for _, found := range selected.FindAllStringSubmatch(expression, -1) {
			s := selector{metric: found[1], labels: map[string]*regexp.Regexp{}}
			for _, condition := range matcher.FindAllStringSubmatch(found[2], -1) {
				value, err := strconv.Unquote(condition[3])
				Expect(err).NotTo(HaveOccurred())
				if condition[2] == "=" {
					value = regexp.QuoteMeta(value)
				}
				s.labels[condition[1]] = regexp.MustCompile("^(?:" + value + ")$")
			}
			delete(s.labels, "job")
			if of(s.metric) {
				all = append(all, s)
			}
		}
	}
	return all
}

func expressions(bundle render.Bundle) []string {
	GinkgoHelper()
	var all []string
	for _, object := range render.All[*unstructured.Unstructured](bundle) {
		groups, _, err := unstructured.NestedSlice(object.Object, "spec", "groups")
		Expect(err).NotTo(HaveOccurred())
		for _, group := range groups {
			for _, rule := range group.(map[string]any)["rules"].([]any) {
				all = append(all, rule.(map[string]any)["expr"].(string))
			}
		}
	}
	return all
}

// in says that a text of metrics has something that the selector selects.
func (s selector) in(text string) bool {
	for line := range strings.Lines(text) {
		rest, isMetric := strings.CutPrefix(line, s.metric)
		if !isMetric || (rest[0] != '{' && rest[0] != ' ') {
			continue
		}
		labels := map[string]string{}
		for _, pair := range label.FindAllStringSubmatch(rest, -1) {
			labels[pair[1]] = pair[2]
		}
		fits := true
		for name, value := range s.labels {
			fits = fits && value.MatchString(labels[name])
		}
		if fits {
			return true
		}
	}
	return false
}
