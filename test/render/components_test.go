package render

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
)

func TestNetworkPolicy(t *testing.T) {
	bundle := with(t, "network-policy")
	policy := named[*networkingv1.NetworkPolicy](t, bundle, controller).Spec
	template := named[*appsv1.Deployment](t, bundle, controller).Spec.Template
	container := map[string]int32{}
	for _, port := range template.Spec.Containers[0].Ports {
		container[port.Name] = port.ContainerPort
	}
	in, out := policy.Ingress, policy.Egress
	if len(in) != 2 || len(out) != 1 {
		t.Fatalf("%v in, %v out", in, out)
	}
	for name, holds := range map[string]bool{
		"it is of the manager's Pods":               selects(t, &policy.PodSelector, template.Labels),
		"what is not said is forbidden, both ways":  slices.Equal(policy.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}),
		"webhooks are asked from anywhere":          len(in[0].From) == 0 && slices.Equal(ports(in[0].Ports), []int32{container["webhook"]}),
		"metrics are for namespaces with the label": len(in[1].From) == 1 && in[1].From[0].PodSelector == nil && in[1].From[0].NamespaceSelector.MatchLabels["samplecrd.k8s.io/metrics"] == "allowed" && slices.Equal(ports(in[1].Ports), []int32{container["metrics"]}),
		"the API server is reached wherever it is":  len(out[0].To) == 0 && slices.Equal(ports(out[0].Ports), []int32{443, 6443}),
	} {
		t.Run(name, func(t *testing.T) {
			if !holds {
				t.Errorf("does not hold of %v", policy)
			}
		})
	}
}

func ports(of []networkingv1.NetworkPolicyPort) []int32 {
	var all []int32
	for _, port := range of {
		if *port.Protocol == corev1.ProtocolTCP && port.EndPort == nil {
			all = append(all, port.Port.IntVal)
		}
	}
	return all
}

func TestPrometheus(t *testing.T) {
	bundle := with(t, "prometheus")
	service := named[*corev1.Service](t, bundle, "samplecrd-controller-metrics")
	monitor := monitoring(t, bundle, "ServiceMonitor")
	wanted, _, err := unstructured.NestedStringMap(monitor, "spec", "selector", "matchLabels")
	if err != nil || len(wanted) == 0 {
		t.Fatalf("selects %v, %v", wanted, err)
	}
	for key, value := range wanted {
		if service.Labels[key] != value {
			t.Errorf("the monitor looks for %s=%s", key, value)
		}
	}
	endpoints, _, err := unstructured.NestedSlice(monitor, "spec", "endpoints")
	if err != nil || len(endpoints) != 1 || endpoints[0].(map[string]any)["port"] != service.Spec.Ports[0].Name {
		t.Errorf("endpoints are %v, %v", endpoints, err)
	}
}

func TestAlerts(t *testing.T) {
	ofJob := regexp.MustCompile(`\{job="samplecrd-controller-metrics"[,}]`)
	ofWebhooks := regexp.MustCompile(`\{name=~".*samplecrd\|samplecontroller.*"[,}]`)
	severities := []string{"critical", "warning"}
	rules := 0
	groups, _, err := unstructured.NestedSlice(monitoring(t, with(t, "prometheus"), "PrometheusRule"), "spec", "groups")
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups {
		for _, each := range group.(map[string]any)["rules"].([]any) {
			rules++
			rule := each.(map[string]any)
			expression := rule["expr"].(string)
			t.Run(rule["alert"].(string), func(t *testing.T) {
				if !strings.HasPrefix(rule["alert"].(string), "Samplecrd") {
					t.Error("a name that others may have, too")
				}
				// Other processes have metrics of the same names.
				if strings.Count(expression, "{") != len(ofJob.FindAllString(expression, -1))+len(ofWebhooks.FindAllString(expression, -1)) {
					t.Errorf("looks at others' metrics: %s", expression)
				}
				labels, annotations := rule["labels"].(map[string]any), rule["annotations"].(map[string]any)
				if !slices.Contains(severities, labels["severity"].(string)) || annotations["summary"] == nil || annotations["description"] == nil {
					t.Errorf("says %v, %v", labels, annotations)
				}
			})
		}
	}
	if rules < 6 {
		t.Errorf("%d alerts", rules)
	}
}

func monitoring(t *testing.T, bundle Bundle, kind string) map[string]any {
	t.Helper()
	for _, object := range All[*unstructured.Unstructured](bundle) {
		if object.GetKind() == kind && object.GetName() == controller {
			return object.Object
		}
	}
	t.Fatalf("there is no %s", kind)
	return nil
}

// The right to credentials is the own namespace's, one Secret at a time.
func TestNeutron(t *testing.T) {
	bundle := with(t, "neutron")
	const name = "samplecrd-controller-credentials"
	role, binding := named[*rbacv1.Role](t, bundle, name), named[*rbacv1.RoleBinding](t, bundle, name)
	for what, holds := range map[string]bool{
		"it gets Secrets and does nothing else":  rights(role.Rules).Equal(sets.New("get secrets.")),
		"it is of the manager's namespace":       role.Namespace == "samplecrd-system" && binding.Namespace == role.Namespace,
		"the manager has it, and nobody besides": slices.Equal(binding.Subjects, []rbacv1.Subject{{Kind: "ServiceAccount", Name: controller, Namespace: role.Namespace}}),
		"what is bound is that role":             binding.RoleRef == rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		"without the component nothing is read":  !slices.ContainsFunc(All[*rbacv1.Role](standard(t)), func(r *rbacv1.Role) bool { return slices.ContainsFunc(r.Rules, touches("", "secrets")) }),
	} {
		if !holds {
			t.Errorf("%s: does not hold of %v, %v", what, role, binding)
		}
	}
}
