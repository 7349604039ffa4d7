// Package review meets webhooks as the API server does, bytes in and bytes out,
// without an API server.
package review

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/samplecrd/samplecrd/apis"
	"github.com/samplecrd/samplecrd/controllers/foo"
)

// Webhooks are set up and served in this process; nothing listens.
type Webhooks struct{ mux *http.ServeMux }

// Operation is one of a JSON patch.
type Operation struct {
	Op    string
	Path  string
	Value any
}

// Answer is what a webhook said.
type Answer struct {
	*admissionv1.AdmissionResponse
	// Operations is the patch, in typed form.
	Operations []Operation
}

// Serve sets up webhooks beside the given objects.
func Serve(t testing.TB, setup func(ctrl.Manager) error, objects ...client.Object) Webhooks {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apis.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...)
	if err := foo.IndexFields(t.Context(), indexer{builder}); err != nil {
		t.Fatal(err)
	}
	reader := builder.Build()
	mgr, err := ctrl.NewManager(&rest.Config{Host: "http://127.0.0.1:1"}, ctrl.Options{
		Scheme:        scheme,
		Logger:        logr.Discard(),
		Metrics:       metricsserver.Options{BindAddress: "0"},
		WebhookServer: webhook.NewServer(webhook.Options{}),
		NewClient:     func(*rest.Config, client.Options) (client.Client, error) { return reader, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := setup(mgr); err != nil {
		t.Fatal(err)
	}
	return Webhooks{mgr.GetWebhookServer().WebhookMux()}
}

// indexer has a fake client find objects by the fields that the manager's cache
// finds them by.
type indexer struct{ builder *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, object client.Object, field string, value client.IndexerFunc) error {
	i.builder.WithIndex(object, field, value)
	return nil
}

// Ask sends an AdmissionReview to the webhook at path; without old it is about a
// create. The objects go in as they are, sound JSON or not.
func (w Webhooks) Ask(t testing.TB, path string, object, old []byte) Answer {
	t.Helper()
	operation := "UPDATE"
	if old == nil {
		operation, old = "CREATE", []byte("null")
	}
	body := fmt.Appendf(nil, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":%q,"namespace":"default","name":"x","object":%s,"oldObject":%s}}`, operation, object, old)
	request := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	w.mux.ServeHTTP(recorder, request)
	if recorder.Code != http.StatusOK {
		t.Fatalf("HTTP %d: %s", recorder.Code, recorder.Body)
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil || review.Response == nil {
		t.Fatalf("no answer, %v: %s", err, recorder.Body)
	}
	answer := Answer{AdmissionResponse: review.Response}
	if len(answer.Patch) > 0 {
		if err := json.Unmarshal(answer.Patch, &answer.Operations); err != nil {
			t.Fatalf("%v: %s", err, answer.Patch)
		}
	}
	return answer
}

// Code is the HTTP code of a refusal, 0 of an admission.
func (a Answer) Code() int32 {
	if a.Allowed {
		return 0
	}
	return a.Result.Code
}

// Causes are the fields that a refusal blames.
func (a Answer) Causes() []string {
	var fields []string
	if a.Result != nil && a.Result.Details != nil {
		for _, cause := range a.Result.Details.Causes {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}
