package network

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/samplecrd/samplecrd/test/review"
)

// object writes a Network as a client sends it: its spec, and what stands beside.
func object(spec string, beside ...string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"samplecrd.k8s.io/v1","kind":"Network","metadata":{"name":"x","namespace":"default"%s},"spec":%s%s}`,
		at(beside, 0), spec, at(beside, 1))
}

func at(texts []string, i int) string {
	if i < len(texts) && texts[i] != "" {
		return "," + texts[i]
	}
	return ""
}

const (
	defaultedStatus = `"status":{"observedGeneration":-1}`
	fullStatus      = `"status":{"observedGeneration":3,"provider":"Multus","providerID":"x","colour":"blue",
		"subnets":[{"cidr":"10.0.0.0/24","gateway":"10.0.0.1","state":"Active"},{"cidr":"10.9.0.0/24","state":"Pending","colour":"blue"}],
		"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"","lastTransitionTime":"2026-01-02T03:04:05Z","observedGeneration":0}]}`
	busyMetadata = `"creationTimestamp":null,"generation":1,"labels":{},"annotations":{"a":""},"finalizers":["f"],"uid":"","selfLink":"",
		"managedFields":[{"manager":"kubectl","operation":"Apply","apiVersion":"samplecrd.k8s.io/v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:cidr":{}}}}]`
	unowned = `"managedFields":[{"manager":"kubectl","operation":"Apply","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:cidr":{}}}}]`
	owned   = `"managedFields":[{"manager":"kubectl","operation":"Apply","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:cidr":{},"f:gateway":{}}}}]`
)

// The patch is the contract with every other writer of the object: it adds what is
// absent, replaces a gateway that is empty or left behind, and nothing else.
func TestPatch(t *testing.T) {
	add := func(field, value string) review.Operation {
		return review.Operation{Op: "add", Path: "/spec/" + field, Value: value}
	}
	replace := func(field, value string) review.Operation {
		return review.Operation{Op: "replace", Path: "/spec/" + field, Value: value}
	}
	gatewayAdded := []review.Operation{add("gateway", "10.0.0.1")}
	standard := defaultClass("standard", time.Unix(1000, 0))
	for name, tc := range map[string]struct {
		object, old []byte
		classless   bool
		want        []review.Operation
	}{
		"an absent gateway":                        {object: object(`{"cidr":"10.0.0.0/24"}`), classless: true, want: gatewayAdded},
		"AN-37: an empty gateway":                  {object: object(`{"cidr":"10.0.0.0/24","gateway":""}`), classless: true, want: []review.Operation{replace("gateway", "10.0.0.1")}},
		"a gateway of null":                        {object: object(`{"cidr":"10.0.0.0/24","gateway":null}`), classless: true, want: []review.Operation{replace("gateway", "10.0.0.1")}},
		"nothing to fill in":                       {object: object(`{"cidr":"10.0.0.0/24","gateway":"10.0.0.9"}`), classless: true},
		"None":                                     {object: object(`{"cidr":"10.0.0.0/24","gateway":"None"}`), classless: true},
		"all three":                                {object: object(`{"cidr":"10.0.0.0/24"}`), want: []review.Operation{add("deletionPolicy", "Delete"), add("gateway", "10.0.0.1"), add("networkClassName", "standard")}},
		"a class and a policy of null":             {object: object(`{"cidr":"10.0.0.0/24","gateway":"10.0.0.1","networkClassName":null,"deletionPolicy":null}`), want: []review.Operation{replace("deletionPolicy", "Delete"), replace("networkClassName", "standard")}},
		"other fields of null and empty lists":     {object: object(`{"cidr":"10.0.0.0/24","mtu":null,"dhcp":null,"routes":null,"dnsServers":[],"allocationPools":[],"additionalSubnets":[]}`), classless: true, want: gatewayAdded},
		"WO-20: a field that this build knows not": {object: object(`{"cidr":"10.0.0.0/24","colour":"blue","shape":{"round":true}}`), classless: true, want: gatewayAdded},
		"an unknown field in an entry":             {object: object(`{"cidr":"10.0.0.0/24","additionalSubnets":[{"cidr":"10.0.1.0/24","gateway":"","colour":"blue"}]}`), classless: true, want: gatewayAdded},
		"the status that the schema put there":     {object: object(`{"cidr":"10.0.0.0/24"}`, "", defaultedStatus), classless: true, want: gatewayAdded},
		"a full status":                            {object: object(`{"cidr":"10.0.0.0/24"}`, "", fullStatus), classless: true, want: gatewayAdded},
		"an empty status":                          {object: object(`{"cidr":"10.0.0.0/24"}`, "", `"status":{}`), classless: true, want: gatewayAdded},
		"a status of null":                         {object: object(`{"cidr":"10.0.0.0/24"}`, "", `"status":null`), classless: true, want: gatewayAdded},
		"busy metadata":                            {object: object(`{"cidr":"10.0.0.0/24"}`, busyMetadata, fullStatus), classless: true, want: gatewayAdded},
		"a range with host bits stays as written":  {object: object(`{"cidr":"10.0.0.77/24"}`), classless: true, want: gatewayAdded},
		"IPv6 stays as written":                    {object: object(`{"cidr":"2001:0DB8:0:0::/64"}`), classless: true, want: []review.Operation{add("gateway", "2001:db8::1")}},
		"WO-31: an update that changes nothing": {
			object: object(`{"cidr":"10.0.0.0/24"}`, `"labels":{"a":"b"}`, fullStatus), old: object(`{"cidr":"10.0.0.0/24","routes":[]}`, "", defaultedStatus),
		},
		"WO-31: of a bad object as well": {object: object(`{"cidr":"x","gateway":"y"}`, `"finalizers":[]`), old: object(`{"cidr":"x","gateway":"y"}`, `"finalizers":["f"]`)},
		"a gateway that is left behind, and nobody's": {
			object: object(`{"cidr":"10.0.1.0/24","gateway":"10.0.0.1"}`, unowned), old: object(`{"cidr":"10.0.0.0/24","gateway":"10.0.0.1"}`, unowned, fullStatus),
			want: []review.Operation{replace("gateway", "10.0.1.1")},
		},
		"a class that the update leaves out": {
			object: object(`{"cidr":"10.0.1.0/24","gateway":"10.0.1.1"}`), old: object(`{"cidr":"10.0.0.0/24","gateway":"10.0.0.1","networkClassName":"standard","deletionPolicy":"Retain"}`),
			want: []review.Operation{add("deletionPolicy", "Retain"), add("networkClassName", "standard")},
		},
		"a field that the update adds": {
			object: object(`{"cidr":"10.0.0.0/24","mtu":1400}`), old: object(`{"cidr":"10.0.0.0/24","gateway":"10.0.0.1"}`), want: gatewayAdded,
		},
	} {
		t.Run(name, func(t *testing.T) {
			webhooks := serve(t)
			if !tc.classless && tc.old == nil {
				webhooks = serve(t, standard)
			}
			got := webhooks.Ask(t, mutate, tc.object, tc.old)
			if !got.Allowed {
				t.Fatalf("refused: %s", got.Result.Message)
			}
			slices.SortFunc(got.Operations, func(a, b review.Operation) int { return strings.Compare(a.Path, b.Path) })
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
	sound := object(`{"cidr":"10.0.0.0/24","gateway":"10.0.0.1"}`, owned)
	for name, tc := range map[string]struct {
		object, old []byte
		want        []string
	}{
		"a thrice-bad object":         {object(`{"cidr":"10.0.0/24","gateway":"10.0.0.01","mtu":1}`), nil, []string{"spec.cidr", "spec.gateway", "spec.mtu"}},
		"no range":                    {object(`{}`), nil, []string{"spec.cidr"}},
		"a spec of null":              {object(`null`), nil, []string{"spec.cidr"}},
		"a mode of no known name":     {object(`{"cidr":"10.0.0.0/24","dhcp":"on","deletionPolicy":"keep"}`), nil, []string{"spec.dhcp", "spec.deletionPolicy"}},
		"AN-09: a range alone":        {object(`{"cidr":"10.0.1.0/24","gateway":"10.0.0.1"}`, owned), sound, []string{"spec.gateway"}},
		"an update that only adds":    {object(`{"cidr":"10.0.0.0/24","gateway":"10.0.0.1","mtu":1}`, owned), sound, []string{"spec.mtu"}},
		"an update that adds a list":  {object(`{"cidr":"10.0.0.0/24","gateway":"10.0.0.1","dnsServers":["x"]}`, owned), sound, []string{"spec.dnsServers[0]"}},
		"another class":               {object(`{"cidr":"10.0.0.0/24","gateway":"10.0.0.1","networkClassName":"b"}`), object(`{"cidr":"10.0.0.0/24","gateway":"10.0.0.1","networkClassName":"a"}`), []string{"spec.networkClassName"}},
		"a neighbour's range":         {object(`{"cidr":"10.77.1.0/24","networkClassName":"standard"}`), nil, []string{"spec.cidr"}},
		"a neighbour's, in an entry":  {object(`{"cidr":"10.0.0.0/24","networkClassName":"standard","additionalSubnets":[{"cidr":"10.77.1.0/24"}]}`), nil, []string{"spec.additionalSubnets[0].cidr"}},
		"AN-50: a pair in each field": {object(`{"cidr":"10.0.0.0/16,2001:db8::/64","gateway":"10.0.0.1,2001:db8::1"}`), nil, []string{"spec.cidr", "spec.gateway"}},
	} {
		t.Run(name, func(t *testing.T) {
			webhooks := serve(t, class("standard", ""))
			for _, path := range []string{mutate, validate} {
				got := webhooks.Ask(t, path, tc.object, tc.old)
				if got.Code() != http.StatusUnprocessableEntity || got.Result.Reason != "Invalid" {
					t.Fatalf("%s: got %d %s", path, got.Code(), got.Result)
				}
				if causes := got.Causes(); !reflect.DeepEqual(causes, tc.want) {
					t.Errorf("%s: blames %v, want %v", path, causes, tc.want)
				}
				if !strings.HasPrefix(got.Result.Message, `Network.samplecrd.k8s.io "x" is invalid: `) || len(got.Operations) > 0 {
					t.Errorf("%s: says %q and patches %v", path, got.Result.Message, got.Operations)
				}
			}
		})
	}
}

// A wrong type is the decoder's to refuse, by the name of the field.
func TestWrongType(t *testing.T) {
	for field, spec := range map[string]string{
		"cidr":              `{"cidr":["10.0.0.0/16"]}`,
		"gateway":           `{"cidr":"10.0.0.0/24","gateway":1}`,
		"mtu":               `{"cidr":"10.0.0.0/24","mtu":"1500"}`,
		"dnsServers":        `{"cidr":"10.0.0.0/24","dnsServers":"192.0.2.53"}`,
		"allocationPools":   `{"cidr":"10.0.0.0/24","allocationPools":["10.0.0.1-10.0.0.9"]}`,
		"routes":            `{"cidr":"10.0.0.0/24","routes":{"destination":"172.16.0.0/12"}}`,
		"additionalSubnets": `{"cidr":"10.0.0.0/24","additionalSubnets":[["10.0.1.0/24"]]}`,
		"dhcp":              `{"cidr":"10.0.0.0/24","dhcp":true}`,
		"spec":              `"10.0.0.0/24"`,
	} {
		t.Run(field, func(t *testing.T) {
			webhooks := serve(t)
			for _, path := range []string{mutate, validate} {
				for _, old := range [][]byte{nil, object(`{"cidr":"10.0.0.0/24","gateway":"10.0.0.1"}`)} {
					got := webhooks.Ask(t, path, object(spec), old)
					if got.Code() != http.StatusBadRequest || !strings.Contains(got.Result.Message, field) {
						t.Errorf("%s: got %d %v, want 400 and the name of the field", path, got.Code(), got.Result)
					}
				}
			}
		})
	}
}

// Huge objects are refused soon, and in few words: a value that is too long is not
// echoed, and of a list that is too long the faults of its legal part are told.
func TestHugeObjects(t *testing.T) {
	const soon, fewWords, wordsForAList = 20 * time.Second, 4 << 10, 32 << 10
	megabyte := strings.Repeat("1", 1<<20)
	quote := func(text string) string {
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	many := func(item string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	old := object(`{"cidr":"10.0.0.0/24","gateway":"10.0.0.1","networkClassName":"standard"}`)
	for name, spec := range map[string]string{
		"a range of a megabyte":       `{"cidr":` + quote(megabyte) + `}`,
		"a gateway of a megabyte":     `{"cidr":"10.0.0.0/24","gateway":` + quote(megabyte) + `}`,
		"a server of a megabyte":      `{"cidr":"10.0.0.0/24","dnsServers":[` + quote(megabyte) + `]}`,
		"a mode of a megabyte":        `{"cidr":"10.0.0.0/24","dhcp":` + quote(megabyte) + `}`,
		"a policy of a megabyte":      `{"cidr":"10.0.0.0/24","deletionPolicy":` + quote(megabyte) + `}`,
		"a class of a megabyte":       `{"cidr":"10.0.0.0/24","networkClassName":` + quote(megabyte) + `}`,
		"ten thousand pools":          `{"cidr":"10.0.0.0/24","allocationPools":` + many(`{"start":"x","end":"y"}`, 10_000) + `}`,
		"ten thousand routes":         `{"cidr":"10.0.0.0/24","routes":` + many(`{"destination":"x","nextHop":"y"}`, 10_000) + `}`,
		"ten thousand servers":        `{"cidr":"10.0.0.0/24","dnsServers":` + many(`"192.0.2.53"`, 10_000) + `}`,
		"ten thousand entries":        `{"cidr":"10.0.0.0/24","additionalSubnets":` + many(`{"cidr":"10.0.0.0/24"}`, 10_000) + `}`,
		"ten thousand sound pools":    `{"cidr":"10.0.0.0/24","allocationPools":` + many(`{"start":"10.0.0.9","end":"10.0.0.9"}`, 10_000) + `}`,
		"ten thousand unknown fields": `{"cidr":"x","shapes":` + many(`{"round":true}`, 10_000) + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			webhooks, few := serve(t), fewWords
			if strings.HasPrefix(name, "ten thousand") {
				few = wordsForAList
			}
			for _, path := range []string{mutate, validate} {
				for _, old := range [][]byte{nil, old} {
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
					if took := time.Since(began); took > soon || len(text) > few {
						t.Errorf("%s: %d characters after %s", path, len(text), took)
					}
				}
			}
		})
	}
}

// Only the validating webhook warns, of a create and of every changed spec.
func TestServedWarnings(t *testing.T) {
	webhooks, spec := serve(t), `{"cidr":"192.168.1.0/16","gateway":"192.168.1.1"%s}`
	hostBits := object(fmt.Sprintf(spec, ""))
	for name, tc := range map[string]struct {
		object, old []byte
		want        int
	}{
		"a create":                        {hostBits, nil, 1},
		"an update of something else":     {object(fmt.Sprintf(spec, `,"mtu":1400`)), hostBits, 1},
		"an update that changes no field": {object(fmt.Sprintf(spec, ""), `"labels":{"a":"b"}`), hostBits, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := webhooks.Ask(t, validate, tc.object, tc.old)
			if !got.Allowed || len(got.Warnings) != tc.want || len(got.Operations) > 0 {
				t.Errorf("got %t, %q, %v; want %d warnings", got.Allowed, got.Warnings, got.Operations, tc.want)
			}
		})
	}
}
