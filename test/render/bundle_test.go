package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/test/env"
)

// standard is what `kubectl apply -k config/default` applies.
func standard(t *testing.T) Bundle {
	t.Helper()
	return build(t, env.Path("config", "default"))
}

// with is the standard with components.
func with(t *testing.T, components ...string) Bundle {
	t.Helper()
	return overlaid(t, chosen(components...))
}

// chosen is what a kustomization says of components.
func chosen(components ...string) string {
	text := "components:\n"
	for _, component := range components {
		text += "  - ROOT/config/components/" + component + "\n"
	}
	return text
}

// overlaid is the standard with what an overlay says; see Overlay.
func overlaid(t *testing.T, text string) Bundle {
	t.Helper()
	dir := t.TempDir()
	if err := Overlay(dir, text); err != nil {
		t.Fatal(err)
	}
	return build(t, dir)
}

// edited is the standard with edits of config/default/kustomization.yaml, each of them
// a text and what takes its place.
func edited(t *testing.T, edits ...string) Bundle {
	t.Helper()
	dir, err := Copy(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "kustomization.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(edits); i += 2 {
		if strings.Count(string(text), edits[i]) != 1 {
			t.Fatalf("%q is not once in %s", edits[i], text)
		}
	}
	if err := os.WriteFile(file, []byte(strings.NewReplacer(edits...).Replace(string(text))), 0o600); err != nil {
		t.Fatal(err)
	}
	return build(t, dir)
}

func build(t *testing.T, dir string) Bundle {
	t.Helper()
	bundle, err := Build(dir)
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

func named[T client.Object](t *testing.T, bundle Bundle, name string) T {
	t.Helper()
	object, err := Named[T](bundle, name)
	if err != nil {
		t.Fatal(err)
	}
	return object
}
