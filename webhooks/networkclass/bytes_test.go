package networkclass

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/samplecrd/samplecrd/test/review"
)

// The paths are those of config/webhook.
var paths = []string{"/mutate-samplecrd-k8s-io-v1-networkclass", "/validate-samplecrd-k8s-io-v1-networkclass"}

// object writes a NetworkClass as a client sends it, after the schema's defaults.
func object(spec string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"samplecrd.k8s.io/v1","kind":"NetworkClass","metadata":{"name":"x","creationTimestamp":null},"spec":%s,"status":{"observedGeneration":-1}}`, spec)
}

// constants are what the schema fills in.
const constants = `"overlapScope":"Namespace","clusterRanges":"Warn","import":"Forbidden","deletionPolicy":"Delete"}`

// cloud is sound and of Neutron, after the schema's defaults.
const cloud = `{"provider":"Neutron","neutron":{"credentialsSecretName":"openstack","cloud":"openstack","driftIntervalSeconds":600},` + constants

const sound = `{"provider":"Multus","multus":{"type":"Bridge","ipam":"HostLocal"},` + constants

// Nothing is filled in, so that nothing is patched, whatever stands in the object.
func TestNoPatch(t *testing.T) {
	webhooks := review.Serve(t, Setup)
	for name, tc := range map[string]struct{ object, old []byte }{
		"a create":                         {object(sound), nil},
		"fields that this build knows not": {object(`{"provider":"Multus","multus":{"type":"Bridge","ipam":"HostLocal","colour":"blue"},"allowedCIDRs":[],"allowed":[],` + constants), nil},
		"a create of Neutron":              {object(cloud), nil},
		"fields of neutron that are empty": {object(strings.Replace(cloud, `"cloud"`, `"projectID":"","networkType":"","physicalNetwork":"","colour":"blue","cloud"`, 1)), nil},
		"an update of Neutron":             {object(strings.Replace(cloud, `600`, `60`, 1)), object(cloud)},
		"an update":                        {object(strings.Replace(sound, `"Delete"`, `"Retain"`, 1)), object(sound)},
		"an update that changes nothing":   {object(`{"provider":"bad"}`), object(`{"provider":"bad"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range paths {
				got := webhooks.Ask(t, path, tc.object, tc.old)
				if !got.Allowed || len(got.Operations) > 0 || len(got.Warnings) > 0 {
					t.Errorf("%s: got %v %v %q", path, got.Result, got.Operations, got.Warnings)
				}
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	webhooks := review.Serve(t, Setup)
	for name, tc := range map[string]struct {
		object, old []byte
		want        []string
	}{
		"a thrice-bad object":         {object(`{"provider":"Multus","multus":{"type":"x","ipam":"HostLocal","vlanID":0},"overlapScope":"z",` + strings.Replace(constants, `"overlapScope":"Namespace",`, "", 1)), nil, []string{"spec.multus.type", "spec.multus.vlanID", "spec.overlapScope"}},
		"no spec at all":              {[]byte(`{"apiVersion":"samplecrd.k8s.io/v1","kind":"NetworkClass","metadata":{"name":"x"}}`), nil, []string{"spec.provider"}},
		"an empty spec":               {object(`{` + constants), nil, []string{"spec.provider"}},
		"a provider without its part": {object(`{"provider":"Multus",` + constants), nil, []string{"spec.multus"}},
		"a policy with two faults":    {object(strings.Replace(sound, `"clusterRanges"`, `"allowedCIDRs":["10.0.0.0"],"prefixLengths":{"ipv4":{"min":33}},"clusterRanges"`, 1)), nil, []string{"spec.allowedCIDRs[0]", "spec.prefixLengths.ipv4.min"}},
		"a scope that is changed":     {object(strings.Replace(sound, `"Namespace"`, `"Class"`, 1)), object(sound), []string{"spec.overlapScope"}},
		"Neutron without its part":    {object(`{"provider":"Neutron",` + constants), nil, []string{"spec.neutron"}},
		"Neutron in another cloud":    {object(strings.Replace(cloud, `"cloud":"openstack"`, `"cloud":"other","segmentationID":7`, 1)), object(cloud), []string{"spec.neutron.segmentationID", "spec.neutron.cloud", "spec.neutron.segmentationID"}},
		"a VLAN that is only added":   {object(strings.Replace(sound, `"type"`, `"vlanID":7,"type"`, 1)), object(sound), []string{"spec.multus"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range paths {
				got := webhooks.Ask(t, path, tc.object, tc.old)
				if got.Code() != http.StatusUnprocessableEntity || !reflect.DeepEqual(got.Causes(), tc.want) {
					t.Errorf("%s: got %d for %v, want 422 for %v", path, got.Code(), got.Causes(), tc.want)
				}
			}
		})
	}
}

// A wrong type is the decoder's to refuse, by the name of the field.
func TestWrongType(t *testing.T) {
	webhooks := review.Serve(t, Setup)
	for field, spec := range map[string]string{
		"provider":         `{"provider":1}`,
		"multus":           `{"provider":"Multus","multus":"Bridge"}`,
		"vlanID":           `{"provider":"Multus","multus":{"type":"Bridge","vlanID":"7"}}`,
		"segmentationID":   `{"provider":"Neutron","neutron":{"credentialsSecretName":"x","segmentationID":"7"}}`,
		"allowedCIDRs":     `{"provider":"Multus","allowedCIDRs":"10.0.0.0/8"}`,
		"ipv4":             `{"provider":"Multus","prefixLengths":{"ipv4":24}}`,
		"matchExpressions": `{"provider":"Multus","namespaceSelector":{"matchExpressions":{}}}`,
		"spec":             `[]`,
	} {
		t.Run(field, func(t *testing.T) {
			for _, path := range paths {
				for _, old := range [][]byte{nil, object(sound)} {
					got := webhooks.Ask(t, path, object(spec), old)
					if got.Code() != http.StatusBadRequest || !strings.Contains(got.Result.Message, field) {
						t.Errorf("%s: got %d %v, want 400 and the name of the field", path, got.Code(), got.Result)
					}
				}
			}
		})
	}
}
