package foo

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/samplecrd/samplecrd/apis"
	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// newReconciler works on the given objects, indexed as in the manager's cache.
func newReconciler(t *testing.T, objects ...client.Object) *Reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apis.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&samplev1alpha1.Foo{}, &appsv1.Deployment{}).WithObjects(objects...)
	if err := IndexFields(t.Context(), indexer{builder}); err != nil {
		t.Fatal(err)
	}
	c := builder.Build()
	return &Reconciler{client: c, live: c, recorder: events.NewFakeRecorder(10), image: image}
}

// indexer has a fake client find objects as the manager's cache does.
type indexer struct{ builder *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, object client.Object, field string, value client.IndexerFunc) error {
	i.builder.WithIndex(object, field, value)
	return nil
}

// intercept has the reconciler's cached client answer otherwise; what it reads
// directly stays.
func (r *Reconciler) intercept(faults interceptor.Funcs) *Reconciler {
	r.client = interceptor.NewClient(r.client.(client.WithWatch), faults)
	return r
}

var errNoCache = errors.New("no cache")

// gone is a cache that has nothing.
var gone = interceptor.Funcs{Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	return apierrors.NewNotFound(appsv1.Resource("deployments"), key.Name)
}}
