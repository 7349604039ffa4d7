package addressing_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// importing is a sound spec that takes over the network of that id.
func importing(id string) *samplecrdv1.NetworkSpec {
	spec := subnets("10.0.0.0/24")
	spec.ImportID = id
	return spec
}

func TestParseImportID(t *testing.T) {
	for name, tc := range map[string]struct {
		id   string
		want []fault
	}{
		"none":                      {"", nil},
		"a UUID":                    {"4f9a5b1e-1c5c-4b7e-9d0a-2f1f8f0c7a11", nil},
		"one without dashes":        {"4F9A5B1E1C5C4B7E9D0A2F1F8F0C7A11", nil},
		"every character there is":  {"azAZ09-_", nil},
		"the longest":               {strings.Repeat("x", 64), nil},
		"one longer":                {strings.Repeat("x", 65), []fault{tooLong("spec.importID")}},
		"a megabyte":                {strings.Repeat("é", 1<<19), []fault{tooLong("spec.importID")}},
		"a space":                   {"an id", []fault{invalid("spec.importID")}},
		"white space around it":     {"abc\n", []fault{invalid("spec.importID")}},
		"a path":                    {"../abc", []fault{invalid("spec.importID")}},
		"a query":                   {"abc?x=y", []fault{invalid("spec.importID")}},
		"letters that are no ASCII": {"idé", []fault{invalid("spec.importID")}},
		"bytes that are no text":    {"a\xff", []fault{invalid("spec.importID")}},
	} {
		t.Run(name, func(t *testing.T) {
			plan, errs := addressing.Parse(importing(tc.id), specPath)
			checkFaults(t, errs, tc.want)
			want := tc.id
			if tc.want != nil {
				want = ""
			}
			if plan.ImportID != want {
				t.Errorf("the plan takes over %q, want %q", plan.ImportID, want)
			}
		})
	}
}

func TestJudgeImport(t *testing.T) {
	imports := func(policy samplecrdv1.ImportPolicy) []limit {
		return []limit{func(s *samplecrdv1.NetworkClassSpec) { s.Import = policy }}
	}
	refused := []fault{forbidden("spec.importID")}
	for name, tc := range map[string]struct {
		limits []limit
		id     string
		want   []fault
	}{
		"allowed":                              {imports(samplecrdv1.ImportAllowed), "abc", nil},
		"forbidden":                            {imports(samplecrdv1.ImportForbidden), "abc", refused},
		"not said, which is forbidden":         {nil, "abc", refused},
		"of no known policy":                   {imports("Yes"), "abc", refused},
		"forbidden, and none asked for":        {imports(samplecrdv1.ImportForbidden), "", nil},
		"forbidden, of what cannot be read":    {imports(samplecrdv1.ImportForbidden), "an id", nil},
		"allowed, of a range that is not":      {append(imports(samplecrdv1.ImportAllowed), allows("172.16.0.0/12")), "abc", []fault{invalid("spec.cidr")}},
		"forbidden, of a range that is not so": {[]limit{allows("172.16.0.0/12")}, "abc", append([]fault{invalid("spec.cidr")}, refused...)},
	} {
		t.Run(name, func(t *testing.T) {
			policy, _ := addressing.ParsePolicy(classWith(tc.limits...))
			plan, _ := addressing.Parse(importing(tc.id), specPath)
			errs := policy.Judge(plan, teamA)
			if got := faultsOf(errs); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", errs, tc.want)
			}
			if said := text(errs); len(errs) > 0 && tc.limits == nil && (!strings.Contains(said, `"tenants"`) || !strings.Contains(said, "import: Allowed") || !strings.Contains(said, "remove it")) {
				t.Errorf("%q names no remedy", said)
			}
		})
	}
}
