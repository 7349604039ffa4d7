package foo

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/scaling"
	"github.com/samplecrd/samplecrd/webhooks/gate"
)

var specPath = field.NewPath("spec")

// Validate judges a Foo. Faults that the stored one has as well are forgiven when
// the update did not touch what they come from.
func (w *webhook) Validate(foo, old *samplev1alpha1.Foo, known *facts) ([]string, field.ErrorList) {
	errs := scaling.Validate(&foo.Spec, specPath)
	var stored *int32
	if old != nil {
		stored = new(scaling.Replicas(&old.Spec))
		errs = gate.Forgive(errs, scaling.Validate(&old.Spec, specPath), func(fault *field.Error) bool {
			return scaling.Unchanged(fault, &old.Spec, &foo.Spec)
		})
	}
	warnings, tooMany := known.limit.Judge(specPath.Child("replicas"), scaling.Replicas(&foo.Spec), stored)
	if errs = append(errs, tooMany...); len(errs) > 0 {
		return nil, errs
	}
	if known.limitWarning != "" {
		warnings = append(warnings, known.limitWarning)
	}
	warnings = append(warnings, scaling.Warnings(&foo.Spec, specPath)...)
	return append(warnings, missing(foo, known)...), nil
}

// maxNamed keeps a warning that names an object within the 256 characters that
// every client shows.
const maxNamed = 63

// missing warns of what the Foo will have to wait for. The order in which
// manifests are applied must not matter, so that none of it is refused.
func missing(foo *samplev1alpha1.Foo, known *facts) []string {
	var warnings []string
	path, name := specPath.Child("deploymentName"), gate.Clip(foo.Spec.DeploymentName, maxNamed)
	switch deployment := known.deployment; {
	case deployment != nil && !metav1.IsControlledBy(deployment, foo) && !scaling.Adoptable(deployment, deployment.Spec.Selector, foo):
		whose := "is not managed by this Foo"
		if owner := metav1.GetControllerOf(deployment); owner != nil {
			whose = "belongs to " + gate.Clip(owner.Kind+" "+owner.Name, maxNamed)
		}
		warnings = append(warnings, fmt.Sprintf("%s: Deployment %s exists and %s; this Foo waits until it goes", path, name, whose))
	case deployment == nil && len(known.rivals) > 0:
		rival := gate.Clip(slices.Min(known.rivals), maxNamed)
		warnings = append(warnings, fmt.Sprintf("%s: Foo %s names Deployment %s too; the older Foo makes it, the other one waits", path, rival, name))
	}
	if known.templateMissing {
		warnings = append(warnings, fmt.Sprintf("%s: PodTemplate %s not found; the Foo waits until there is one", specPath.Child("podTemplateName"), gate.Clip(foo.Spec.PodTemplateName, maxNamed)))
	}
	return warnings
}
