package network

import (
	"reflect"
	"strings"
	"testing"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

func imports(id string) change { return func(s *samplecrdv1.NetworkSpec) { s.ImportID = id } }

func TestImportCannotBeChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		old, object string
		want        []fault
	}{
		"the same":            {"abc", "abc", nil},
		"none":                {"", "", nil},
		"changed":             {"abc", "abd", invalid("importID")},
		"added":               {"", "abc", invalid("importID")},
		"removed":             {"abc", "", invalid("importID")},
		"changed to a bad id": {"abc", "a/b", invalid("importID", "importID")},
		"a bad id put right":  {"a/b", "abc", invalid("importID")},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := (&webhook{}).Validate(network(imports(tc.object)), network(imports(tc.old)), &facts{})
			if got := faultsOf(errs); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", errs, tc.want)
			}
			if len(errs) > 0 && !strings.Contains(text(errs), "cannot be changed, added or removed; create another Network") {
				t.Errorf("got %q", text(errs))
			}
		})
	}
}
