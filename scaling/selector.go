package scaling

import (
	"crypto/sha256"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// The labels that select; see
// https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/.
const (
	labelName       = "app.kubernetes.io/name"
	labelInstance   = "app.kubernetes.io/instance"
	labelDeployment = samplev1alpha1.GroupName + "/deployment"
)

// Selector gives the labels that select the Pods of one Deployment of one Foo. They
// derive from names alone, so that a restored Deployment fits a restored Foo, and
// from both names, so that two Deployments of one Foo, during a rename, share no
// Pods.
func Selector(fooName, deploymentName string) map[string]string {
	return map[string]string{
		labelName:       "foo",
		labelInstance:   labelValue(fooName),
		labelDeployment: labelValue(deploymentName),
	}
}

// labelValue makes a label's value of a DNS name. A long one is shortened and told
// apart by a hash; "_", which no DNS name has, keeps it apart from every short one.
func labelValue(name string) string {
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	hash := fmt.Sprintf("_%x", sha256.Sum256([]byte(name)))[:21]
	return name[:validation.LabelValueMaxLength-len(hash)] + hash
}

// Selects says that a selector is the one that a Foo gives to its Deployment of
// that name.
func Selects(selector *metav1.LabelSelector, fooName, deploymentName string) bool {
	return selector != nil && len(selector.MatchExpressions) == 0 && maps.Equal(selector.MatchLabels, Selector(fooName, deploymentName))
}

// Adoptable says that a Deployment with that selector is one of the Foo's that was
// restored without its owner, and is offered to it by annotation.
func Adoptable(deployment metav1.Object, selector *metav1.LabelSelector, foo *samplev1alpha1.Foo) bool {
	return metav1.GetControllerOf(deployment) == nil && Selects(selector, foo.Name, deployment.GetName()) &&
		deployment.GetAnnotations()[samplev1alpha1.AnnotationAdoptBy] == foo.Name
}
