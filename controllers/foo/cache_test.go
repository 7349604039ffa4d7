package foo

import (
	"reflect"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/scaling"
)

// busy is a Deployment of another's with everything in it.
func busy() *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "web", UID: "uid", ResourceVersion: "7", Generation: 3,
			CreationTimestamp: metav1.NewTime(time.Unix(1000, 0)), DeletionTimestamp: new(metav1.NewTime(time.Unix(2000, 0))),
			Labels: map[string]string{"app": "web", labelManagedBy: "helm"},
			Annotations: map[string]string{
				"deployment.kubernetes.io/revision": "1", samplev1alpha1.AnnotationAdoptBy: "x",
				corev1.LastAppliedConfigAnnotation: strings.Repeat("x", 1<<10),
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "uid-of-c", Controller: new(true)}},
			Finalizers:      []string{"f"},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"k8s.v1.cni.cncf.io/networks": "net"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web"}}},
			},
		},
		Status: appsv1.DeploymentStatus{Replicas: 3, Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable}}},
	}
}

func slim(t *testing.T, object any) any {
	t.Helper()
	got, err := Slim(object)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Of another's Deployment only what tells whose it is stays: names, labels,
// annotations, owners, the selector and the annotations of its Pods.
func TestSlimOfAnothers(t *testing.T) {
	given := busy()
	want := &appsv1.Deployment{
		TypeMeta: given.TypeMeta,
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "web", UID: "uid", ResourceVersion: "7",
			DeletionTimestamp: given.DeletionTimestamp,
			Labels:            given.Labels,
			Annotations:       map[string]string{"deployment.kubernetes.io/revision": "1", samplev1alpha1.AnnotationAdoptBy: "x"},
			OwnerReferences:   given.OwnerReferences,
		},
		Spec: appsv1.DeploymentSpec{
			Selector: given.Spec.Selector,
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: given.Spec.Template.Annotations}},
		},
	}
	got := slim(t, given)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	// client-go may hand over what was transformed already.
	if again := slim(t, got); !reflect.DeepEqual(again, want) {
		t.Errorf("the second time it becomes %+v", again)
	}
}

func TestSlim(t *testing.T) {
	with := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
		d := busy()
		change(d)
		return d
	}
	owner := func(d *appsv1.Deployment) *metav1.OwnerReference { return &d.OwnerReferences[0] }
	ours := func(d *appsv1.Deployment) {
		*owner(d) = *metav1.NewControllerRef(newFoo("x", "web"), samplev1alpha1.SchemeGroupVersion.WithKind("Foo"))
	}
	for name, tc := range map[string]struct {
		object any
		whole  bool
	}{
		"another's":                               {busy(), false},
		"nobody's":                                {with(func(d *appsv1.Deployment) { d.OwnerReferences, d.Labels = nil, nil }), false},
		"one without annotations":                 {with(func(d *appsv1.Deployment) { d.Annotations = nil }), false},
		"one that a Foo controls":                 {with(ours), true},
		"one that is labelled as ours":            {with(func(d *appsv1.Deployment) { d.Labels[labelManagedBy] = "samplecrd-controller" }), true},
		"a restored one, labelled, without owner": {with(func(d *appsv1.Deployment) { d.Labels[labelManagedBy], d.OwnerReferences = managedBy, nil }), true},
		"one that a Foo owns but does not control": {with(func(d *appsv1.Deployment) {
			ours(d)
			owner(d).Controller = new(false)
		}), false},
		"one of the Foo of another group": {with(func(d *appsv1.Deployment) {
			ours(d)
			owner(d).APIVersion = "example.com/v1alpha1"
		}), false},
		"one of a Deployment's ReplicaSet": {with(func(d *appsv1.Deployment) { owner(d).APIVersion, owner(d).Kind = "apps/v1", "ReplicaSet" }), false},
		"a tombstone":                      {toolscache.DeletedFinalStateUnknown{Key: "default/web", Obj: busy()}, true},
		"a tombstone of nothing":           {toolscache.DeletedFinalStateUnknown{Key: "default/web"}, true},
		"another kind":                     {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", ManagedFields: []metav1.ManagedFieldsEntry{{}}}}, true},
		"nothing":                          {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := slim(t, tc.object)
			if whole := reflect.DeepEqual(got, tc.object); whole != tc.whole {
				t.Errorf("whole is %t: %+v", whole, got)
			}
			if again := slim(t, got); !reflect.DeepEqual(again, got) {
				t.Errorf("the second time it becomes %+v", again)
			}
		})
	}
}

// A Deployment that is kept whole has what holds reads; so little is left of a
// large one of another's that thousands do not matter.
func TestSlimKeepsWhatIsRead(t *testing.T) {
	d := desiredOf(t, newFoo("x", "web"), fullTemplate())
	d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: Name}}
	if got := slim(t, d).(*appsv1.Deployment); len(got.ManagedFields) != 1 {
		t.Error("managed fields are gone")
	}
	d.OwnerReferences, d.Labels = nil, nil
	got := slim(t, d).(*appsv1.Deployment)
	if !scaling.Selects(got.Spec.Selector, "x", "web") {
		t.Error("the selector, which adoption compares, is gone")
	}
	if len(got.ManagedFields) > 0 || len(got.Spec.Template.Spec.Containers) > 0 {
		t.Errorf("too much is left: %+v", got)
	}
}

// The cache finds objects by what they have, and by nothing else.
func TestIndexes(t *testing.T) {
	named, other, without := newFoo("named", "web"), newFoo("other", "db"), newFoo("without", "")
	named.Spec.PodTemplateName = "large"
	mine, theirs := desiredOf(t, named, nil), desiredOf(t, newFoo("restored", "db"), nil)
	mine.OwnerReferences = append([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "uid-of-c"}}, mine.OwnerReferences...)
	theirs.OwnerReferences = nil
	r := newReconciler(t, named, other, without, mine, theirs)
	for name, tc := range map[string]struct {
		list  client.ObjectList
		field string
		value string
		want  int
	}{
		"Foos by the Deployment they name":        {&samplev1alpha1.FooList{}, samplev1alpha1.FieldDeploymentName, "web", 1},
		"no Foos by one that none names":          {&samplev1alpha1.FooList{}, samplev1alpha1.FieldDeploymentName, "we", 0},
		"Foos by their template":                  {&samplev1alpha1.FooList{}, fieldPodTemplateName, "large", 1},
		"Deployments by their controller":         {&appsv1.DeploymentList{}, fieldController, "uid-of-named", 1},
		"no Deployments by who only owns them":    {&appsv1.DeploymentList{}, fieldController, "uid-of-c", 0},
		"no Deployments by nobody":                {&appsv1.DeploymentList{}, fieldController, "", 0},
		"no Deployments by one who controls none": {&appsv1.DeploymentList{}, fieldController, "uid-of-other", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if err := r.client.List(t.Context(), tc.list, client.InNamespace("default"), client.MatchingFields{tc.field: tc.value}); err != nil {
				t.Fatal(err)
			}
			if got := reflect.ValueOf(tc.list).Elem().FieldByName("Items").Len(); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}
