package builders

import samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"

// OfClass gives a Network that class.
func OfClass(name string) func(*samplecrdv1.Network) {
	return func(network *samplecrdv1.Network) { network.Spec.NetworkClassName = name }
}

// Gateway gives a Network that gateway.
func Gateway(address string) func(*samplecrdv1.Network) {
	return func(network *samplecrdv1.Network) { network.Spec.Gateway = address }
}

// Retained has what is made for a Network outlive it.
func Retained(network *samplecrdv1.Network) {
	network.Spec.DeletionPolicy = new(samplecrdv1.DeletionRetain)
}
