// Package render builds what is applied to a cluster, as kubectl does, and reads it
// strictly.
package render

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/samplecrd/samplecrd/test/env"
)

// Bundle is what a kustomization gives, in kubectl's order.
type Bundle []client.Object

var assets = sync.OnceValues(env.Assets)

// Build renders the kustomization in a folder. A field that its kind does not know, or
// one that is there twice, is an error. Kinds of the Prometheus Operator, which would
// be much to depend on, are read as they are.
func Build(dir string) (Bundle, error) {
	binaries, err := assets()
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	command := exec.Command(filepath.Join(binaries, "kubectl"), "kustomize", dir)
	command.Stderr = &said
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("kubectl kustomize %s: %w: %s", dir, err, said.String())
	}
	return decode(text)
}

func decode(text []byte) (Bundle, error) {
	scheme := env.Scheme()
	if err := certmanagerv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	var bundle Bundle
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return bundle, nil
		}
		if err != nil {
			return nil, err
		}
		object, err := read(decoder, document)
		if err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, document)
		}
		bundle = append(bundle, object)
	}
}

func read(decoder runtime.Decoder, document []byte) (client.Object, error) {
	untyped := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(document, &untyped.Object); err != nil {
		return nil, err
	}
	if untyped.GroupVersionKind().Group == "monitoring.coreos.com" {
		return untyped, nil
	}
	object, kind, err := decoder.Decode(document, nil, nil)
	if err != nil {
		return nil, err
	}
	as, isObject := object.(client.Object)
	if !isObject {
		return nil, fmt.Errorf("%s is no object", kind)
	}
	return as, nil
}

// All gives the objects of one kind.
func All[T client.Object](bundle Bundle) []T {
	var all []T
	for _, object := range bundle {
		if as, is := object.(T); is {
			all = append(all, as)
		}
	}
	return all
}

// Named gives the object of one kind and name.
func Named[T client.Object](bundle Bundle, name string) (T, error) {
	for _, object := range All[T](bundle) {
		if object.GetName() == name {
			return object, nil
		}
	}
	var none T
	return none, fmt.Errorf("there is no %T %q", none, name)
}

// Overlay writes a kustomization of config/default into dir, with what else it says.
// ROOT in it becomes the way to the repository.
func Overlay(dir, text string) error {
	root, err := filepath.Rel(dir, env.Path())
	if err != nil {
		return err
	}
	text = strings.ReplaceAll("resources: [ROOT/config/default]\n"+text, "ROOT", root)
	return os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600)
}

// Copy copies what is applied to a cluster into dir, to be edited there. It gives the
// path of the copy of config/default.
func Copy(dir string) (string, error) {
	for _, part := range []string{"config", filepath.Join("certs", "cert-manager")} {
		if err := os.CopyFS(filepath.Join(dir, part), os.DirFS(env.Path(part))); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "config", "default"), nil
}
