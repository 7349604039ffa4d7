// Package env starts a real control plane for tests and for make run: etcd and
// kube-apiserver with our CRDs and, where wanted, our webhooks. It is the only
// place that does so.
package env

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/samplecrd/samplecrd/apis"
)

// How long the control plane may take; generous, for a loaded machine.
const patience = 2 * time.Minute

// ServiceRange is where the API server gives Services their addresses from: a part of
// what RFC 2544 keeps for benchmarks. envtest's own choice, 10.0.0.0/24, is what
// everybody writes into an example, and a Network there is warned of.
const ServiceRange = "198.18.0.0/24"

// Options choose what is installed on the API server.
type Options struct {
	// Webhooks installs the webhook configurations. Something must then serve at
	// Env.Webhooks; see StartManager.
	Webhooks bool
	// WithoutCRDs installs none of our CRDs.
	WithoutCRDs bool
	// WithoutNAD leaves the kind NetworkAttachmentDefinition out.
	WithoutNAD bool
	// EditCRDs changes our CRDs before they are installed; see Floorless.
	EditCRDs func(*apiextensionsv1.CustomResourceDefinition)
	// Dir keeps the files that others read: the kubeconfig. A new folder if empty.
	Dir string
}

// Env is a running control plane.
type Env struct {
	// Config is an administrator's access to the API server, without a throttle.
	Config *rest.Config
	// Client reads and writes directly, without a cache.
	Client client.Client
	// Scheme knows our kinds and Kubernetes' own.
	Scheme *kruntime.Scheme
	// Webhooks is where the installed configurations point, and the pair to serve
	// there with.
	Webhooks envtest.WebhookInstallOptions
	// Kubeconfig is the path of an administrator's kubeconfig.
	Kubeconfig string
	// Assets is the folder with kubectl.
	Assets string

	control *envtest.Environment
	dir     string
	ownDir  bool
}

// Scheme gives a new scheme with our kinds, Kubernetes' own and CRDs.
func Scheme() *kruntime.Scheme {
	scheme := kruntime.NewScheme()
	for _, add := range []func(*kruntime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, apis.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // Only a programming error can be behind it.
		}
	}
	return scheme
}

// Start starts a control plane. Stop it.
func Start(opts Options) (*Env, error) {
	assets, err := Assets()
	if err != nil {
		return nil, err
	}
	e := &Env{Scheme: Scheme(), Assets: assets, dir: opts.Dir}
	if e.dir == "" {
		if e.dir, err = os.MkdirTemp("", "samplecrd-env-"); err != nil {
			return nil, fmt.Errorf("making a folder: %w", err)
		}
		e.ownDir = true
	}
	e.control = &envtest.Environment{
		Scheme:                   e.Scheme,
		BinaryAssetsDirectory:    assets,
		ControlPlaneStartTimeout: patience,
		ControlPlaneStopTimeout:  patience,
	}
	e.control.ControlPlane.GetAPIServer().Configure().Set("service-cluster-ip-range", ServiceRange)
	if e.control.CRDs, err = crds(opts); err != nil {
		return nil, err
	}
	if opts.Webhooks {
		e.control.WebhookInstallOptions = envtest.WebhookInstallOptions{
			Paths: []string{Path("config", "webhook", "manifests.yaml")}, MaxTime: patience,
		}
	}
	if e.Config, err = e.control.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the control plane: %w", err), e.Stop())
	}
	e.Config.QPS = -1
	e.Webhooks = e.control.WebhookInstallOptions
	if e.Client, err = client.New(e.Config, client.Options{Scheme: e.Scheme}); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	e.Kubeconfig = filepath.Join(e.dir, "kubeconfig")
	if err = os.WriteFile(e.Kubeconfig, e.control.KubeConfig, 0o600); err != nil {
		return nil, errors.Join(err, e.Stop())
	}
	return e, nil
}

// Stop ends the control plane and removes its files.
func (e *Env) Stop() error {
	err := e.control.Stop()
	if e.ownDir {
		err = errors.Join(err, os.RemoveAll(e.dir))
	}
	return err
}

// Assets gives the folder with etcd, kube-apiserver and kubectl; where they come
// from is decided in test/controlplane.
func Assets() (string, error) {
	var out bytes.Buffer
	command := exec.Command("go", "run", ".")
	command.Dir = Path("test", "controlplane")
	command.Stdout, command.Stderr = &out, os.Stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("finding the control plane's binaries: %w", err)
	}
	return strings.TrimSpace(out.String()), nil
}

// Path gives a path in the repository.
func Path(elements ...string) string {
	_, file, _, _ := runtime.Caller(0)
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	return filepath.Join(append([]string{root}, elements...)...)
}

// Floorless takes the CEL rules out of a CRD, so that a bad object can be stored.
func Floorless(crd *apiextensionsv1.CustomResourceDefinition) {
	var strip func(*apiextensionsv1.JSONSchemaProps)
	strip = func(schema *apiextensionsv1.JSONSchemaProps) {
		schema.XValidations = nil
		for name, property := range schema.Properties {
			strip(&property)
			schema.Properties[name] = property
		}
		if schema.Items != nil && schema.Items.Schema != nil {
			strip(schema.Items.Schema)
		}
	}
	for i := range crd.Spec.Versions {
		strip(crd.Spec.Versions[i].Schema.OpenAPIV3Schema)
	}
}

// CRDs reads our CRDs from config/crd.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob(Path("config", "crd", "*_*.yaml"))
	if err != nil {
		return nil, err
	}
	return readCRDs(files...)
}

// NADCRD reads the CRD of NetworkAttachmentDefinition.
func NADCRD() (*apiextensionsv1.CustomResourceDefinition, error) {
	crds, err := readCRDs(Path("test", "env", "nad-crd.yaml"))
	if err != nil {
		return nil, err
	}
	return crds[0], nil
}

func crds(opts Options) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var all []*apiextensionsv1.CustomResourceDefinition
	if !opts.WithoutCRDs {
		ours, err := CRDs()
		if err != nil {
			return nil, err
		}
		if opts.EditCRDs != nil {
			for _, crd := range ours {
				opts.EditCRDs(crd)
			}
		}
		all = append(all, ours...)
	}
	if !opts.WithoutNAD {
		nad, err := NADCRD()
		if err != nil {
			return nil, err
		}
		all = append(all, nad)
	}
	return all, nil
}

func readCRDs(files ...string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		all = append(all, crd)
	}
	return all, nil
}
