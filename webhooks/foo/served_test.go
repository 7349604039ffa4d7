package foo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/scaling"
	"github.com/samplecrd/samplecrd/test/review"
)

// The paths are those of config/webhook.
const (
	mutate   = "/mutate-samplecontroller-k8s-io-v1alpha1-foo"
	validate = "/validate-samplecontroller-k8s-io-v1alpha1-foo"
	scaled   = "/validate-samplecontroller-k8s-io-v1alpha1-foo-scale"
)

// most is the manager's limit of replicas in these tests.
const most = 10

// serve sets up the webhooks of Foo beside the given objects.
func serve(t testing.TB, objects ...client.Object) review.Webhooks {
	t.Helper()
	return review.Serve(t, func(mgr ctrl.Manager) error { return Setup(mgr, most) }, objects...)
}

// object writes a Foo as a client sends it: its spec, and what stands beside.
func object(spec string, beside ...string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"samplecontroller.k8s.io/v1alpha1","kind":"Foo","metadata":{"name":"x","namespace":"default","uid":"uid-of-x"%s},"spec":%s%s}`,
		at(beside, 0), spec, at(beside, 1))
}

func at(texts []string, i int) string {
	if i < len(texts) && texts[i] != "" {
		return "," + texts[i]
	}
	return ""
}

// scale writes the scale of a Foo as the API server sends it.
func scale(replicas string) []byte {
	return fmt.Appendf(nil, `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"x","namespace":"default","uid":"uid-of-x","resourceVersion":"7","creationTimestamp":"2026-01-02T03:04:05Z"},"spec":{"replicas":%s},"status":{"replicas":1,"selector":"a=b"}}`, replicas)
}

// namespace is the default one, with the limit of replicas; "-" for none.
func namespace(limit string) *corev1.Namespace {
	n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if limit != "-" {
		n.Annotations = map[string]string{samplev1alpha1.AnnotationMaxReplicas: limit}
	}
	return n
}

// deployment is one of another's, changed.
func deployment(name string, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	for _, change := range changes {
		change(d)
	}
	return d
}

// controlledBy makes the Foo of this UID a Deployment's controller.
func controlledBy(uid types.UID) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(
			&metav1.ObjectMeta{Name: "x", UID: uid}, samplev1alpha1.SchemeGroupVersion.WithKind("Foo"))}
	}
}

// offeredTo puts a Deployment up for adoption.
func offeredTo(name string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{samplev1alpha1.AnnotationAdoptBy: name}
	}
}

// madeBy gives a Deployment the selector that a Foo writes.
func madeBy(name string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: scaling.Selector(name, d.Name)}
	}
}

var errNoCache = errors.New("no cache")

// brokenManager cannot read.
type brokenManager struct{ ctrl.Manager }

func (m brokenManager) GetClient() client.Client {
	return interceptor.NewClient(m.Manager.GetClient().(client.WithWatch), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errNoCache
		},
	})
}

// What cannot be read is our failure, and passes: 503.
func TestFactsThatCannotBeRead(t *testing.T) {
	webhooks := review.Serve(t, func(mgr ctrl.Manager) error { return Setup(brokenManager{mgr}, most) })
	sound, other := object(`{"deploymentName":"web","replicas":1}`), object(`{"deploymentName":"web","replicas":2}`)
	for name, tc := range map[string]struct {
		path        string
		object, old []byte
	}{
		"a new Foo, first webhook":      {mutate, sound, nil},
		"a new Foo, second webhook":     {validate, sound, nil},
		"a changed Foo, first webhook":  {mutate, other, sound},
		"a changed Foo, second webhook": {validate, other, sound},
		"a scale":                       {scaled, scale("2"), scale("1")},
	} {
		t.Run(name, func(t *testing.T) {
			got := webhooks.Ask(t, tc.path, tc.object, tc.old)
			if got.Code() != http.StatusServiceUnavailable || !strings.Contains(got.Result.Message, errNoCache.Error()) {
				t.Errorf("got %d: %v", got.Code(), got.Result)
			}
		})
	}
	t.Run("nothing is read for what did not change", func(t *testing.T) {
		bad := object(`{"deploymentName":"a b","replicas":-1}`)
		for _, path := range []string{mutate, validate} {
			if got := webhooks.Ask(t, path, bad, bad); !got.Allowed || len(got.Operations) > 0 || len(got.Warnings) > 0 {
				t.Errorf("%s: got %v %v %q", path, got.Result, got.Operations, got.Warnings)
			}
		}
		if got := webhooks.Ask(t, scaled, scale("99"), scale("99")); !got.Allowed || len(got.Warnings) > 0 {
			t.Errorf("got %v %q", got.Result, got.Warnings)
		}
	})
}
