// Command openapi prints the schemas of our CRDs as the OpenAPI document that
// applyconfiguration-gen reads, with definitions named like the Go types. From it
// come the Extract functions, and the merge rules of the fake clientset.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(dirs []string) error {
	definitions := map[string]*apiextensionsv1.JSONSchemaProps{}
	for _, dir := range dirs {
		// controller-gen names them by group and plural; the rest is kustomize's.
		files, err := filepath.Glob(filepath.Join(dir, "*_*.yaml"))
		if err != nil {
			return err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			var crd apiextensionsv1.CustomResourceDefinition
			if err := yaml.UnmarshalStrict(text, &crd); err != nil {
				return fmt.Errorf("reading %s: %w", file, err)
			}
			group, _, _ := strings.Cut(crd.Spec.Group, ".")
			for _, version := range crd.Spec.Versions {
				name := fmt.Sprintf("com.github.samplecrd.samplecrd.apis.%s.%s.%s", group, version.Name, crd.Spec.Names.Kind)
				definitions[name] = version.Schema.OpenAPIV3Schema
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"swagger": "2.0", "info": map[string]string{"title": "samplecrd", "version": "none"},
		"paths": map[string]any{}, "definitions": definitions,
	})
}
