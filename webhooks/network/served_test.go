package network

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	server "sigs.k8s.io/controller-runtime/pkg/webhook"
)

// served is the webhooks as the API server meets them: bytes in, bytes out.
type served struct{ mux *http.ServeMux }

// serve sets up the webhooks beside the given objects. Nothing listens; a request
// is handed over in this process.
func serve(t testing.TB, objects ...client.Object) served {
	t.Helper()
	scheme := newScheme(t)
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Scheme:        scheme,
		Logger:        logr.Discard(),
		Metrics:       metricsserver.Options{BindAddress: "0"},
		WebhookServer: server.NewServer(server.Options{}),
		NewClient:     func(*rest.Config, client.Options) (client.Client, error) { return reader, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Setup(mgr, backends()); err != nil {
		t.Fatal(err)
	}
	return served{mgr.GetWebhookServer().WebhookMux()}
}

// The paths are those of config/webhook.
const (
	mutate   = "/mutate-samplecrd-k8s-io-v1-network"
	validate = "/validate-samplecrd-k8s-io-v1-network"
)

// operation is one of a JSON patch.
type operation struct {
	Op    string
	Path  string
	Value any
}

// answer is what came back.
type answer struct {
	*admissionv1.AdmissionResponse
	patch []operation
}

// ask sends an AdmissionReview; without old it is about a create. The object goes
// in as it is, sound JSON or not.
func (s served) ask(t testing.TB, path string, object, old []byte) answer {
	t.Helper()
	kind, op := "CREATE", "null"
	if old != nil {
		kind, op = "UPDATE", string(old)
	}
	body := fmt.Appendf(nil, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":%q,"namespace":"default","name":"x","object":%s,"oldObject":%s}}`, kind, object, op)
	request := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	s.mux.ServeHTTP(recorder, request)
	if recorder.Code != http.StatusOK {
		t.Fatalf("HTTP %d: %s", recorder.Code, recorder.Body)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || review.Response == nil {
		t.Fatalf("no answer, %v: %s", err, recorder.Body)
	}
	got := answer{AdmissionResponse: review.Response}
	if len(review.Response.Patch) > 0 {
		if err := json.Unmarshal(review.Response.Patch, &got.patch); err != nil {
			t.Fatalf("%v: %s", err, review.Response.Patch)
		}
	}
	return got
}

// code is the HTTP code of a refusal, 0 of an admission.
func (a answer) code() int32 {
	if a.Allowed {
		return 0
	}
	return a.Result.Code
}

// causes are the fields that a refusal blames.
func (a answer) causes() []string {
	var fields []string
	if a.Result != nil && a.Result.Details != nil {
		for _, cause := range a.Result.Details.Causes {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}
