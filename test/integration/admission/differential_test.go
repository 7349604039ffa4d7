package admission_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// row is one line of the tables in testdata; they say what the fields mean.
type row struct {
	Name      string          `json:"name"`
	Old       json.RawMessage `json:"old"`
	Unowned   bool            `json:"unowned"`
	Spec      json.RawMessage `json:"spec"`
	Repeat    *repeat         `json:"repeat"`
	Refused   []string        `json:"refused"`
	Code      int32           `json:"code"`
	Floor     bool            `json:"floor"`
	Rewritten bool            `json:"rewritten"`
	Gateway   *string         `json:"gateway"`
	Warns     []string        `json:"warns"`
}

// repeat fills a list of the spec with count entries.
type repeat struct {
	Field, Entry string
	Count        int
}

// verdicts are what the gates say to one row.
type verdicts struct {
	// final is the object as the webhooks left it.
	final *unstructured.Unstructured
	// webhooks, floor and both are the answers of the webhooks, of the CRD's rules,
	// and of the API server with both gates closed.
	webhooks, floor, both answer
	// validating is the answer of the validating webhook on its own, which must not
	// rely on the other one's having judged.
	validating answer
	// floorOfFinal is the CRD's answer to final.
	floorOfFinal answer
}

var _ = Describe("Webhooks and CRD", Ordered, ContinueOnFailure, func() {
	creates, updates := rows("creates.yaml", 120), rows("updates.yaml", 40)
	all := append(slices.Clone(creates), updates...)
	results := make([]verdicts, len(all))
	olds := make([]*unstructured.Unstructured, len(all))
	objects := make([]*unstructured.Unstructured, len(all))

	// send asks the API server, without storing anything.
	send := func(i int, object *unstructured.Unstructured) answer {
		if olds[i] == nil {
			return create(object, client.DryRunAll)
		}
		return update(object, client.DryRunAll)
	}

	BeforeAll(func() {
		namespace := newNamespace()
		DeferCleanup(closeGates)
		removeWebhooks()
		removeFloor()
		for i, row := range all {
			objects[i] = network(namespace, fmt.Sprintf("row-%d", i), row.spec())
			if row.Old != nil {
				olds[i] = row.store(objects[i])
				objects[i] = withSpec(olds[i], row.spec())
			}
		}
		restoreFloor()
		for i := range all {
			results[i].final, results[i].webhooks = askWebhooks(objects[i], olds[i])
			results[i].validating = answerOf(review(validating, asStored(objects[i]), olds[i]))
			results[i].floor = send(i, objects[i])
			results[i].floorOfFinal = send(i, results[i].final)
		}
		restoreWebhooks()
		for i := range all {
			results[i].both = send(i, objects[i])
		}
	})

	for i, row := range all {
		kind := "create: "
		if row.Old != nil {
			kind = "update: "
		}
		It(kind+row.Name, func() {
			got := results[i]
			row.expectVerdict(got.webhooks)
			if row.Old == nil {
				row.expectVerdict(got.validating)
			}
			row.expectVerdict(got.both)
			if row.Gateway != nil && row.Refused == nil {
				Expect(specOf(got.final, "gateway")).To(Equal(*row.Gateway))
				Expect(specOf(got.both.object, "gateway")).To(Equal(*row.Gateway))
			}
			row.expectFloor(got)
			if row.Code == 0 {
				row.expectPure()
			}
		})
	}
})

// expectVerdict compares what the webhooks said, or the API server with them.
func (r row) expectVerdict(a answer) {
	GinkgoHelper()
	if r.Refused == nil {
		Expect(a.err).NotTo(HaveOccurred())
		expectWarnings(slices.DeleteFunc(a.warnings, ratcheted), r.Warns...)
		return
	}
	Expect(a.err).To(HaveOccurred())
	Expect(a.warnings).To(BeEmpty())
	status := a.err.(apierrors.APIStatus).Status()
	if r.Code != 0 {
		Expect(status.Code).To(Equal(r.Code), "%v", a.err)
		Expect(status.Message).To(ContainSubstring(lastName(r.Refused[0])))
		return
	}
	Expect(status.Code).To(BeEquivalentTo(http.StatusUnprocessableEntity), "%v", a.err)
	Expect(apierrors.IsInvalid(a.err)).To(BeTrue(), "%v", a.err)
	Expect(fields(causes(a.err))).To(ConsistOf(r.Refused), "%v", a.err)
}

// expectFloor demands that the CRD's rules refuse nothing that the webhooks
// accept, and what they are there to refuse.
func (r row) expectFloor(got verdicts) {
	GinkgoHelper()
	if r.Refused == nil {
		Expect(got.floorOfFinal.err).NotTo(HaveOccurred(), "of the object as the webhooks left it")
		if r.Rewritten {
			Expect(got.floor.err).To(HaveOccurred(), "else the row needs no such mark")
		} else {
			Expect(got.floor.err).NotTo(HaveOccurred())
		}
	}
	if r.Floor {
		Expect(apierrors.IsInvalid(got.floor.err)).To(BeTrue(), "%v", got.floor.err)
		Expect(fields(causes(got.floor.err))).To(ContainElement(BeElementOf(r.Refused)), "%v", got.floor.err)
	} else if r.Refused != nil {
		Expect(got.floor.err).NotTo(HaveOccurred(), "else the row lacks its mark")
	}
}

// expectPure demands of the address rules the verdict on the addresses; an update
// is judged there only as far as its new spec alone is concerned.
func (r row) expectPure() {
	GinkgoHelper()
	if r.Old != nil && r.Refused == nil {
		return
	}
	var spec samplecrdv1.NetworkSpec
	Expect(yaml.Unmarshal([]byte(r.spec()), &spec)).To(Succeed())
	_, errs := addressing.Parse(&spec, field.NewPath("spec"))
	var found []string
	for _, err := range errs {
		found = append(found, err.Field)
	}
	want := slices.DeleteFunc(slices.Clone(r.Refused), func(path string) bool {
		return path == "spec.networkClassName" || path == "spec.deletionPolicy"
	})
	if r.Old == nil {
		Expect(found).To(ConsistOf(want))
		return
	}
	for _, path := range want {
		Expect(found).To(ContainElement(path))
	}
}

// askWebhooks gives the webhooks' verdict in the form of an API server's answer.
func askWebhooks(object, old *unstructured.Unstructured) (*unstructured.Unstructured, answer) {
	GinkgoHelper()
	final, response := webhooksAlone(asStored(object), old)
	sent := object.DeepCopy()
	sent.Object["spec"] = final.Object["spec"]
	return sent, answerOf(response)
}

func answerOf(response *admissionv1.AdmissionResponse) answer {
	a := answer{warnings: response.Warnings}
	if !response.Allowed {
		a.err = &apierrors.StatusError{ErrStatus: *response.Result}
	}
	return a
}

// ratcheted recognises the API server's own warnings of what its schema lets pass
// since it was stored before; ours never quote a value.
func ratcheted(text string) bool {
	return strings.Contains(text, ": Invalid value: ")
}

// lastName is the field's own name in a path.
func lastName(path string) string {
	name := path[strings.LastIndex(path, ".")+1:]
	name, _, _ = strings.Cut(name, "[")
	return name
}

// spec writes the row's spec as YAML.
func (r row) spec() string {
	GinkgoHelper()
	if r.Repeat == nil {
		return string(r.Spec)
	}
	var spec map[string]any
	Expect(json.Unmarshal(r.Spec, &spec)).To(Succeed())
	list := make([]any, r.Repeat.Count)
	for i := range list {
		Expect(yaml.Unmarshal(fmt.Appendf(nil, r.Repeat.Entry, i, 100+i), &list[i])).To(Succeed())
	}
	spec[r.Repeat.Field] = list
	text, err := yaml.Marshal(spec)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// store creates the row's old Network, past both gates, and gives it as stored.
func (r row) store(object *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	old := withSpec(object, string(r.Old))
	Expect(create(old).err).NotTo(HaveOccurred(), r.Name)
	if r.Unowned {
		// As the API server leaves it when the webhook fills the gateway in: whoever
		// made the Network owns the rest.
		disown := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/metadata/managedFields","value":[{
			"manager":"maker","operation":"Update","apiVersion":"samplecrd.k8s.io/v1","time":"2026-01-01T00:00:00Z",
			"fieldsType":"FieldsV1","fieldsV1":{"f:spec":{".":{},"f:cidr":{}}}}]}]`))
		Expect(user.Patch(ctx, old.DeepCopy(), disown)).To(Succeed())
		Expect(stored(old).GetManagedFields()).To(HaveExactElements(HaveField("Manager", "maker")))
	}
	return stored(old)
}

func rows(file string, atLeast int) []row {
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		panic(err)
	}
	var all []row
	if err := yaml.UnmarshalStrict(text, &all); err != nil {
		panic(fmt.Errorf("reading %s: %w", file, err))
	}
	if len(all) < atLeast {
		panic(fmt.Errorf("%s has %d rows, fewer than %d", file, len(all), atLeast))
	}
	return all
}
