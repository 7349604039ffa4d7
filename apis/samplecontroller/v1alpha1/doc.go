// Package v1alpha1 is version v1alpha1 of the group samplecontroller.k8s.io: Foo,
// a Deployment kept at a number of replicas.
//
// +kubebuilder:object:generate=true
// +groupName=samplecontroller.k8s.io
package v1alpha1
