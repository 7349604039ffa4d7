package network

import (
	"testing"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/addressing"
	"github.com/samplecrd/samplecrd/test/review"
)

// The paths are those of config/webhook.
const (
	mutate   = "/mutate-samplecrd-k8s-io-v1-network"
	validate = "/validate-samplecrd-k8s-io-v1-network"
)

// serve sets up the webhooks of Network beside the given objects, where a neighbour
// has 10.77.0.0/16.
func serve(t testing.TB, objects ...client.Object) review.Webhooks {
	t.Helper()
	return review.Serve(t, func(mgr ctrl.Manager) error {
		return Setup(mgr, backends(), addressing.Space{Claims: claimed("10.77.0.0/16").claims})
	}, objects...)
}
