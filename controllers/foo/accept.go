package foo

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/controllers/conditions"
	"github.com/samplecrd/samplecrd/controllers/pace"
	"github.com/samplecrd/samplecrd/scaling"
)

// accept judges the Foo again, since the webhooks may have been away, and whether
// the name of its Deployment is its to use.
func (r *Reconciler) accept(ctx context.Context, p *pass) (bool, error) {
	if errs := scaling.Validate(&p.foo.Spec, field.NewPath("spec")); len(errs) > 0 {
		return p.wait(samplev1alpha1.FooReasonInvalid, conditions.Faults(errs))
	}
	if p.deployment == nil {
		older, err := r.olderRival(ctx, p.foo)
		if err != nil || older == "" {
			return err == nil, err
		}
		return p.blocked("is left to Foo " + older + ", which is older")
	}
	switch owner := metav1.GetControllerOf(p.deployment); {
	case p.deployment.DeletionTimestamp != nil:
		return p.wait(samplev1alpha1.FooReasonProgressing, fmt.Sprintf("Deployment %s is being deleted and will be made anew", p.deployment.Name))
	case metav1.IsControlledBy(p.deployment, p.foo), scaling.Adoptable(p.deployment, p.deployment.Spec.Selector, p.foo):
		return true, nil
	case isFoo(owner) && owner.Name == p.foo.Name:
		return p.wait(samplev1alpha1.FooReasonProgressing, fmt.Sprintf("Deployment %s belongs to an earlier Foo of this name, and is made anew when the garbage collector has deleted it", p.deployment.Name))
	}
	return p.blocked("already exists and is not managed by Foo")
}

// blocked ends the pass: the name is another's. It is watched, and looked at
// again all the same.
func (p *pass) blocked(how string) (bool, error) {
	p.result.RequeueAfter = pace.Slowly()
	message := fmt.Sprintf("Resource %q %s", p.foo.Spec.DeploymentName, how)
	remedy := "; wait until it goes, or change spec.deploymentName"
	if p.deployment != nil {
		owner := metav1.GetControllerOf(p.deployment)
		fits := scaling.Selects(p.deployment.Spec.Selector, p.foo.Name, p.deployment.Name)
		switch {
		case owner != nil:
			message += fmt.Sprintf("; it belongs to %s %s", owner.Kind, owner.Name)
		case fits:
			remedy = fmt.Sprintf("; to have it adopted, annotate it with %s=%s", samplev1alpha1.AnnotationAdoptBy, p.foo.Name)
		case p.deployment.Annotations[samplev1alpha1.AnnotationAdoptBy] == p.foo.Name:
			message += "; it cannot be adopted, its selector is not the one that this Foo writes"
		}
	}
	return p.wait(samplev1alpha1.FooReasonResourceExists, message+remedy)
}

// olderRival gives the name of an older Foo that is to make the Deployment that
// this one names; "" when there is none.
func (r *Reconciler) olderRival(ctx context.Context, foo *samplev1alpha1.Foo) (string, error) {
	var rivals samplev1alpha1.FooList
	if err := r.client.List(ctx, &rivals, client.InNamespace(foo.Namespace), client.MatchingFields{samplev1alpha1.FieldDeploymentName: foo.Spec.DeploymentName}, client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("listing Foos: %w", err)
	}
	oldest := foo
	for i := range rivals.Items {
		rival := &rivals.Items[i]
		sound := rival.DeletionTimestamp == nil && len(scaling.Validate(&rival.Spec, nil)) == 0
		if sound && older(rival, oldest) {
			oldest = rival
		}
	}
	if oldest == foo {
		return "", nil
	}
	return oldest.Name, nil
}

func older(a, b *samplev1alpha1.Foo) bool {
	if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}

// template reads what the Pods are made from.
func (r *Reconciler) template(ctx context.Context, p *pass) (bool, error) {
	name := p.foo.Spec.PodTemplateName
	if name == "" {
		return true, nil
	}
	var template corev1.PodTemplate
	err := r.client.Get(ctx, types.NamespacedName{Namespace: p.foo.Namespace, Name: name}, &template)
	if apierrors.IsNotFound(err) {
		return p.wait(samplev1alpha1.FooReasonTemplateNotFound, fmt.Sprintf("PodTemplate %s not found; nothing is written until there is one, replicas neither", name))
	}
	if err != nil {
		return false, fmt.Errorf("reading PodTemplate %s: %w", name, err)
	}
	p.pods = &template.Template
	return true, nil
}
