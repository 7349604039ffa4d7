package neutron

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/samplecrd/samplecrd/providers"
)

const (
	uidA = types.UID("6f4a6c1e-0000-4000-8000-00000000000a")
	uidB = types.UID("6f4a6c1e-0000-4000-8000-00000000000b")
)

func TestMark(t *testing.T) {
	for name, tc := range map[string]struct {
		description string
		marked      bool
		network     types.UID
		ours        bool
	}{
		"ours":                           {description: mark(uidA, uidB), marked: true, network: uidB, ours: true},
		"another cluster's":              {description: mark(uidB, uidB), marked: true},
		"somebody's words":               {description: "do not touch"},
		"nothing":                        {},
		"a mark without a Network":       {description: mark(uidA, ""), marked: true},
		"words before a mark":            {description: "was " + mark(uidA, uidB)},
		"a cluster whose UID begins so":  {description: mark(uidA+"0", uidB), marked: true},
		"in capitals, as a database may": {description: strings.ToUpper(mark(uidA, uidB))},
	} {
		t.Run(name, func(t *testing.T) {
			network, ours := markedBy(tc.description, uidA)
			if ours != tc.ours || tc.ours && network != tc.network {
				t.Errorf("it is of %q, ours is %t; want %q, %t", network, ours, tc.network, tc.ours)
			}
			if got := marked(tc.description); got != tc.marked {
				t.Errorf("marked is %t, want %t", got, tc.marked)
			}
		})
	}
	if length := len(mark(uidA, uidB)); length > 255 {
		t.Errorf("a mark has %d characters; Neutron stores 255", length)
	}
}

func TestNameOf(t *testing.T) {
	for _, tc := range []struct{ namespace, name, want string }{
		{"default", "example", "default/example"},
		{strings.Repeat("n", 63), strings.Repeat("x", 253), strings.Repeat("n", 63) + "/" + strings.Repeat("x", 191)},
	} {
		got := nameOf(providers.Identity{NamespacedName: types.NamespacedName{Namespace: tc.namespace, Name: tc.name}})
		if got != tc.want || len(got) > longestName {
			t.Errorf("it is %q, want %q", got, tc.want)
		}
	}
}
