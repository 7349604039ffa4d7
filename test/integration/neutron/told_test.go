package neutron

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// record is all that anybody can read of the managers: their log, and every version of
// every Network, NetworkClass and Event; and the secrets that must not be in it.
type record struct {
	mu sync.Mutex
	// log is what was logged.
	log bytes.Buffer
	// objects are versions, as JSON.
	objects []string
	// networks are the versions of the Networks among them.
	networks []samplecrdv1.Network
	// secrets are tokens that Keystone gave.
	secrets map[string]bool
	// streams are the watches; ended says that they are over as we wished.
	streams []watch.Interface
	ended   bool
	// lost says that one was over before.
	lost bool
}

func newRecord() *record { return &record{secrets: map[string]bool{}} }

// Write takes a part of the log.
func (r *record) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(line)
}

// logged gives the lines of the log with all of these parts.
func (r *record) logged(parts ...string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []string
	for line := range strings.Lines(r.log.String()) {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) }) {
			found = append(found, line)
		}
	}
	return found
}

// token takes a token that Keystone gave.
func (r *record) token(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets[token] = true
}

// watch begins the record of objects; end ends it.
func (r *record) watch() {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(cluster.Config, client.Options{Scheme: cluster.Scheme})
	Expect(err).NotTo(HaveOccurred())
	for _, list := range []client.ObjectList{&samplecrdv1.NetworkList{}, &samplecrdv1.NetworkClassList{}, &eventsv1.EventList{}} {
		stream, err := watcher.Watch(ctx, list)
		Expect(err).NotTo(HaveOccurred())
		r.streams = append(r.streams, stream)
		go func() {
			for event := range stream.ResultChan() {
				r.saw(event)
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			r.lost = r.lost || !r.ended
		}()
	}
}

func (r *record) end() {
	time.Sleep(time.Second) // What was stored last is read.
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	for _, stream := range r.streams {
		stream.Stop()
	}
}

func (r *record) saw(event watch.Event) {
	text, err := json.Marshal(event.Object)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		r.objects = append(r.objects, string(text))
	}
	if network, ok := event.Object.(*samplecrdv1.Network); ok && event.Type != watch.Deleted {
		r.networks = append(r.networks, *network)
	}
}

// versions gives every version of the Networks of a namespace so far.
func (r *record) versions(namespace string) []samplecrdv1.Network {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.networks), func(n samplecrdv1.Network) bool { return n.Namespace != namespace })
}

// reasons gives why Networks of a namespace have ever not been Ready.
func (r *record) reasons(namespace string) []string {
	all := map[string]bool{}
	for _, version := range r.versions(namespace) {
		for _, condition := range version.Status.Conditions {
			if condition.Type == samplecrdv1.NetworkConditionReady && condition.Status == metav1.ConditionFalse {
				all[condition.Reason] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// check looks for secrets in all that was told, and for one tenant's name in what was
// said to another.
func (r *record) check() {
	GinkgoHelper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, secret := range passwords() {
		r.secrets[secret] = true
	}
	Expect(r.lost).To(BeFalse(), "a watch ended before the tests did: not all was seen")
	Expect(r.secrets).NotTo(BeEmpty())
	Expect(r.log.Len()).NotTo(BeZero())
	Expect(r.objects).NotTo(BeEmpty())
	for secret := range r.secrets {
		Expect(len(secret)).To(BeNumerically(">", 8))
		// The beginning of one is too much already.
		secret = secret[:min(len(secret), 40)]
		for _, text := range append(r.objects, r.log.String()) {
			if before, after, there := strings.Cut(text, secret); there {
				Fail("A secret was told: …" + before[max(0, len(before)-200):] + "(it)" + after[:min(len(after), 100)] + "…")
			}
		}
	}
	namespaces := map[string]bool{}
	for _, version := range r.networks {
		namespaces[version.Namespace] = true
	}
	for _, version := range r.networks {
		for _, condition := range version.Status.Conditions {
			for namespace := range namespaces {
				if namespace != version.Namespace && strings.Contains(condition.Message, namespace) {
					Fail("The Network " + version.Namespace + "/" + version.Name + " is told of " + namespace + ": " + condition.Message)
				}
			}
		}
	}
	AddReportEntry("Looked for secrets", map[string]int{"secrets": len(r.secrets), "versions of objects": len(r.objects), "bytes of log": r.log.Len()})
}

// passwords gives what is secret in the credentials.
func passwords() []string {
	var file struct {
		Clouds map[string]struct{ Auth map[string]string }
	}
	Expect(yaml.Unmarshal(credentials, &file)).To(Succeed())
	var all []string
	for _, cloud := range file.Clouds {
		for key, value := range cloud.Auth {
			if regexp.MustCompile(`password$|secret$`).MatchString(key) {
				all = append(all, value)
			}
		}
	}
	Expect(len(all)).To(BeNumerically(">=", 4))
	return append(all, wrongPassword)
}
