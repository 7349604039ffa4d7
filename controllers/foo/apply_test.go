package foo

import (
	"reflect"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	typedappsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// written is the Deployment after a write of ours, as the API server keeps it but
// for its defaults.
func written(t *testing.T, deployments typedappsv1.DeploymentInterface, foo *samplev1alpha1.Foo, pods *corev1.PodTemplateSpec) *appsv1.Deployment {
	t.Helper()
	deployment, err := deployments.Apply(t.Context(), wantedOf(t, foo, pods), metav1.ApplyOptions{FieldManager: Name, Force: true})
	if err != nil {
		t.Fatal(err)
	}
	return deployment
}

// others is a write of somebody else's.
var others = metav1.UpdateOptions{FieldManager: "somebody"}

// fullTemplate has what makes two ways of writing one thing differ: quantities,
// numbers or names of ports, empty parts, and what the API server has filled in.
func fullTemplate() *corev1.PodTemplateSpec {
	probe := &corev1.Probe{
		ProbeHandler:     corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/healthz", Port: intstr.FromInt32(8080), Scheme: corev1.URISchemeHTTP}},
		TimeoutSeconds:   1,
		PeriodSeconds:    10,
		SuccessThreshold: 1,
		FailureThreshold: 3,
	}
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"team": "shop", labelManagedBy: "helm"}, Annotations: map[string]string{"note": "", "checksum/config": "1"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{
				{
					Name: "web", Image: "registry.example/web:2", ImagePullPolicy: corev1.PullIfNotPresent,
					Args:  []string{"--listen", ""},
					Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}, {ContainerPort: 8080, Protocol: corev1.ProtocolUDP}},
					Env:   []corev1.EnvVar{{Name: "EMPTY"}, {Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "spec.nodeName"}}}},
					Resources: corev1.ResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000m"), corev1.ResourceMemory: resource.MustParse("0.5Gi")},
						Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1073741824")},
					},
					LivenessProbe: probe, SecurityContext: &corev1.SecurityContext{},
					VolumeMounts:             []corev1.VolumeMount{{Name: "scratch", MountPath: "/tmp"}, {Name: "config", MountPath: "/etc/web"}},
					TerminationMessagePath:   "/dev/termination-log",
					TerminationMessagePolicy: corev1.TerminationMessageReadFile,
				},
				{Name: "beside", Image: "registry.example/beside:1"},
			},
			Volumes: []corev1.Volume{
				{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{DefaultMode: new(int32(420)), LocalObjectReference: corev1.LocalObjectReference{Name: "web"}}}},
			},
			Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			TopologySpreadConstraints:     []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{}}},
			Affinity:                      &corev1.Affinity{},
			SecurityContext:               &corev1.PodSecurityContext{},
			RestartPolicy:                 corev1.RestartPolicyAlways,
			DNSPolicy:                     corev1.DNSClusterFirst,
			SchedulerName:                 corev1.DefaultSchedulerName,
			TerminationGracePeriodSeconds: new(int64(30)),
		},
	}
}

// A Deployment that was just written holds what was written, whatever others add,
// so that a Foo at rest is not written again.
func TestHoldsWhatWasWritten(t *testing.T) {
	for name, tc := range map[string]struct {
		pods   *corev1.PodTemplateSpec
		change func(*appsv1.Deployment)
	}{
		"the default container": {},
		"a PodTemplate":         {pods: fullTemplate()},
		"a status":              {change: func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.ObservedGeneration = 2, 1 }},
		"labels and annotations": {pods: fullTemplate(), change: func(d *appsv1.Deployment) {
			d.Labels["theirs"], d.Annotations = "1", map[string]string{"deployment.kubernetes.io/revision": "1"}
			d.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "2026-01-02T03:04:05Z"
		}},
		"fields that are not ours": {pods: fullTemplate(), change: func(d *appsv1.Deployment) {
			d.Spec.RevisionHistoryLimit, d.Spec.Strategy.Type, d.Spec.Paused = new(int32(3)), appsv1.RecreateDeploymentStrategyType, true
		}},
		"a finalizer and another owner": {change: func(d *appsv1.Deployment) {
			d.Finalizers = []string{"example.com/theirs"}
			d.OwnerReferences = append(d.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "theirs"})
		}},
		"a container that is injected": {pods: fullTemplate(), change: func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "injected", Image: "registry.example/injected:1"})
		}},
		"what others add where the template has an empty part": {pods: fullTemplate(), change: func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers[1].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
			d.Spec.Template.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: new(true)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			foo, deployments := newFoo("x", "web"), fake.NewClientset().AppsV1().Deployments("default")
			deployment := written(t, deployments, foo, tc.pods)
			if tc.change != nil {
				tc.change(deployment)
				var err error
				if deployment, err = deployments.Update(t.Context(), deployment, others); err != nil {
					t.Fatal(err)
				}
			}
			before := deployment.DeepCopy()
			if !holds(deployment, wantedOf(t, foo, tc.pods)) {
				t.Error("it is taken for another")
			}
			if !reflect.DeepEqual(deployment, before) {
				t.Error("the Deployment, which is the cache's, was changed")
			}
		})
	}
}

// Whatever of ours was changed is seen, and one write puts it right.
func TestDriftIsPutRight(t *testing.T) {
	container := func(d *appsv1.Deployment) *corev1.Container { return &d.Spec.Template.Spec.Containers[0] }
	for name, change := range map[string]func(*appsv1.Deployment){
		"CF-08: the replicas":        func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(6)) },
		"the replicas, to nothing":   func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(0)) },
		"a label":                    func(d *appsv1.Deployment) { d.Labels["app.kubernetes.io/instance"] = "another" },
		"a label that is gone":       func(d *appsv1.Deployment) { delete(d.Labels, labelManagedBy) },
		"all labels":                 func(d *appsv1.Deployment) { d.Labels = nil },
		"the owner, gone":            func(d *appsv1.Deployment) { d.OwnerReferences = nil },
		"the owner, not controlling": func(d *appsv1.Deployment) { d.OwnerReferences[0].Controller = new(false) },
		"the image":                  func(d *appsv1.Deployment) { container(d).Image = "registry.example/other:1" },
		"a command":                  func(d *appsv1.Deployment) { container(d).Args = []string{"sleep"} },
		"a quantity": func(d *appsv1.Deployment) {
			container(d).Resources.Limits[corev1.ResourceCPU] = resource.MustParse("2")
		},
		"a port of a probe":          func(d *appsv1.Deployment) { container(d).LivenessProbe.HTTPGet.Port = intstr.FromString("http") },
		"a variable that is gone":    func(d *appsv1.Deployment) { container(d).Env = container(d).Env[1:] },
		"a container that is gone":   func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers = d.Spec.Template.Spec.Containers[:1] },
		"a container's name":         func(d *appsv1.Deployment) { container(d).Name = "another" },
		"a label of the Pods":        func(d *appsv1.Deployment) { d.Spec.Template.Labels["team"] = "another" },
		"an annotation of the Pods":  func(d *appsv1.Deployment) { delete(d.Spec.Template.Annotations, "note") },
		"a volume":                   func(d *appsv1.Deployment) { d.Spec.Template.Spec.Volumes[0].EmptyDir = nil },
		"what the Pods tolerate":     func(d *appsv1.Deployment) { d.Spec.Template.Spec.Tolerations = nil },
		"the time the Pods are left": func(d *appsv1.Deployment) { d.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(0)) },
	} {
		t.Run(name, func(t *testing.T) {
			foo, deployments := newFoo("x", "web"), fake.NewClientset().AppsV1().Deployments("default")
			deployment := written(t, deployments, foo, fullTemplate())
			change(deployment)
			drifted, err := deployments.Update(t.Context(), deployment, others)
			if err != nil {
				t.Fatal(err)
			}
			if holds(drifted, wantedOf(t, foo, fullTemplate())) {
				t.Error("it is not seen")
			}
			if !holds(written(t, deployments, foo, fullTemplate()), wantedOf(t, foo, fullTemplate())) {
				t.Error("it is not put right")
			}
		})
	}
}

// A change of what is asked is seen, and what is no longer asked for goes.
func TestChangesAreCarriedOut(t *testing.T) {
	for name, change := range map[string]func(*samplev1alpha1.Foo, *corev1.PodTemplateSpec){
		"more replicas": func(f *samplev1alpha1.Foo, _ *corev1.PodTemplateSpec) { f.Spec.Replicas = new(int32(5)) },
		"CF-09: replicas that are taken off are 1": func(f *samplev1alpha1.Foo, _ *corev1.PodTemplateSpec) { f.Spec.Replicas = nil },
		"another image": func(_ *samplev1alpha1.Foo, p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Image = "registry.example/web:3"
		},
		"a label less":       func(_ *samplev1alpha1.Foo, p *corev1.PodTemplateSpec) { delete(p.Labels, "team") },
		"an annotation less": func(_ *samplev1alpha1.Foo, p *corev1.PodTemplateSpec) { delete(p.Annotations, "note") },
		"no annotation":      func(_ *samplev1alpha1.Foo, p *corev1.PodTemplateSpec) { p.Annotations = nil },
		"a container less":   func(_ *samplev1alpha1.Foo, p *corev1.PodTemplateSpec) { p.Spec.Containers = p.Spec.Containers[:1] },
		"another order":      func(_ *samplev1alpha1.Foo, p *corev1.PodTemplateSpec) { slices.Reverse(p.Spec.Containers) },
		"a variable less": func(_ *samplev1alpha1.Foo, p *corev1.PodTemplateSpec) {
			p.Spec.Containers[0].Env = p.Spec.Containers[0].Env[1:]
		},
		"a quantity less": func(_ *samplev1alpha1.Foo, p *corev1.PodTemplateSpec) {
			delete(p.Spec.Containers[0].Resources.Limits, corev1.ResourceCPU)
		},
		"an empty part less": func(_ *samplev1alpha1.Foo, p *corev1.PodTemplateSpec) { p.Spec.Affinity = nil },
		"all but a container": func(_ *samplev1alpha1.Foo, p *corev1.PodTemplateSpec) {
			*p = corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: p.Spec.Containers[1:]}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			foo, pods, deployments := newFoo("x", "web"), fullTemplate(), fake.NewClientset().AppsV1().Deployments("default")
			before := written(t, deployments, foo, pods)
			change(foo, pods)
			if holds(before, wantedOf(t, foo, pods)) {
				t.Error("it is not seen")
			}
			after := written(t, deployments, foo, pods)
			if !holds(after, wantedOf(t, foo, pods)) {
				t.Error("it is not carried out")
			}
			if want := desiredOf(t, foo, pods); !equality.Semantic.DeepEqual(after.Spec, want.Spec) {
				t.Errorf("got  %+v\nwant %+v", after.Spec, want.Spec)
			}
		})
	}
}

// What others wrote is not ours, even if it is what we want: a Deployment is ours
// once we have written it.
func TestHoldsNothingOfOthers(t *testing.T) {
	foo := newFoo("x", "web")
	mine := written(t, fake.NewClientset().AppsV1().Deployments("default"), foo, nil)
	with := func(change func(*metav1.ManagedFieldsEntry)) *appsv1.Deployment {
		d := mine.DeepCopy()
		for i := range d.ManagedFields {
			change(&d.ManagedFields[i])
		}
		return d
	}
	slim, err := Slim(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, deployment := range map[string]*appsv1.Deployment{
		"one of another manager":      with(func(e *metav1.ManagedFieldsEntry) { e.Manager = "somebody" }),
		"one that was updated":        with(func(e *metav1.ManagedFieldsEntry) { e.Operation = metav1.ManagedFieldsOperationUpdate }),
		"one whose status is managed": with(func(e *metav1.ManagedFieldsEntry) { e.Subresource = "status" }),
		"one that nobody manages":     desiredOf(t, foo, nil),
		"one of which little is kept": slim.(*appsv1.Deployment),
	} {
		t.Run(name, func(t *testing.T) {
			if holds(deployment, wantedOf(t, foo, nil)) {
				t.Error("it is taken for ours")
			}
		})
	}
}

// A name that somebody has written twice, which the API server allows, makes the
// Deployment one that only the API server can read: it is asked.
func TestHoldsNothingThatCannotBeRead(t *testing.T) {
	foo, deployments := newFoo("x", "web"), fake.NewClientset().AppsV1().Deployments("default")
	deployment := written(t, deployments, foo, nil)
	deployment.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "A", Value: "2"}}
	if holds(deployment, wantedOf(t, foo, nil)) {
		t.Error("it is taken for what it may not be")
	}
	deployment.Spec.Template.Spec.Containers[0].Env = deployment.Spec.Template.Spec.Containers[0].Env[:1]
	if !holds(deployment, wantedOf(t, foo, nil)) {
		t.Error("it is taken for another for ever")
	}
}
