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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/samplecrd/samplecrd/addressing"
	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/scaling"
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
	Replicas  *int32          `json:"replicas"`
	Warns     []string        `json:"warns"`
	Stuck     string          `json:"stuck"`

	// kind is that of the file's objects.
	kind string
}

// repeat fills a list of the spec with count entries.
type repeat struct {
	Field, Entry string
	Count        int
}

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

// expectFilledIn compares what an accepted object says in the end.
func (r row) expectFilledIn(object *unstructured.Unstructured) {
	GinkgoHelper()
	if r.Gateway != nil {
		Expect(specOf(object, "gateway")).To(Equal(*r.Gateway))
	}
	if r.Replicas != nil {
		Expect(replicasOf(object)).To(Equal(r.Replicas))
	}
}

// expectFloor demands that the CRD's rules refuse nothing that the webhooks
// accept, and what they are there to refuse.
func (r row) expectFloor(got verdicts) {
	GinkgoHelper()
	if r.Stuck != "" {
		for _, a := range []answer{got.floor, got.floorOfFinal, got.both} {
			Expect(apierrors.IsInvalid(a.err)).To(BeTrue(), "%v", a.err)
			Expect(fields(causes(a.err))).To(ContainElement(r.Stuck))
		}
		return
	}
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

// expectPure demands the verdict of the pure rules on the new spec; of an update as
// far as that alone is concerned.
func (r row) expectPure() {
	GinkgoHelper()
	if r.Old != nil && r.Refused == nil {
		return
	}
	found, foreign := r.pure()
	want := slices.DeleteFunc(slices.Clone(r.Refused), func(path string) bool { return slices.Contains(foreign, path) })
	if r.Old == nil {
		Expect(found).To(ConsistOf(want))
		return
	}
	for _, path := range want {
		Expect(found).To(ContainElement(path))
	}
}

// pure gives the paths that the pure rules blame, and those that are not theirs.
func (r row) pure() (found, foreign []string) {
	GinkgoHelper()
	var errs field.ErrorList
	path := field.NewPath("spec")
	switch r.kind {
	case "Network":
		var spec samplecrdv1.NetworkSpec
		Expect(yaml.Unmarshal([]byte(r.spec()), &spec)).To(Succeed())
		_, errs = addressing.Parse(&spec, path)
		foreign = []string{"spec.networkClassName", "spec.deletionPolicy"}
		if r.Old != nil {
			foreign = append(foreign, "spec.importID") // That it stays is a rule of updates.
		}
	case "Foo":
		var spec samplev1alpha1.FooSpec
		Expect(yaml.Unmarshal([]byte(r.spec()), &spec)).To(Succeed())
		limit, _ := scaling.LimitOf(100, nil)
		_, tooMany := limit.Judge(path.Child("replicas"), scaling.Replicas(&spec), nil)
		errs = append(scaling.Validate(&spec, path), tooMany...)
	}
	for _, err := range errs {
		found = append(found, err.Field)
	}
	return found, foreign
}

// ratcheted recognises the API server's own warnings of what its schema lets pass
// since it was stored before; ours never quote a value.
func ratcheted(text string) bool {
	return strings.Contains(text, ": Invalid value: ") || strings.Contains(text, ": Required value: ")
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

// store creates the row's old object, past both gates.
func (r row) store(object *unstructured.Unstructured) {
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
}

func rows(kind, file string, atLeast int) []row {
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
	for i := range all {
		all[i].kind = kind
	}
	return all
}
