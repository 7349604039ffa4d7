package apis_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// schema is what of a CRD's OpenAPI schema the conventions speak of.
type schema struct {
	Type        string            `json:"type"`
	Format      string            `json:"format"`
	Description string            `json:"description"`
	Enum        []string          `json:"enum"`
	MaxLength   *int64            `json:"maxLength"`
	MaxItems    *int64            `json:"maxItems"`
	Minimum     *float64          `json:"minimum"`
	Maximum     *float64          `json:"maximum"`
	ListType    string            `json:"x-kubernetes-list-type"`
	ListMapKeys []string          `json:"x-kubernetes-list-map-keys"`
	Preserve    bool              `json:"x-kubernetes-preserve-unknown-fields"`
	Default     any               `json:"default"`
	Properties  map[string]schema `json:"properties"`
	Items       *schema           `json:"items"`
	Rules       []map[string]any  `json:"x-kubernetes-validations"`
}

type crd struct {
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Group string `json:"group"`
		Scope string `json:"scope"`
		Names struct {
			Plural     string   `json:"plural"`
			ShortNames []string `json:"shortNames"`
			Categories []string `json:"categories"`
		} `json:"names"`
		Versions []struct {
			Name         string         `json:"name"`
			Subresources map[string]any `json:"subresources"`
			Schema       struct {
				OpenAPIV3Schema schema `json:"openAPIV3Schema"`
			} `json:"schema"`
			Columns []struct {
				Name     string `json:"name"`
				Priority int    `json:"priority"`
			} `json:"additionalPrinterColumns"`
		} `json:"versions"`
	} `json:"spec"`
}

// readCRDs reads what was generated from the types.
func readCRDs(t *testing.T) map[string]crd {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "config", "crd", "*_*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]crd{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var one crd
		if err := yaml.Unmarshal(text, &one); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[one.Metadata.Name] = one
	}
	for _, name := range []string{"networks.samplecrd.k8s.io", "networkclasses.samplecrd.k8s.io", "foos.samplecontroller.k8s.io"} {
		if len(all[name].Spec.Versions) != 1 {
			t.Fatalf("there is no %s of one version", name)
		}
	}
	return all
}

// walk visits every field of our own, and every list's entries.
func (s schema) walk(path string, visit func(path string, s schema)) {
	visit(path, s)
	for name, property := range s.Properties {
		if path == "" && (name == "apiVersion" || name == "kind" || name == "metadata") {
			continue // Kubernetes' own.
		}
		property.walk(path+"."+name, visit)
	}
	if s.Items != nil {
		s.Items.walk(path+"[]", visit)
	}
}

func eachField(t *testing.T, visit func(t *testing.T, path string, s schema)) {
	for name, crd := range readCRDs(t) {
		t.Run(name, func(t *testing.T) {
			seen := 0
			crd.Spec.Versions[0].Schema.OpenAPIV3Schema.walk("", func(path string, s schema) {
				seen++
				visit(t, path, s)
			})
			if seen < 10 {
				t.Errorf("only %d fields were looked at", seen)
			}
		})
	}
}

func TestEveryFieldIsDescribed(t *testing.T) {
	eachField(t, func(t *testing.T, path string, s schema) {
		// An entry of simple values is described by its list.
		if s.Description == "" && (s.Type == "object" || !strings.HasSuffix(path, "[]")) {
			t.Errorf("%q has no description", path)
		}
	})
}

// What a spec says of its own subnet and an entry says of another is one thing.
func TestSubnetsHaveTheSameFields(t *testing.T) {
	spec := readCRDs(t)["networks.samplecrd.k8s.io"].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	entry := spec.Properties["additionalSubnets"].Items
	if len(entry.Properties) != 6 {
		t.Errorf("an entry has %d fields, want 6", len(entry.Properties))
	}
	for name, want := range entry.Properties {
		if !reflect.DeepEqual(spec.Properties[name], want) {
			t.Errorf("spec.%s and spec.additionalSubnets[].%s differ", name, name)
		}
	}
}

// Unbounded strings and lists make CEL too dear, and objects too large.
func TestEveryFieldIsBounded(t *testing.T) {
	eachField(t, func(t *testing.T, path string, s schema) {
		if isLabelSelector(path) {
			return // No marker reaches into Kubernetes' own type; addressing.ParsePolicy bounds it.
		}
		switch s.Type {
		case "string":
			if s.MaxLength == nil && len(s.Enum) == 0 && s.Format != "date-time" {
				t.Errorf("%q is as long as one likes", path)
			}
		case "array":
			if s.MaxItems == nil {
				t.Errorf("%q has as many entries as one likes", path)
			}
		case "integer":
			counted := strings.HasSuffix(path, ".observedGeneration")
			if !counted && (s.Minimum == nil || s.Maximum == nil) {
				t.Errorf("%q is as large or small as one likes", path)
			}
		case "object":
			if len(s.Properties) == 0 || s.Preserve {
				t.Errorf("%q may hold anything", path)
			}
		case "boolean":
			t.Errorf("%q can never have a third value", path)
		default:
			t.Errorf("%q is of type %q", path, s.Type)
		}
	})
}

// isLabelSelector says whether path is a metav1.LabelSelector, or in one.
func isLabelSelector(path string) bool {
	const selector = ".spec.namespaceSelector"
	return path == selector || strings.HasPrefix(path, selector+".")
}

// Server-side apply must know how two managers share a list.
func TestEveryListHasAType(t *testing.T) {
	eachField(t, func(t *testing.T, path string, s schema) {
		if s.Type != "array" {
			return
		}
		switch s.ListType {
		case "atomic", "set":
		case "map":
			for _, key := range s.ListMapKeys {
				if _, there := s.Items.Properties[key]; !there {
					t.Errorf("%q is a map by %q, which its entries do not have", path, key)
				}
			}
			if len(s.ListMapKeys) == 0 {
				t.Errorf("%q is a map by nothing", path)
			}
		default:
			t.Errorf("%q is a list of type %q", path, s.ListType)
		}
	})
}

// WO-27: a group that ends in .k8s.io needs the annotation, and a made-up approval
// would be a lie.
func TestApprovalAnnotation(t *testing.T) {
	for name, crd := range readCRDs(t) {
		if got := crd.Metadata.Annotations["api-approved.kubernetes.io"]; !strings.HasPrefix(got, "unapproved") {
			t.Errorf("%s is approved by %q", name, got)
		}
	}
}

func TestWhatKubectlShows(t *testing.T) {
	for name, want := range map[string]struct {
		scope         string
		shortNames    []string
		columns, wide []string
	}{
		"networks.samplecrd.k8s.io":       {"Namespaced", []string{"snet"}, []string{"CIDR", "Gateway", "Class", "Ready", "Age"}, []string{"Provider", "ID", "Message"}},
		"networkclasses.samplecrd.k8s.io": {"Cluster", nil, []string{"Provider", "Default", "Ready", "Age"}, nil},
		"foos.samplecontroller.k8s.io":    {"Namespaced", nil, []string{"Deployment", "Desired", "Available", "Ready", "Age"}, []string{"Template", "Reason", "Message"}},
	} {
		t.Run(name, func(t *testing.T) {
			crd := readCRDs(t)[name]
			version := crd.Spec.Versions[0]
			var columns, wide []string
			for _, column := range version.Columns {
				if column.Priority == 0 {
					columns = append(columns, column.Name)
				} else {
					wide = append(wide, column.Name)
				}
			}
			if !slices.Equal(columns, want.columns) || !slices.Equal(wide, want.wide) {
				t.Errorf("columns are %v and %v, want %v and %v", columns, wide, want.columns, want.wide)
			}
			if crd.Spec.Scope != want.scope || !slices.Equal(crd.Spec.Names.ShortNames, want.shortNames) || !slices.Contains(crd.Spec.Names.Categories, "samplecrd") {
				t.Errorf("got %s, %+v", crd.Spec.Scope, crd.Spec.Names)
			}
			if _, there := version.Subresources["status"]; !there {
				t.Error("there is no status subresource")
			}
		})
	}
}

// The default stands on the status object: on the field alone it never applies,
// since nobody sends a status. None stands on what depends on other fields.
func TestDefaultsOfTheSchema(t *testing.T) {
	status := map[string]any{"observedGeneration": float64(-1)}
	want := map[string]map[string]any{
		"networks.samplecrd.k8s.io": {".status": status},
		"networkclasses.samplecrd.k8s.io": {
			".status": status, ".spec.deletionPolicy": "Delete", ".spec.import": "Forbidden", ".spec.overlapScope": "Namespace", ".spec.clusterRanges": "Warn",
			".spec.multus.ipam": "HostLocal", ".spec.neutron.cloud": "openstack", ".spec.neutron.driftIntervalSeconds": float64(600),
		},
		"foos.samplecontroller.k8s.io": {".status": status, ".spec.replicas": float64(1)},
	}
	for name, crd := range readCRDs(t) {
		got := map[string]any{}
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema.walk("", func(path string, s schema) {
			if s.Default != nil {
				got[path] = s.Default
			}
		})
		if !reflect.DeepEqual(got, want[name]) {
			t.Errorf("%s has %v, want %v", name, got, want[name])
		}
	}
}
