package render

import (
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
)

// entry is what webhooks of both kinds have in common.
type entry struct {
	configuration string
	name          string
	rules         []admissionv1.RuleWithOperations
	service       *admissionv1.ServiceReference
	bundle        []byte
	failure       admissionv1.FailurePolicyType
	match         admissionv1.MatchPolicyType
	effects       admissionv1.SideEffectClass
	seconds       int32
}

func entries(bundle Bundle) []entry {
	var all []entry
	for _, c := range All[*admissionv1.MutatingWebhookConfiguration](bundle) {
		for _, w := range c.Webhooks {
			all = append(all, entry{"mutating", w.Name, w.Rules, w.ClientConfig.Service, w.ClientConfig.CABundle, *w.FailurePolicy, *w.MatchPolicy, *w.SideEffects, *w.TimeoutSeconds})
		}
	}
	for _, c := range All[*admissionv1.ValidatingWebhookConfiguration](bundle) {
		for _, w := range c.Webhooks {
			all = append(all, entry{"validating", w.Name, w.Rules, w.ClientConfig.Service, w.ClientConfig.CABundle, *w.FailurePolicy, *w.MatchPolicy, *w.SideEffects, *w.TimeoutSeconds})
		}
	}
	return all
}

func TestWO10WO14WebhooksAreOfOurKindsAlone(t *testing.T) {
	asked := sets.New[string]()
	for _, e := range entries(standard(t)) {
		for _, rule := range e.rules {
			if rule.Scope == nil {
				t.Errorf("%s does not say its rule's scope; see config/webhook/kustomization.yaml", e.name)
			}
			for _, operation := range rule.Operations {
				if operation != admissionv1.Create && operation != admissionv1.Update {
					t.Errorf("%s is asked at %s", e.name, operation)
				}
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					asked.Insert(e.configuration + " " + resource + "." + group)
				}
			}
		}
	}
	want := sets.New(
		"mutating foos.samplecontroller.k8s.io", "mutating networks.samplecrd.k8s.io", "mutating networkclasses.samplecrd.k8s.io",
		"validating foos.samplecontroller.k8s.io", "validating foos/scale.samplecontroller.k8s.io",
		"validating networks.samplecrd.k8s.io", "validating networkclasses.samplecrd.k8s.io",
	)
	if !asked.Equal(want) {
		t.Errorf("asked of %v, want %v", sets.List(asked), sets.List(want))
	}
}

func TestWO33WebhookNames(t *testing.T) {
	seen := sets.New[string]()
	for _, e := range entries(standard(t)) {
		if faults := validation.IsDNS1123Subdomain(e.name); len(faults) > 0 || strings.Count(e.name, ".") < 2 {
			t.Errorf("%q is no DNS name of three parts or more: %v", e.name, faults)
		}
		if key := e.configuration + " " + e.name; seen.Has(key) {
			t.Errorf("%s is there twice", key)
		}
		seen.Insert(e.configuration + " " + e.name)
	}
}

func TestWebhooks(t *testing.T) {
	bundle := standard(t)
	service := named[*corev1.Service](t, bundle, "webhook-service")
	for _, e := range entries(bundle) {
		t.Run(e.configuration+" "+e.name, func(t *testing.T) {
			for fact, holds := range map[string]bool{
				"a refusal stands when nobody answers":     e.failure == admissionv1.Fail,
				"other versions are judged, too":           e.match == admissionv1.Equivalent,
				"a dry run is possible":                    e.effects == admissionv1.SideEffectClassNone,
				"a person does not wait long":              e.seconds == 5,
				"it is our Service that is asked":          e.service.Name == service.Name && e.service.Namespace == service.Namespace,
				"cainjector alone writes whom to trust":    len(e.bundle) == 0,
				"the Service's port is the one of the API": e.service.Port == nil || *e.service.Port == service.Spec.Ports[0].Port,
			} {
				if !holds {
					t.Errorf("%s: does not hold", fact)
				}
			}
		})
	}
}

func TestServicesReachTheManager(t *testing.T) {
	bundle := with(t, "prometheus")
	template := named[*appsv1.Deployment](t, bundle, controller).Spec.Template
	services := All[*corev1.Service](bundle)
	if len(services) != 2 {
		t.Fatalf("%d Services, want that of the webhooks and that of the metrics", len(services))
	}
	for _, service := range services {
		if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(template.Labels)) {
			t.Errorf("Service %s selects other Pods", service.Name)
		}
		for _, port := range service.Spec.Ports {
			if !slices.ContainsFunc(template.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == port.TargetPort.StrVal }) {
				t.Errorf("the manager has no port %v", port.TargetPort)
			}
		}
	}
}

func TestFailOpen(t *testing.T) {
	all := entries(with(t, "fail-open"))
	if len(all) != len(entries(standard(t))) {
		t.Fatalf("%d webhooks", len(all))
	}
	for _, e := range all {
		if e.failure != admissionv1.Ignore {
			t.Errorf("%s %s fails closed", e.configuration, e.name)
		}
	}
}
