// Package apis holds the project's API types; AddToScheme registers all of them.
package apis

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// AddToScheme registers every kind of this project in scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	return errors.Join(samplecrdv1.AddToScheme(scheme), samplev1alpha1.AddToScheme(scheme))
}
