// Package v1 is version v1 of the group samplecrd.k8s.io: Network, an address
// range that becomes a real network, and NetworkClass, the platform's choice of
// what makes it real.
//
// +kubebuilder:object:generate=true
// +groupName=samplecrd.k8s.io
package v1
