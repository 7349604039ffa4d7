// Package networkclass admits NetworkClasses.
package networkclass

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/webhooks/gate"
)

// +kubebuilder:webhook:name=default.networkclass.samplecrd.k8s.io,mutating=true,path=/mutate-samplecrd-k8s-io-v1-networkclass,groups=samplecrd.k8s.io,versions=v1,resources=networkclasses,verbs=create;update,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,admissionReviewVersions=v1,patch=`{"matchConditions":[{"name":"spec-changed","expression":"request.operation == 'CREATE' || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec"}]}`
// +kubebuilder:webhook:name=validate.networkclass.samplecrd.k8s.io,mutating=false,path=/validate-samplecrd-k8s-io-v1-networkclass,groups=samplecrd.k8s.io,versions=v1,resources=networkclasses,verbs=create;update,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,admissionReviewVersions=v1,patch=`{"matchConditions":[{"name":"spec-changed","expression":"request.operation == 'CREATE' || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec"}]}`

// webhook brings NetworkClass to the gate. Its rules need no facts.
type webhook struct{}

type facts struct{}

// Setup serves the webhooks of NetworkClass.
func Setup(mgr ctrl.Manager) error {
	return gate.Register(mgr, &samplecrdv1.NetworkClass{}, &webhook{})
}

// SameSpec says that nothing is to be judged.
func (*webhook) SameSpec(a, b *samplecrdv1.NetworkClass) bool {
	return equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// Gather has nothing to read.
func (*webhook) Gather(context.Context, *samplecrdv1.NetworkClass, *samplecrdv1.NetworkClass) (facts, error) {
	return facts{}, nil
}

// Default fills in nothing: the CRD's schema has all the defaults of a class.
func (*webhook) Default(*samplecrdv1.NetworkClass, *samplecrdv1.NetworkClass, facts) {}

var specPath = field.NewPath("spec")
