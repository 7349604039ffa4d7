package networkclass

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/samplecrd/samplecrd/test/review"
)

// FuzzNetworkClass sends any bytes as the object, and as the stored one, to both
// webhooks. They always answer, never fail, and never change anything.
func FuzzNetworkClass(f *testing.F) {
	for _, spec := range []string{
		sound, cloud,
		`{"provider":"Neutron","neutron":{"credentialsSecretName":"A_B","networkType":"vlan","segmentationID":5000,"physicalNetwork":" "},` + constants,
		`{"provider":"Neutron","neutron":null,"multus":{},"import":"x"}`,
		`{"provider":"Multus","multus":{"type":"Bridge"},"neutron":{"driftIntervalSeconds":1e3}}`,
		`{"provider":["Neutron"],"neutron":"x"}`,
		`{"namespaceSelector":{"matchLabels":{"a":"?"}},"allowedCIDRs":["x"],"prefixLengths":{"ipv4":{"min":33}}}`,
		`{}`, `null`, `[]`, `"Neutron"`, `1`,
	} {
		f.Add(object(spec), []byte(nil))
		f.Add(object(spec), object(cloud))
		f.Add(object(cloud), object(spec))
		f.Add(object(sound), object(spec))
	}
	f.Add([]byte(`{"apiVersion":"v1","kind":"Pod"}`), []byte(nil))
	f.Add([]byte(`null`), []byte(`null`))

	webhooks := review.Serve(f, Setup)
	f.Fuzz(func(t *testing.T, object, old []byte) {
		for _, path := range paths {
			got := webhooks.Ask(t, path, object, old)
			if got.Allowed {
				if len(got.Operations) > 0 {
					t.Errorf("%v is not ours", got.Operations)
				}
				continue
			}
			// The API server sends what it has decoded and encoded itself.
			var decoded any
			isJSON := json.Unmarshal(object, &decoded) == nil && (old == nil || json.Unmarshal(old, &decoded) == nil)
			if code := got.Code(); isJSON && code != http.StatusBadRequest && code != http.StatusUnprocessableEntity {
				t.Errorf("got %d: %s", code, got.Result.Message)
			}
		}
	})
}
