package foo

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/samplecrd/samplecrd/test/review"
)

const (
	defaultedStatus = `"status":{"observedGeneration":-1}`
	fullStatus      = `"status":{"observedGeneration":3,"deploymentName":"web","replicas":0,"availableReplicas":0,"selector":"","colour":"blue",
		"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"","lastTransitionTime":"2026-01-02T03:04:05Z","observedGeneration":0}]}`
	busyMetadata = `"creationTimestamp":null,"generation":1,"labels":{},"annotations":{"a":""},"finalizers":["f"],"selfLink":"",
		"managedFields":[{"manager":"kubectl","operation":"Apply","apiVersion":"samplecontroller.k8s.io/v1alpha1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:deploymentName":{}}}}]`
)

// The patch is the contract with every other writer of the object: it fills in
// absent replicas, and nothing else.
func TestPatch(t *testing.T) {
	added := []review.Operation{{Op: "add", Path: "/spec/replicas", Value: float64(1)}}
	replaced := []review.Operation{{Op: "replace", Path: "/spec/replicas", Value: float64(1)}}
	for name, tc := range map[string]struct {
		object, old []byte
		want        []review.Operation
	}{
		"AF-01: absent replicas":                   {object(`{"deploymentName":"web"}`), nil, added},
		"replicas of null":                         {object(`{"deploymentName":"web","replicas":null}`), nil, replaced},
		"replicas that are there":                  {object(`{"deploymentName":"web","replicas":7}`), nil, nil},
		"0 replicas":                               {object(`{"deploymentName":"web","replicas":0}`), nil, nil},
		"a template is not filled in":              {object(`{"deploymentName":"web","replicas":1,"podTemplateName":null}`), nil, nil},
		"an empty template stays":                  {object(`{"deploymentName":"web","podTemplateName":""}`), nil, added},
		"WO-20: a field that this build knows not": {object(`{"deploymentName":"web","networks":[{"name":"example-network","colour":"blue"}]}`), nil, added},
		"the status that the schema put there":     {object(`{"deploymentName":"web"}`, "", defaultedStatus), nil, added},
		"AF-15: a status that the user wrote":      {object(`{"deploymentName":"af-15","replicas":1}`, "", `"status":{"availableReplicas":99}`), nil, nil},
		"a full status":                            {object(`{"deploymentName":"web"}`, "", fullStatus), nil, added},
		"an empty status":                          {object(`{"deploymentName":"web"}`, "", `"status":{}`), nil, added},
		"a status of null":                         {object(`{"deploymentName":"web"}`, "", `"status":null`), nil, added},
		"a status of nulls":                        {object(`{"deploymentName":"web"}`, "", `"status":{"replicas":null,"selector":null,"conditions":null}`), nil, added},
		"busy metadata":                            {object(`{"deploymentName":"web"}`, busyMetadata, fullStatus), nil, added},
		"WO-31: an update that changes nothing":    {object(`{"deploymentName":"web"}`, `"labels":{"a":"b"}`, fullStatus), object(`{"deploymentName":"web"}`, "", defaultedStatus), nil},
		"WO-31: of a bad object as well":           {object(`{"deploymentName":"a b","replicas":-1}`, `"finalizers":[]`), object(`{"deploymentName":"a b","replicas":-1}`, `"finalizers":["f"]`), nil},
		"AF-13: replicas that an update takes off": {object(`{"deploymentName":"web"}`), object(`{"deploymentName":"web","replicas":5}`), added},
		"an update of something else":              {object(`{"deploymentName":"db","replicas":5}`), object(`{"deploymentName":"web","replicas":5}`), nil},
		"an update of one stored without replicas": {object(`{"deploymentName":"db"}`), object(`{"deploymentName":"web"}`), added},
	} {
		t.Run(name, func(t *testing.T) {
			got := serve(t).Ask(t, mutate, tc.object, tc.old)
			if !got.Allowed {
				t.Fatalf("refused: %s", got.Result.Message)
			}
			if !reflect.DeepEqual(got.Operations, tc.want) {
				t.Errorf("the patch is %v, want %v", got.Operations, tc.want)
			}
			if len(got.Warnings) > 0 {
				t.Errorf("only the validating webhook warns: %q", got.Warnings)
			}
		})
	}
}

// Both webhooks refuse alike, with 422 and a cause for each fault; the first before
// the schema has its say, so that a person reads our sentence.
func TestRefusal(t *testing.T) {
	sound := object(`{"deploymentName":"web","replicas":1}`)
	for name, tc := range map[string]struct {
		object, old []byte
		limit       string
		want        []string
	}{
		"a thrice-bad object":                 {object(`{"deploymentName":"a b","replicas":-1,"podTemplateName":"c d"}`), nil, "-", []string{"spec.deploymentName", "spec.replicas", "spec.podTemplateName"}},
		"AF-05: replicas below 0":             {object(`{"deploymentName":"af-05","replicas":-1}`), nil, "-", []string{"spec.replicas"}},
		"AF-05: replicas far below 0":         {object(`{"deploymentName":"af-05","replicas":-2147483648}`), nil, "-", []string{"spec.replicas"}},
		"AF-05: on update of a good Foo":      {object(`{"deploymentName":"web","replicas":-1}`), sound, "-", []string{"spec.replicas"}},
		"AF-05: far below, on update":         {object(`{"deploymentName":"web","replicas":-2147483648}`), sound, "-", []string{"spec.replicas"}},
		"AF-06: one more than the limit":      {object(`{"deploymentName":"web","replicas":11}`), nil, "-", []string{"spec.replicas"}},
		"AF-06: one more, on update":          {object(`{"deploymentName":"web","replicas":11}`), sound, "-", []string{"spec.replicas"}},
		"AF-06: the largest number":           {object(`{"deploymentName":"web","replicas":2147483647}`), nil, "-", []string{"spec.replicas"}},
		"one more than the namespace's limit": {object(`{"deploymentName":"web","replicas":6}`), nil, "5", []string{"spec.replicas"}},
		"the default where none is allowed":   {object(`{"deploymentName":"web"}`), nil, "0", []string{"spec.replicas"}},
		"a bad name and too many replicas":    {object(`{"deploymentName":"a b","replicas":11}`), nil, "-", []string{"spec.deploymentName", "spec.replicas"}},
		"AF-10: an empty name":                {object(`{"deploymentName":"","replicas":1}`), nil, "-", []string{"spec.deploymentName"}},
		"AF-10: no name":                      {object(`{"replicas":1}`), nil, "-", []string{"spec.deploymentName"}},
		"a name of null":                      {object(`{"deploymentName":null}`), nil, "-", []string{"spec.deploymentName"}},
		"a spec of null":                      {object(`null`), nil, "-", []string{"spec.deploymentName"}},
		"a name that an update takes off":     {object(`{"replicas":1}`), sound, "-", []string{"spec.deploymentName"}},
		"a template of bad name, added":       {object(`{"deploymentName":"web","replicas":1,"podTemplateName":"My Web"}`), sound, "-", []string{"spec.podTemplateName"}},
	} {
		t.Run(name, func(t *testing.T) {
			webhooks := serve(t, namespace(tc.limit))
			for _, path := range []string{mutate, validate} {
				got := webhooks.Ask(t, path, tc.object, tc.old)
				if got.Code() != http.StatusUnprocessableEntity || got.Result.Reason != "Invalid" || got.Result.Details.Kind != "Foo" || !reflect.DeepEqual(got.Causes(), tc.want) {
					t.Errorf("%s: got %d for %v, want 422 for %v: %+v", path, got.Code(), got.Causes(), tc.want, got.Result)
				}
				if len(got.Operations) > 0 || len(got.Warnings) > 0 {
					t.Errorf("%s: a refusal with %v, %q", path, got.Operations, got.Warnings)
				}
			}
		})
	}
}

// A wrong type is the decoder's to refuse, by the name of the field; nothing is
// wrapped or rounded into a number.
func TestWrongType(t *testing.T) {
	for name, tc := range map[string]struct{ spec, field string }{
		"AF-06: one more than 32 bits":       {`{"deploymentName":"web","replicas":2147483648}`, "spec.replicas"},
		"AF-06: the largest of 64 bits":      {`{"deploymentName":"web","replicas":9223372036854775807}`, "spec.replicas"},
		"AF-06: one more than 64 bits":       {`{"deploymentName":"web","replicas":9223372036854775808}`, "spec.replicas"},
		"one less than 32 bits":              {`{"deploymentName":"web","replicas":-2147483649}`, "spec.replicas"},
		"AF-06: a number in quotes":          {`{"deploymentName":"web","replicas":"3"}`, "spec.replicas"},
		"AF-06: a broken number":             {`{"deploymentName":"web","replicas":1.5}`, "spec.replicas"},
		"AF-06: true":                        {`{"deploymentName":"web","replicas":true}`, "spec.replicas"},
		"a list of numbers":                  {`{"deploymentName":"web","replicas":[3]}`, "spec.replicas"},
		"a list of names":                    {`{"deploymentName":["web"],"replicas":1}`, "spec.deploymentName"},
		"a name that is a number":            {`{"deploymentName":1,"replicas":1}`, "spec.deploymentName"},
		"a name that is a truth":             {`{"deploymentName":true,"replicas":1}`, "spec.deploymentName"},
		"a template that is written in here": {`{"deploymentName":"web","podTemplateName":{"spec":{}}}`, "spec.podTemplateName"},
		"a spec that is a name":              {`"web"`, "spec"},
		"a spec that is a list":              {`[]`, "spec"},
	} {
		t.Run(name, func(t *testing.T) {
			webhooks := serve(t)
			for _, path := range []string{mutate, validate} {
				for _, old := range [][]byte{nil, object(`{"deploymentName":"web","replicas":1}`)} {
					got := webhooks.Ask(t, path, object(tc.spec), old)
					if got.Code() != http.StatusBadRequest || !strings.Contains(got.Result.Message, tc.field) {
						t.Errorf("%s: got %d %v, want 400 and %s", path, got.Code(), got.Result, tc.field)
					}
				}
			}
		})
	}
}

// Huge objects are refused soon, and in few words.
func TestHugeObjects(t *testing.T) {
	const soon, fewWords = 20 * time.Second, 4 << 10
	quoted := `"` + strings.Repeat("1_", 1<<19) + `"`
	for name, spec := range map[string]string{
		"a name of a megabyte":           `{"deploymentName":` + quoted + `}`,
		"a template of a megabyte":       `{"deploymentName":"web","podTemplateName":` + quoted + `}`,
		"both":                           `{"deploymentName":` + quoted + `,"podTemplateName":` + quoted + `}`,
		"a bad name among much else":     `{"deploymentName":"a b","colour":` + quoted + `}`,
		"a bad name of all that may be":  `{"deploymentName":"` + strings.Repeat(`\u0000`, 253) + `"}`,
		"a bad name among many unknowns": `{"deploymentName":"a b","networks":[` + strings.Repeat(`{"name":"x"},`, 10_000) + `{}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			webhooks := serve(t)
			for _, path := range []string{mutate, validate} {
				for _, old := range [][]byte{nil, object(`{"deploymentName":"web","replicas":1}`)} {
					began := time.Now()
					got := webhooks.Ask(t, path, object(spec), old)
					if got.Code() != http.StatusUnprocessableEntity {
						t.Errorf("%s: got %d, want 422", path, got.Code())
						continue
					}
					text, err := json.Marshal(got.Result)
					if err != nil {
						t.Fatal(err)
					}
					if took := time.Since(began); took > soon || len(text) > fewWords {
						t.Errorf("%s: %d characters after %s", path, len(text), took)
					}
				}
			}
		})
	}
}

// Only the validating webhook warns, of a create and of every changed spec.
func TestServedWarnings(t *testing.T) {
	webhooks := serve(t, deployment("web"))
	foreign := object(`{"deploymentName":"web","replicas":1}`)
	for name, tc := range map[string]struct {
		object, old []byte
		want        int
	}{
		"a create":                        {foreign, nil, 1},
		"an update of something else":     {object(`{"deploymentName":"web","replicas":2}`), foreign, 1},
		"an update that changes no field": {object(`{"deploymentName":"web","replicas":1}`, `"labels":{"a":"b"}`), foreign, 0},
		"an update that leaves the place": {object(`{"deploymentName":"db","replicas":1}`), foreign, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := webhooks.Ask(t, validate, tc.object, tc.old)
			if !got.Allowed || len(got.Warnings) != tc.want || len(got.Operations) > 0 {
				t.Errorf("got %t, %q, %v; want %d warnings", got.Allowed, got.Warnings, got.Operations, tc.want)
			}
		})
	}
}
