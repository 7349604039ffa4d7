package certs_test

import (
	"slices"
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/render"
)

const (
	root      = "samplecrd-webhook-ca"
	leaf      = "samplecrd-webhook-server"
	namespace = "samplecrd-system"
)

// component is the bundle, decoded strictly into cert-manager's types: what they do not
// know, cert-manager would ignore.
func component(t *testing.T) render.Bundle {
	t.Helper()
	bundle, err := render.Build(env.Path("config", "default"))
	if err != nil {
		t.Fatal(err)
	}
	return bundle
}

func named[T client.Object](t *testing.T, bundle render.Bundle, name string) T {
	t.Helper()
	object, err := render.Named[T](bundle, name)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func TestCertificates(t *testing.T) {
	bundle := component(t)
	service := named[*corev1.Service](t, bundle, "webhook-service")
	ca := named[*certmanagerv1.Certificate](t, bundle, root).Spec
	pair := named[*certmanagerv1.Certificate](t, bundle, leaf).Spec
	const day = 24 * time.Hour

	for name, holds := range map[string]bool{
		"the root is a root":                                ca.IsCA && ca.CommonName == root && len(ca.DNSNames) == 0,
		"the root lives for ten years":                      ca.Duration.Duration == 3650*day,
		"the root keeps its key when it is renewed":         ca.PrivateKey.RotationPolicy == certmanagerv1.RotationPolicyNever,
		"the root's key is on P-256":                        ca.PrivateKey.Algorithm == certmanagerv1.ECDSAKeyAlgorithm && ca.PrivateKey.Size == 256,
		"the root is signed by itself":                      issuer(t, bundle, ca).SelfSigned != nil,
		"the root's Secret is the one that signs the pair":  issuer(t, bundle, pair).CA.SecretName == ca.SecretName,
		"the pair can sign nothing":                         !pair.IsCA,
		"the pair lives for ninety days":                    pair.Duration.Duration == 90*day,
		"the pair is renewed thirty days before its end":    pair.RenewBefore.Duration == 30*day && pair.RenewBeforePercentage == nil,
		"the pair has a new key each time":                  pair.PrivateKey.RotationPolicy == certmanagerv1.RotationPolicyAlways,
		"the pair's key is on P-256":                        pair.PrivateKey.Algorithm == certmanagerv1.ECDSAKeyAlgorithm && pair.PrivateKey.Size == 256,
		"the pair serves, and nothing else":                 slices.Equal(pair.Usages, []certmanagerv1.KeyUsage{certmanagerv1.UsageDigitalSignature, certmanagerv1.UsageServerAuth}),
		"the names are those by which the Service is asked": slices.Equal(pair.DNSNames, []string{service.Name + "." + namespace + ".svc", service.Name + "." + namespace + ".svc.cluster.local"}),
		"the pair has no other names":                       pair.CommonName == "" && len(pair.IPAddresses)+len(pair.URIs)+len(pair.EmailAddresses) == 0,
		"the pair is what the manager mounts":               named[*appsv1.Deployment](t, bundle, "samplecrd-controller").Spec.Template.Spec.Volumes[0].Secret.SecretName == pair.SecretName,
	} {
		t.Run(name, func(t *testing.T) {
			if !holds {
				t.Errorf("does not hold of\n%v\n%v", ca, pair)
			}
		})
	}
}

// issuer gives who signs a certificate, which is in the bundle.
func issuer(t *testing.T, bundle render.Bundle, of certmanagerv1.CertificateSpec) certmanagerv1.IssuerSpec {
	t.Helper()
	if of.IssuerRef.Group != "cert-manager.io" || of.IssuerRef.Kind != certmanagerv1.IssuerKind {
		t.Fatalf("issued by %v", of.IssuerRef)
	}
	return named[*certmanagerv1.Issuer](t, bundle, of.IssuerRef.Name).Spec
}

func TestWO26CertificatesShareNothing(t *testing.T) {
	bundle := component(t)
	certificates := render.All[*certmanagerv1.Certificate](bundle)
	if len(certificates) != 2 {
		t.Fatalf("%d Certificates", len(certificates))
	}
	secrets := map[string]string{}
	for _, certificate := range certificates {
		if other, taken := secrets[certificate.Spec.SecretName]; taken {
			t.Errorf("%s and %s are both stored in %s", other, certificate.Name, certificate.Spec.SecretName)
		}
		secrets[certificate.Spec.SecretName] = certificate.Name
	}
}

func TestRootIsInjectedByCainjector(t *testing.T) {
	bundle := component(t)
	want := map[string]string{certmanagerv1.WantInjectAnnotation: namespace + "/" + root}
	for name, got := range map[string]map[string]string{
		"mutating":   named[*admissionv1.MutatingWebhookConfiguration](t, bundle, "samplecrd-controller").Annotations,
		"validating": named[*admissionv1.ValidatingWebhookConfiguration](t, bundle, "samplecrd-controller").Annotations,
	} {
		for key, value := range want {
			if got[key] != value {
				t.Errorf("%s: %s is %q, want %q", name, key, got[key], value)
			}
		}
	}
}

func TestManagerReadsCertificatesOfItsNamespaceOnly(t *testing.T) {
	bundle := component(t)
	role := named[*rbacv1.Role](t, bundle, "samplecrd-controller-certificates")
	if role.Namespace != namespace || len(role.Rules) != 1 {
		t.Fatalf("%v", role)
	}
	rule := role.Rules[0]
	if !slices.Equal(rule.APIGroups, []string{"cert-manager.io"}) || !slices.Equal(rule.Resources, []string{"certificates"}) {
		t.Errorf("%v", rule)
	}
	for _, verb := range rule.Verbs {
		if !slices.Contains([]string{"get", "list", "watch"}, verb) {
			t.Errorf("may %s its Certificate", verb)
		}
	}
}
