package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/matchers"
)

// tenant is one who shares classes with others, and all that they are told: answers
// and warnings of the API server, every version of every object in their namespace
// that speaks of Networks, and what all classes say of themselves.
type tenant struct {
	// word is part of every name of theirs and of nothing else.
	word   string
	client client.Client
	// chapter is at the end of the names of what they create.
	chapter string

	mu   sync.Mutex
	told []string
	// sorts are the sorts of things they were told.
	sorts map[string]bool
}

// newTenant listens until the spec ends.
func newTenant(word string) *tenant {
	GinkgoHelper()
	settle(word)
	t := &tenant{word: word, chapter: "0", sorts: map[string]bool{}}
	config := rest.CopyConfig(cluster.Config)
	config.WarningHandler = t
	var err error
	t.client, err = client.New(config, client.Options{Scheme: cluster.Scheme})
	Expect(err).NotTo(HaveOccurred())
	mine := inNamespaceOf(word)
	follow(&samplecrdv1.NetworkList{}, t.hear, mine)
	follow(&eventsv1.EventList{}, t.hear, mine)
	follow(&samplecrdv1.NetworkClassList{}, t.hear)
	return t
}

// HandleWarningHeader hears a warning.
func (t *tenant) HandleWarningHeader(_ int, _ string, text string) {
	t.note("Warning: " + text)
}

// hear hears of a version of an object.
func (t *tenant) hear(event watch.Event) {
	defer GinkgoRecover()
	Expect(gap(event)).To(Succeed())
	object := event.Object
	var sorts []string
	switch object := object.(type) {
	case *samplecrdv1.Network:
		sorts = sortsOf("", object.Status.Conditions)
	case *samplecrdv1.NetworkClass:
		// What the platform team writes there is theirs; what we say of it is not.
		sorts = sortsOf("class ", object.Status.Conditions)
		object.ObjectMeta, object.Spec = metav1.ObjectMeta{Name: object.Name}, samplecrdv1.NetworkClassSpec{}
	case *eventsv1.Event:
		sorts = []string{"event " + object.Reason}
	}
	text, err := json.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	t.note(fmt.Sprintf("%T %s", object, text))
	t.mark(sorts...)
}

// today begins what is said of one who was accepted before a policy was tightened.
const today = "Accepted earlier, and would be refused today: "

func sortsOf(whose string, conditions []metav1.Condition) []string {
	var sorts []string
	for _, condition := range conditions {
		sort := fmt.Sprintf("%s%s=%s/%s", whose, condition.Type, condition.Status, condition.Reason)
		if strings.HasPrefix(condition.Message, today) {
			sort += ", refused today"
		}
		sorts = append(sorts, sort)
	}
	return sorts
}

func (t *tenant) note(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = append(t.told, text)
}

func (t *tenant) mark(sorts ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, sort := range sorts {
		t.sorts[sort] = true
	}
}

// around is how much is shown on both sides of a word, in bytes.
const around = 300

// of gives what was told around a word.
func (t *tenant) of(word string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []string
	for _, text := range t.told {
		if at := strings.Index(text, word); at >= 0 {
			found = append(found, text[max(0, at-around):min(len(text), at+around)])
		}
	}
	return found
}

// heard gives the sorts of things that were told.
func (t *tenant) heard() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.sorts))
}

// warned waits for a warning with all of these in it.
func (t *tenant) warned(parts ...string) {
	GinkgoHelper()
	Expect(t.of("Warning: ")).To(ContainElement(matchers.ContainAll(parts)))
	t.mark("warning of " + parts[0])
}

func (t *tenant) draft(name, cidr, class string) *samplecrdv1.Network {
	network := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceOf(t.word), Name: fmt.Sprintf("ledger-%s-%s-%s", t.word, name, t.chapter)}}
	network.Spec.CIDR, network.Spec.NetworkClassName = cidr, class
	return network
}

func (t *tenant) create(name, cidr, class string) *samplecrdv1.Network {
	GinkgoHelper()
	network := t.draft(name, cidr, class)
	Expect(t.client.Create(ctx, network)).To(Succeed())
	return network
}

// refused expects that the Network cannot be created, with causes at these fields.
func (t *tenant) refused(draft *samplecrdv1.Network, fields []string, parts ...string) {
	GinkgoHelper()
	t.refusal(t.client.Create(ctx, draft), fields, parts...)
}

func (t *tenant) refusal(err error, fields []string, parts ...string) {
	GinkgoHelper()
	Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
	status := err.(apierrors.APIStatus).Status()
	var at []string
	for _, cause := range status.Details.Causes {
		at = append(at, cause.Field)
	}
	Expect(at).To(Equal(fields))
	Expect(status.Message).To(matchers.ContainAll(parts))
	text, err := json.Marshal(status)
	Expect(err).NotTo(HaveOccurred())
	t.note("Refusal: " + string(text))
	for _, part := range parts {
		t.mark("refusal: " + part)
	}
}

// move asks for another range.
func (t *tenant) move(network *samplecrdv1.Network, cidr string) error {
	changed := &samplecrdv1.Network{}
	if err := t.client.Get(ctx, client.ObjectKeyFromObject(network), changed); err != nil {
		return err
	}
	before := changed.DeepCopy()
	changed.Spec.CIDR = cidr
	return t.client.Patch(ctx, changed, client.MergeFrom(before))
}

// says waits until a condition of the present generation has a reason and, in its
// message, all of these.
func (t *tenant) says(network *samplecrdv1.Network, kind, reason string, parts ...string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(t.condition(g, network, kind)).To(And(HaveField("Reason", reason), HaveField("Message", matchers.ContainAll(parts))))
	}).Should(Succeed())
}

// condition reads a condition of the present generation.
func (t *tenant) condition(g Gomega, network *samplecrdv1.Network, kind string) metav1.Condition {
	stored := &samplecrdv1.Network{}
	g.Expect(t.client.Get(ctx, client.ObjectKeyFromObject(network), stored)).To(Succeed())
	return condition(stored, kind)
}

func (t *tenant) ready(networks ...*samplecrdv1.Network) {
	GinkgoHelper()
	for _, network := range networks {
		t.says(network, samplecrdv1.NetworkConditionReady, samplecrdv1.NetworkReasonReady)
	}
}
