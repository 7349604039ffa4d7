package foo

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"testing"

	"github.com/samplecrd/samplecrd/test/review"
)

// FuzzFoo sends any bytes as the object, and as the stored one, to all webhooks of
// Foo. They always answer, never fail, and never touch what is not theirs.
func FuzzFoo(f *testing.F) {
	sound := object(`{"deploymentName":"web","replicas":1}`)
	for _, spec := range []string{
		`{"deploymentName":"example-foo","replicas":1}`,
		`{"deploymentName":"web"}`,
		`{"deploymentName":"web","replicas":null,"podTemplateName":null}`,
		`{"deploymentName":"drain-node_manager","replicas":-1,"podTemplateName":"a b"}`,
		`{"deploymentName":"web","replicas":9223372036854775808}`,
		`{"deploymentName":"web","replicas":1e3}`,
		`{"deploymentName":["web"],"replicas":"3"}`,
		`{"deploymentName":"web","networks":[{"name":"x"}],"colour":"blue"}`,
		`{"DeploymentName":"a","deploymentName":"b","deploymentName":"c"}`,
		`{}`, `null`, `[]`, `"web"`, `1`,
	} {
		for _, status := range []string{"", defaultedStatus, fullStatus, `"status":[]`} {
			f.Add(object(spec, "", status), []byte(nil))
			f.Add(object(spec, busyMetadata, status), sound)
			f.Add(sound, object(spec, "", status))
		}
	}
	for _, replicas := range []string{"1", "11", "-1", "null", "2147483648", `"3"`, "{}"} {
		f.Add(scale(replicas), scale("1"))
		f.Add(scale("1"), scale(replicas))
		f.Add(scale(replicas), []byte(nil))
	}
	f.Add([]byte(`{"apiVersion":"v1","kind":"Pod"}`), []byte(nil))
	f.Add([]byte(`null`), []byte(`null`))
	f.Add([]byte(`{"spec":{"deploymentName":"web"}`), []byte(`}`))

	webhooks := serve(f, namespace("five"), deployment("web"), neighbour("default", "y", name("db")), podTemplate("default", "web"))
	f.Fuzz(func(t *testing.T, object, old []byte) {
		for _, path := range []string{mutate, validate, scaled} {
			got := webhooks.Ask(t, path, object, old)
			if !got.Allowed {
				checkCode(t, got, object, old)
				continue
			}
			checkPatch(t, got, object)
		}
	})
}

// checkCode: whoever sends nonsense is told so; it is never our failure.
func checkCode(t *testing.T, got review.Answer, object, old []byte) {
	t.Helper()
	codes := []int32{http.StatusBadRequest, http.StatusUnprocessableEntity}
	if slices.Contains(codes, got.Code()) {
		return
	}
	// The API server sends what it has decoded and encoded itself.
	var decoded any
	if json.Unmarshal(object, &decoded) == nil && (old == nil || json.Unmarshal(old, &decoded) == nil) {
		t.Errorf("got %d: %s", got.Code(), got.Result.Message)
	}
}

// checkPatch: the one thing that is patched is a number where there was none.
func checkPatch(t *testing.T, got review.Answer, object []byte) {
	t.Helper()
	if len(got.Operations) == 0 {
		return
	}
	var before struct{ Spec map[string]any }
	if err := json.Unmarshal(object, &before); err != nil {
		t.Fatal(err)
	}
	want := review.Operation{Op: "add", Path: "/spec/replicas", Value: float64(1)}
	value, there := before.Spec["replicas"]
	if there {
		want.Op = "replace"
	}
	if value != nil || !reflect.DeepEqual(got.Operations, []review.Operation{want}) {
		t.Errorf("%v, where %v stands", got.Operations, value)
	}
}
