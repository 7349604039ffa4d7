// Package scaling holds the rules of a Foo: the form of its names, the default
// and the bounds of its replicas, and which Deployments fit it. It is pure: no
// client, context, clock or log.
package scaling

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// DefaultReplicas is what absent replicas mean, in the CRD's schema too.
const DefaultReplicas int32 = 1

// replicaSetSuffix is what the Deployment controller appends to a Deployment's
// name to name a ReplicaSet: a dash and a hash of up to 10 characters.
const replicaSetSuffix = 11

// Origins of the faults; each rule reads the one field that it is named after.
const (
	ruleDeploymentName  = "scaling/deploymentName"
	ruleReplicas        = "scaling/replicas"
	rulePodTemplateName = "scaling/podTemplateName"
)

// Replicas is how many replicas a Foo asks for: DefaultReplicas if it does not
// say.
func Replicas(spec *samplev1alpha1.FooSpec) int32 {
	if spec.Replicas == nil {
		return DefaultReplicas
	}
	return *spec.Replicas
}

// Validate judges what a Foo says, whatever the limit of replicas is where it
// lives. path is that of the spec. All faults are given, each with the rule as
// its Origin; see Unchanged.
func Validate(spec *samplev1alpha1.FooSpec, path *field.Path) field.ErrorList {
	errs := validateDeploymentName(spec.DeploymentName, path.Child("deploymentName"))
	if replicas := Replicas(spec); replicas < 0 {
		errs = append(errs, field.Invalid(path.Child("replicas"), replicas, "must be 0 or more").WithOrigin(ruleReplicas))
	}
	if spec.PodTemplateName != "" {
		errs = append(errs, validateName(spec.PodTemplateName, "PodTemplate", path.Child("podTemplateName")).WithOrigin(rulePodTemplateName)...)
	}
	return errs
}

// Unchanged says that no field which the fault's rule reads differs between two
// specs.
func Unchanged(fault *field.Error, before, after *samplev1alpha1.FooSpec) bool {
	switch fault.Origin {
	case ruleDeploymentName:
		return before.DeploymentName == after.DeploymentName
	case ruleReplicas:
		return Replicas(before) == Replicas(after)
	case rulePodTemplateName:
		return before.PodTemplateName == after.PodTemplateName
	}
	return false
}

// Warnings tell of what is legal and yet will not work.
func Warnings(spec *samplev1alpha1.FooSpec, path *field.Path) []string {
	const most = validation.DNS1123SubdomainMaxLength - replicaSetSuffix
	if len(spec.DeploymentName) <= most {
		return nil
	}
	return []string{fmt.Sprintf("%s: a Deployment whose name has more than %d characters cannot make ReplicaSets, and so no Pods", path.Child("deploymentName"), most)}
}

func validateDeploymentName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "name the Deployment that this Foo keeps, for example example-foo").WithOrigin(ruleDeploymentName)}
	}
	return validateName(name, "Deployment", path).WithOrigin(ruleDeploymentName)
}

// validateName holds a name to the form that the API server demands of the kind.
func validateName(name, kind string, path *field.Path) field.ErrorList {
	if len(name) > validation.DNS1123SubdomainMaxLength {
		return field.ErrorList{field.TooLong(path, nil, validation.DNS1123SubdomainMaxLength)}
	}
	if len(validation.IsDNS1123Subdomain(name)) == 0 {
		return nil
	}
	detail := "must be the name of a " + kind + ": lower case letters, digits, '-' and '.', and a letter or digit at both ends of every part"
	if better := legalName(name); better != "" {
		detail += "; write " + better
	}
	return field.ErrorList{field.Invalid(path, name, detail)}
}

var illegal = regexp.MustCompile(`[^a-z0-9.]+`)

// legalName gives the nearest legal name; "" when there is none.
func legalName(name string) string {
	var labels []string
	for label := range strings.SplitSeq(strings.ToLower(name), ".") {
		if label = strings.Trim(illegal.ReplaceAllString(label, "-"), "-"); label != "" {
			labels = append(labels, label)
		}
	}
	better := strings.Join(labels, ".")
	if len(validation.IsDNS1123Subdomain(better)) > 0 {
		return ""
	}
	return better
}
