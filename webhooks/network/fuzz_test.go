package network

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/samplecrd/samplecrd/test/review"
)

// FuzzDefault sends any bytes as the object, and as the stored one, to both
// webhooks. They always answer, never fail, and never touch what is not theirs.
func FuzzDefault(f *testing.F) {
	for _, spec := range []string{
		`{"cidr":"192.168.0.0/16","gateway":"192.168.0.1"}`,
		`{"cidr":"192.168.1.0/16","gateway":"192.168.1.1"}`,
		`{"cidr":"192.168.30.0/24","gateway":""}`,
		`{"cidr":"10.0.0.0/24","gateway":null,"mtu":null,"routes":[null],"allocationPools":[{}],"dnsServers":[""]}`,
		`{"cidr":["10.0.0.0/16"]}`,
		`{"cidr":"10.0.0.0/24","colour":"blue","mtu":1e3,"additionalSubnets":[{"cidr":"2001:db8::/64","gateway":""}]}`,
		`{"cidr":"10.0.0.0/24","networkClassName":"","deletionPolicy":""}`,
		`{"cidr":"10.0.0.0/24","importID":"4f9a5b1e-1c5c-4b7e-9d0a-2f1f8f0c7a11"}`,
		`{"cidr":"10.0.0.0/24","importID":"a/b","deletionPolicy":null}`,
		`{"CIDR":"10.0.0.0/24","cidr":"10.0.0/24","cidr":"10.0.0.0/25"}`,
		`{}`, `null`, `[]`, `"10.0.0.0/24"`, `1`,
	} {
		for _, status := range []string{"", defaultedStatus, fullStatus, `"status":[]`} {
			f.Add(object(spec, "", status), []byte(nil))
			f.Add(object(spec, owned, status), object(`{"cidr":"10.0.0.0/24","gateway":"10.0.0.1"}`, unowned))
			f.Add(object(`{"cidr":"10.0.9.0/24","gateway":"10.0.0.1"}`, busyMetadata), object(spec, owned, status))
		}
	}
	f.Add([]byte(`{"apiVersion":"v1","kind":"Pod"}`), []byte(nil))
	f.Add([]byte(`null`), []byte(`null`))
	f.Add([]byte(`{"spec":{"cidr":"10.0.0.0/24"}`), []byte(`}`))
	f.Add(object(`{"cidr":"10.0.0.0/24"}`), object(`{"cidr":"10.0.0.0/25"}`, `"managedFields":[{"fieldsV1":{"f:spec":1}},{"fieldsV1":null},{}]`))

	webhooks := serve(f, defaultClass("standard", time.Unix(1000, 0)))
	f.Fuzz(func(t *testing.T, object, old []byte) {
		for _, path := range []string{mutate, validate} {
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

// checkPatch: what was there stays, but for what counts as absent and for a gateway.
func checkPatch(t *testing.T, got review.Answer, object []byte) {
	t.Helper()
	var before struct{ Spec map[string]any }
	if len(got.Operations) > 0 {
		if err := json.Unmarshal(object, &before); err != nil {
			t.Fatal(err)
		}
	}
	for _, operation := range got.Operations {
		name, ours := map[string]string{
			"/spec/gateway": "gateway", "/spec/networkClassName": "networkClassName", "/spec/deletionPolicy": "deletionPolicy",
		}[operation.Path]
		value, there := before.Spec[name]
		empty := value == nil || value == ""
		switch {
		case !ours:
			t.Errorf("%v is not ours", operation)
		case operation.Op == "add" && !there:
		case operation.Op == "replace" && (empty || name == "gateway"):
		default:
			t.Errorf("%v, where %v stands", operation, value)
		}
		if text, isText := operation.Value.(string); !isText || text == "" {
			t.Errorf("%v fills in nothing", operation)
		}
	}
}
