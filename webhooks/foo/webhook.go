// Package foo admits Foos, and what is written to their scale.
package foo

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/scaling"
	"github.com/samplecrd/samplecrd/webhooks/gate"
)

// The webhooks are not called for an update that leaves the spec alone: labels,
// finalizers and no-op writes need no answer.
//
// +kubebuilder:webhook:name=default.foo.samplecontroller.k8s.io,mutating=true,path=/mutate-samplecontroller-k8s-io-v1alpha1-foo,groups=samplecontroller.k8s.io,versions=v1alpha1,resources=foos,verbs=create;update,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,admissionReviewVersions=v1,patch=`{"matchConditions":[{"name":"spec-changed","expression":"request.operation == 'CREATE' || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec"}]}`
// +kubebuilder:webhook:name=validate.foo.samplecontroller.k8s.io,mutating=false,path=/validate-samplecontroller-k8s-io-v1alpha1-foo,groups=samplecontroller.k8s.io,versions=v1alpha1,resources=foos,verbs=create;update,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,admissionReviewVersions=v1,patch=`{"matchConditions":[{"name":"spec-changed","expression":"request.operation == 'CREATE' || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec"}]}`
// +kubebuilder:webhook:name=scale.foo.samplecontroller.k8s.io,mutating=false,path=/validate-samplecontroller-k8s-io-v1alpha1-foo-scale,groups=samplecontroller.k8s.io,versions=v1alpha1,resources=foos/scale,verbs=update,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,admissionReviewVersions=v1,patch=`{"matchConditions":[{"name":"spec-changed","expression":"!has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec"}]}`
//
// +kubebuilder:rbac:groups=samplecontroller.k8s.io,resources=foos,verbs=list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=namespaces;podtemplates,verbs=list;watch

// scalePath is where the scale of Foos is judged.
const scalePath = "/validate-samplecontroller-k8s-io-v1alpha1-foo-scale"

// webhook brings Foo to the gate.
type webhook struct {
	reader client.Reader
	// maxReplicas is the manager's limit.
	maxReplicas int32
}

// facts are what the rules need to know besides the Foo.
type facts struct {
	limit scaling.Limit
	// limitWarning says that the namespace's limit cannot be read.
	limitWarning string
	// deployment is the one that the Foo names; nil when there is none.
	deployment *appsv1.Deployment
	// rivals are the names of other Foos that name the same Deployment.
	rivals []string
	// templateMissing says that the PodTemplate that the Foo names is not there.
	templateMissing bool
}

// Setup serves the webhooks of Foo. maxReplicas is the largest number of replicas
// that any Foo may ask for.
func Setup(mgr ctrl.Manager, maxReplicas int32) error {
	w := &webhook{reader: mgr.GetClient(), maxReplicas: maxReplicas}
	if err := gate.Register(mgr, &samplev1alpha1.Foo{}, w); err != nil {
		return err
	}
	return gate.RegisterValidator(mgr, &autoscalingv1.Scale{}, scalePath, &scaleWebhook{w})
}

// SameSpec compares as the API server does.
func (w *webhook) SameSpec(a, b *samplev1alpha1.Foo) bool {
	return equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// Gather reads the namespace, and what stands under the names that the Foo has,
// all from the cache.
func (w *webhook) Gather(ctx context.Context, foo, _ *samplev1alpha1.Foo) (*facts, error) {
	known := &facts{}
	var err error
	if known.limit, known.limitWarning, err = w.limit(ctx, foo.Namespace); err != nil {
		return known, err
	}
	if name := foo.Spec.DeploymentName; name != "" {
		var deployment appsv1.Deployment
		there, err := w.read(ctx, foo.Namespace, name, &deployment)
		if err != nil {
			return known, err
		}
		if there {
			known.deployment = &deployment
		}
		var foos samplev1alpha1.FooList
		if err := w.reader.List(ctx, &foos, client.InNamespace(foo.Namespace), client.MatchingFields{samplev1alpha1.FieldDeploymentName: name}, client.UnsafeDisableDeepCopy); err != nil {
			return known, err
		}
		for i := range foos.Items {
			if foos.Items[i].Name != foo.Name {
				known.rivals = append(known.rivals, foos.Items[i].Name)
			}
		}
	}
	if name := foo.Spec.PodTemplateName; name != "" {
		there, err := w.read(ctx, foo.Namespace, name, &corev1.PodTemplate{})
		if err != nil {
			return known, err
		}
		known.templateMissing = !there
	}
	return known, nil
}

// limit gives the limit of replicas in a namespace.
func (w *webhook) limit(ctx context.Context, namespace string) (limit scaling.Limit, warning string, err error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := client.IgnoreNotFound(w.reader.Get(ctx, types.NamespacedName{Name: namespace}, object)); err != nil {
		return limit, "", err
	}
	limit, warning = scaling.LimitOf(w.maxReplicas, object.Annotations)
	return limit, warning, nil
}

func (w *webhook) read(ctx context.Context, namespace, name string, object client.Object) (there bool, err error) {
	err = w.reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, object)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// Default fills in the replicas, as the CRD's schema does.
func (w *webhook) Default(foo, _ *samplev1alpha1.Foo, _ *facts) {
	if foo.Spec.Replicas == nil {
		foo.Spec.Replicas = new(scaling.DefaultReplicas)
	}
}
