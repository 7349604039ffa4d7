// Package apis holds the project's API types; AddToScheme registers all of them.
package apis

import (
	"k8s.io/apimachinery/pkg/runtime"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// AddToScheme registers every kind of this project in scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	return samplecrdv1.AddToScheme(scheme)
}
