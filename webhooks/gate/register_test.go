package gate

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/samplecrd/samplecrd/test/review"
)

// The paths that controller-runtime derives, and one that is given.
const (
	mutate   = "/mutate--v1-configmap"
	validate = "/validate--v1-configmap"
	given    = "/validate-something-else"
)

// servedBy sets up webhooks and gives the paths, of those above, that are served.
func servedBy(t *testing.T, setup func(ctrl.Manager) error) (review.Webhooks, []string) {
	t.Helper()
	var paths []string
	webhooks := review.Serve(t, func(mgr ctrl.Manager) error {
		err := setup(mgr)
		for _, path := range []string{mutate, validate, given} {
			if _, pattern := mgr.GetWebhookServer().WebhookMux().Handler(httptest.NewRequest(http.MethodPost, path, nil)); pattern == path {
				paths = append(paths, path)
			}
		}
		return err
	})
	return webhooks, paths
}

func TestRegister(t *testing.T) {
	webhooks, paths := servedBy(t, func(mgr ctrl.Manager) error { return Register(mgr, &corev1.ConfigMap{}, &kind{fact: "blue"}) })
	if want := []string{mutate, validate}; !slices.Equal(paths, want) {
		t.Fatalf("%v are served, want %v", paths, want)
	}
	bad, sound := raw(t, map[string]string{"bad": "1"}).Raw, raw(t, map[string]string{"a": "b"}).Raw
	for _, path := range paths {
		got := webhooks.Ask(t, path, bad, nil)
		if got.Code() != http.StatusUnprocessableEntity || got.Result.Details.Kind != "ConfigMap" || !reflect.DeepEqual(got.Causes(), []string{"data.bad"}) {
			t.Errorf("%s: got %d for %v: %+v", path, got.Code(), got.Causes(), got.Result)
		}
	}
	if got := webhooks.Ask(t, mutate, sound, nil); !got.Allowed || len(got.Operations) != 1 || len(got.Warnings) > 0 {
		t.Errorf("the first of the two: got %v, %v, %q", got.Result, got.Operations, got.Warnings)
	}
	if got := webhooks.Ask(t, validate, sound, nil); !got.Allowed || len(got.Operations) > 0 || len(got.Warnings) != 1 {
		t.Errorf("the second of the two: got %v, %v, %q", got.Result, got.Operations, got.Warnings)
	}
}

// The webhook of a subresource judges as any does, at its path alone, and fills in
// nothing.
func TestRegisterValidator(t *testing.T) {
	k := &kind{fact: "blue"}
	webhooks, paths := servedBy(t, func(mgr ctrl.Manager) error { return RegisterValidator(mgr, &corev1.ConfigMap{}, given, k) })
	if want := []string{given}; !slices.Equal(paths, want) {
		t.Fatalf("%v are served, want %v", paths, want)
	}
	bad, worse, sound := raw(t, map[string]string{"bad": "1"}).Raw, raw(t, map[string]string{"bad": "1", "worse": "2"}).Raw, raw(t, map[string]string{"a": "b"}).Raw
	for name, tc := range map[string]struct {
		object, old []byte
		fault       error
		wantCode    int32 // 0: allowed
		wantCauses  []string
		wantWarned  bool
	}{
		"a sound one":                          {object: sound, wantWarned: true},
		"a change to a sound one":              {object: sound, old: bad, wantWarned: true},
		"all faults at once":                   {object: worse, wantCode: http.StatusUnprocessableEntity, wantCauses: []string{"data.bad", "data.worse"}},
		"a change to a bad one":                {object: bad, old: sound, wantCode: http.StatusUnprocessableEntity, wantCauses: []string{"data.bad"}},
		"no change is let through":             {object: bad, old: bad, fault: errors.New("no cache")},
		"facts that cannot be read: try again": {object: sound, old: bad, fault: errors.New("no cache"), wantCode: http.StatusServiceUnavailable},
		"what is no object":                    {object: []byte(`{"data":7}`), wantCode: http.StatusBadRequest},
		"another kind":                         {object: []byte(`{"apiVersion":"v1","kind":"Secret"}`), old: sound, wantCode: http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			k.fault = tc.fault
			got := webhooks.Ask(t, given, tc.object, tc.old)
			if got.Code() != tc.wantCode || !reflect.DeepEqual(got.Causes(), tc.wantCauses) || len(got.Operations) > 0 || (len(got.Warnings) > 0) != tc.wantWarned {
				t.Errorf("got %d for %v, %v, %q: %v", got.Code(), got.Causes(), got.Operations, got.Warnings, got.Result)
			}
		})
	}
}

// A kind that the manager does not know is an error at the start, not a webhook
// that answers nothing.
func TestRegisterAnUnknownKind(t *testing.T) {
	review.Serve(t, func(mgr ctrl.Manager) error {
		strange := stranger{mgr}
		if err := Register(strange, &corev1.ConfigMap{}, &kind{}); err == nil {
			t.Error("it is registered")
		}
		if err := RegisterValidator(strange, &corev1.ConfigMap{}, given, &kind{}); err == nil {
			t.Error("its validator is registered")
		}
		return nil
	})
}

// stranger is a manager that knows no kind.
type stranger struct{ ctrl.Manager }

func (stranger) GetClient() client.Client {
	return fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build()
}
