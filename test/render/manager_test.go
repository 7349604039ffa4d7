package render

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

const controller = "samplecrd-controller"

func TestManager(t *testing.T) {
	bundle := standard(t)
	deployment := named[*appsv1.Deployment](t, bundle, controller)
	pod := deployment.Spec.Template.Spec
	manager := pod.Containers[0]
	rolling := deployment.Spec.Strategy.RollingUpdate
	const drain, ends, spare = 5 * time.Second, 15 * time.Second, 5 * time.Second

	for name, holds := range map[string]bool{
		"there are two replicas":                            *deployment.Spec.Replicas == 2,
		"an old replica goes only when a new one serves":    rolling.MaxUnavailable.IntValue() == 0 && rolling.MaxSurge.IntValue() == 1,
		"there is one container":                            len(pod.Containers) == 1 && len(pod.InitContainers) == 0,
		"one of the replicas leads":                         slices.Contains(manager.Args, "--leader-elect"),
		"the root file system cannot be written":            *manager.SecurityContext.ReadOnlyRootFilesystem,
		"the manager has a token":                           *pod.AutomountServiceAccountToken,
		"others of its account have none by themselves":     !*named[*corev1.ServiceAccount](t, bundle, controller).AutomountServiceAccountToken,
		"it serves while endpoints catch up":                manager.Lifecycle.PreStop.Sleep.Seconds == 10,
		"there is time to drain and to end":                 time.Duration(*pod.TerminationGracePeriodSeconds)*time.Second == 10*time.Second+drain+ends+spare,
		"draining is noticed before it ends":                noticed(manager.ReadinessProbe) < drain,
		"one slow answer does not take a replica out":       manager.ReadinessProbe.FailureThreshold > 1,
		"alive and ready are two questions":                 manager.LivenessProbe.HTTPGet.Path == "/healthz" && manager.ReadinessProbe.HTTPGet.Path == "/readyz",
		"a slow start is no reason to start again":          noticed(manager.StartupProbe) >= time.Minute,
		"the garbage collector knows of the limit":          collects(manager) < manager.Resources.Limits.Memory().Value(),
		"CPU is asked for and not limited":                  !manager.Resources.Requests.Cpu().IsZero() && manager.Resources.Limits.Cpu().IsZero(),
		"it runs where no priority class may be asked for":  pod.PriorityClassName == "",
		"replicas are spread over nodes and zones":          slices.Equal(spread(pod), []string{corev1.LabelHostname, corev1.LabelTopologyZone}),
		"a cluster of one node runs both":                   !slices.ContainsFunc(pod.TopologySpreadConstraints, demanded),
		"nothing shares the node's network or process tree": !pod.HostNetwork && !pod.HostPID && !pod.HostIPC,
	} {
		t.Run(name, func(t *testing.T) {
			if !holds {
				t.Errorf("does not hold of\n%v", deployment.Spec)
			}
		})
	}
}

func noticed(probe *corev1.Probe) time.Duration {
	return time.Duration(probe.PeriodSeconds*probe.FailureThreshold) * time.Second
}

func collects(container corev1.Container) int64 {
	for _, variable := range container.Env {
		if variable.Name == "GOMEMLIMIT" {
			limit := resource.MustParse(strings.TrimSuffix(variable.Value, "B"))
			return limit.Value()
		}
	}
	return 1 << 62
}

func spread(pod corev1.PodSpec) []string {
	var keys []string
	for _, constraint := range pod.TopologySpreadConstraints {
		keys = append(keys, constraint.TopologyKey)
	}
	return keys
}

func demanded(constraint corev1.TopologySpreadConstraint) bool {
	return constraint.WhenUnsatisfiable != corev1.ScheduleAnyway
}

func TestBaseIsOneReplica(t *testing.T) {
	bundle := edited(t, "  - ../components/ha\n", "")
	if replicas := named[*appsv1.Deployment](t, bundle, controller).Spec.Replicas; *replicas != 1 {
		t.Errorf("%d replicas", *replicas)
	}
	if budgets := All[*policyv1.PodDisruptionBudget](bundle); len(budgets) > 0 {
		t.Errorf("a budget of one replica is either none or stops every drain: %v", budgets)
	}
}

func TestDrain(t *testing.T) {
	bundle := standard(t)
	budget := named[*policyv1.PodDisruptionBudget](t, bundle, controller).Spec
	deployment := named[*appsv1.Deployment](t, bundle, controller)
	if budget.MaxUnavailable == nil || budget.MaxUnavailable.IntValue() != 1 || budget.MinAvailable != nil {
		t.Errorf("a drain takes one at a time, however many there are; got %v", budget)
	}
	if *budget.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow {
		t.Error("what does not serve would stop a drain")
	}
	if !selects(t, budget.Selector, deployment.Spec.Template.Labels) {
		t.Error("the budget is of other Pods")
	}
}

func selects(t *testing.T, selector *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	as, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return as.Matches(labels.Set(of))
}

func TestWO04CertificatesAreAFolder(t *testing.T) {
	pod := named[*appsv1.Deployment](t, standard(t), controller).Spec.Template.Spec
	mounts := pod.Containers[0].VolumeMounts
	if len(pod.Volumes) != 1 || len(mounts) != 1 {
		t.Fatalf("volumes %v, mounted %v; want one", pod.Volumes, mounts)
	}
	secret := pod.Volumes[0].Secret
	if secret == nil || secret.SecretName != "samplecrd-webhook-server" || len(secret.Items) > 0 {
		t.Errorf("the volume is %v", pod.Volumes[0])
	}
	if mounts[0].MountPath != "/etc/samplecrd/webhook-certs" || !mounts[0].ReadOnly || mounts[0].SubPath != "" || mounts[0].SubPathExpr != "" {
		t.Errorf("mounted as %v", mounts[0])
	}
	if secrets := All[*corev1.Secret](standard(t)); len(secrets) > 0 {
		t.Errorf("Secrets are cert-manager's to write, the bundle has %v", secrets)
	}
}

// The standard itself is asked, in its newest version, and not a list of fields.
func TestPodSecurity(t *testing.T) {
	bundle := with(t, "network-policy", "prometheus")
	namespace := named[*corev1.Namespace](t, bundle, "samplecrd-system")
	for _, mode := range []string{"enforce", "audit", "warn"} {
		if got := namespace.Labels["pod-security.kubernetes.io/"+mode]; got != string(api.LevelRestricted) {
			t.Errorf("%s is %q", mode, got)
		}
		if got := namespace.Labels["pod-security.kubernetes.io/"+mode+"-version"]; got != api.VersionLatest {
			t.Errorf("the version of %s is %q", mode, got)
		}
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	template := named[*appsv1.Deployment](t, bundle, controller).Spec.Template
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	evaluate := func(pod *corev1.PodSpec) policy.AggregateCheckResult {
		return policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &template.ObjectMeta, pod))
	}
	if result := evaluate(&template.Spec); !result.Allowed {
		t.Error(result.ForbiddenDetail())
	}
	template.Spec.HostNetwork = true
	if evaluate(&template.Spec).Allowed {
		t.Error("the evaluator lets everything pass")
	}
}
