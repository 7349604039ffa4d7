package conditions

import (
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestMessage(t *testing.T) {
	exact := strings.Repeat("x", 1024)
	for name, tc := range map[string]struct{ text, want string }{
		"a short one stays":                   {"because", "because"},
		"one of 1024 bytes stays":             {exact, exact},
		"a longer one is cut, and says so":    {exact + "x", exact + "…"},
		"no character is cut in two":          {strings.Repeat("x", 1023) + "网", strings.Repeat("x", 1023) + "…"},
		"nothing to say is nothing to append": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Message(tc.text); got != tc.want || !utf8.ValidString(got) {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	path := field.NewPath("spec", "cidr")
	errs := field.ErrorList{field.Required(path, "write one"), field.Invalid(path, "x", "no range")}
	if got, want := Faults(errs), `spec.cidr: Required value: write one; spec.cidr: Invalid value: "x": no range`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
