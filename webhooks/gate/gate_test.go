package gate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// kind is a ConfigMap whose data is its spec: "colour" defaults to the fact, and
// "bad" is refused.
type kind struct {
	fact     string
	fault    error
	gathered int
	old      *corev1.ConfigMap
}

func (*kind) SameSpec(a, b *corev1.ConfigMap) bool {
	return equality.Semantic.DeepEqual(a.Data, b.Data)
}

func (k *kind) Gather(context.Context, *corev1.ConfigMap, *corev1.ConfigMap) (string, error) {
	k.gathered++
	return k.fact, k.fault
}

func (*kind) Default(object, _ *corev1.ConfigMap, fact string) {
	if object.Data == nil {
		object.Data = map[string]string{}
	}
	if object.Data["colour"] == "" {
		object.Data["colour"] = fact
	}
}

func (k *kind) Validate(object, old *corev1.ConfigMap, _ string) ([]string, field.ErrorList) {
	k.old = old
	var errs field.ErrorList
	for _, name := range []string{"bad", "worse"} {
		if value, there := object.Data[name]; there {
			errs = append(errs, field.Invalid(field.NewPath("data", name), value, "must not be there"))
		}
	}
	return []string{"colour is " + object.Data["colour"]}, errs
}

func openGate(k *kind) (*Gate[*corev1.ConfigMap, string], *runtime.Scheme) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		panic(err)
	}
	return &Gate[*corev1.ConfigMap, string]{kind: k, group: schema.GroupKind{Kind: "ConfigMap"}, scheme: scheme}, scheme
}

func raw(t *testing.T, data map[string]string) runtime.RawExtension {
	t.Helper()
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x"}, "data": data})
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: text}
}

func update(t *testing.T, before, after map[string]string) admission.Request {
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		UID: "1", Operation: admissionv1.Update, Object: raw(t, after), OldObject: raw(t, before),
	}}
}

func create(t *testing.T, data map[string]string) admission.Request {
	return admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{UID: "1", Operation: admissionv1.Create, Object: raw(t, data)}}
}

func TestDefault(t *testing.T) {
	data := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for name, tc := range map[string]struct {
		request      admission.Request
		fault        error
		wantCode     int32 // 0: allowed
		wantCauses   int
		wantPatch    string
		wantGathered int
	}{
		"what is absent is filled in":                     {request: create(t, data("a", "b")), wantPatch: "[add /data/colour]", wantGathered: 1},
		"what is there stays":                             {request: create(t, data("colour", "red")), wantPatch: "[]", wantGathered: 1},
		"a fault is refused":                              {request: create(t, data("bad", "1")), wantCode: http.StatusUnprocessableEntity, wantCauses: 1, wantGathered: 1},
		"all faults are refused at once":                  {request: create(t, data("bad", "1", "worse", "2")), wantCode: http.StatusUnprocessableEntity, wantCauses: 2, wantGathered: 1},
		"facts that cannot be read: try again":            {request: create(t, data("a", "b")), fault: errors.New("no cache"), wantCode: http.StatusServiceUnavailable, wantGathered: 1},
		"an update that changes nothing is not looked at": {request: update(t, data("bad", "1"), data("bad", "1")), wantPatch: "[]"},
		"an update that changes something is":             {request: update(t, data("bad", "1"), data("bad", "2")), wantCode: http.StatusUnprocessableEntity, wantCauses: 1, wantGathered: 1},
		"an update that adds something is":                {request: update(t, data("a", "b"), data("a", "b", "bad", "1")), wantCode: http.StatusUnprocessableEntity, wantCauses: 1, wantGathered: 1},
		"an update that takes something away is":          {request: update(t, data("a", "b", "bad", "1"), data("bad", "1")), wantCode: http.StatusUnprocessableEntity, wantCauses: 1, wantGathered: 1},
		"an update is filled in as well":                  {request: update(t, data("a", "b"), data("a", "c")), wantPatch: "[add /data/colour]", wantGathered: 1},
		"facts are not read for what is not to be judged": {request: update(t, data("a", "b"), data("a", "b")), fault: errors.New("no cache"), wantPatch: "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			k := &kind{fact: "blue", fault: tc.fault}
			g, scheme := openGate(k)
			response := admission.WithDefaulter(scheme, g).Handle(t.Context(), tc.request)
			if response.Allowed != (tc.wantCode == 0) {
				t.Fatalf("allowed is %t: %v", response.Allowed, response.Result)
			}
			if k.gathered != tc.wantGathered {
				t.Errorf("facts were read %d times, want %d", k.gathered, tc.wantGathered)
			}
			if len(response.Warnings) > 0 {
				t.Errorf("the first of two webhooks warns: %q", response.Warnings)
			}
			if tc.wantCode != 0 {
				checkRefused(t, response, tc.wantCode, tc.wantCauses)
				return
			}
			var patch []string
			for _, operation := range response.Patches {
				patch = append(patch, operation.Operation+" "+operation.Path)
			}
			if got := fmt.Sprint(patch); got != tc.wantPatch {
				t.Errorf("patch is %s, want %s", got, tc.wantPatch)
			}
		})
	}
}

func checkRefused(t *testing.T, response admission.Response, code int32, causes int) {
	t.Helper()
	if response.Result.Code != code {
		t.Errorf("code is %d, want %d: %s", response.Result.Code, code, response.Result.Message)
	}
	if code != http.StatusUnprocessableEntity {
		return
	}
	if response.Result.Reason != metav1.StatusReasonInvalid || response.Result.Details == nil || len(response.Result.Details.Causes) != causes {
		t.Errorf("refusal is %+v, want %d causes", response.Result, causes)
	}
}

// The stored object is exactly what was stored: nothing of the new one is in it.
func TestDefaultReadsTheStoredObject(t *testing.T) {
	k := &kind{}
	g, scheme := openGate(k)
	request := update(t, map[string]string{"a": "old"}, map[string]string{"a": "new", "added": "1"})
	request.Object.Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","labels":{"l":"1"},"managedFields":[{"manager":"m"}]},"immutable":true,"data":{"a":"new","added":"1"}}`)
	if response := admission.WithDefaulter(scheme, g).Handle(t.Context(), request); !response.Allowed {
		t.Fatal(response.Result)
	}
	want := &corev1.ConfigMap{}
	if err := json.Unmarshal(request.OldObject.Raw, want); err != nil {
		t.Fatal(err)
	}
	k.old.TypeMeta = want.TypeMeta
	if !equality.Semantic.DeepEqual(k.old, want) {
		t.Errorf("the stored object is taken for %+v, it is %+v", k.old, want)
	}
}

func TestValidate(t *testing.T) {
	good, bad := &corev1.ConfigMap{Data: map[string]string{"colour": "red"}}, &corev1.ConfigMap{Data: map[string]string{"bad": "1", "worse": "2"}}
	t.Run("a sound object is warned of, and not filled in", func(t *testing.T) {
		k := &kind{fact: "blue"}
		g, _ := openGate(k)
		object := &corev1.ConfigMap{}
		warnings, err := g.ValidateCreate(t.Context(), object)
		if err != nil || len(warnings) != 1 || object.Data != nil {
			t.Errorf("got %q, %v, %v", warnings, err, object.Data)
		}
	})
	t.Run("a bad object is refused with all faults", func(t *testing.T) {
		g, _ := openGate(&kind{})
		_, err := g.ValidateCreate(t.Context(), bad)
		if status := apierrors.APIStatus(nil); !errors.As(err, &status) || !apierrors.IsInvalid(err) || len(status.Status().Details.Causes) != 2 {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a change to a bad object is refused", func(t *testing.T) {
		g, _ := openGate(&kind{})
		if _, err := g.ValidateUpdate(t.Context(), good, bad); !apierrors.IsInvalid(err) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no change is let through without a look", func(t *testing.T) {
		k := &kind{fault: errors.New("no cache")}
		g, _ := openGate(k)
		if warnings, err := g.ValidateUpdate(t.Context(), bad, bad.DeepCopy()); err != nil || warnings != nil || k.gathered > 0 {
			t.Errorf("got %q, %v, facts read %d times", warnings, err, k.gathered)
		}
	})
	t.Run("facts that cannot be read: try again", func(t *testing.T) {
		g, _ := openGate(&kind{fault: errors.New("no cache")})
		if _, err := g.ValidateCreate(t.Context(), good); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("deletion is allowed", func(t *testing.T) {
		g, _ := openGate(&kind{fault: errors.New("no cache")})
		if warnings, err := g.ValidateDelete(t.Context(), bad); err != nil || warnings != nil {
			t.Errorf("got %q, %v", warnings, err)
		}
	})
}

func TestForgive(t *testing.T) {
	path := field.NewPath("spec", "cidr")
	fault := field.Invalid(path, "x", "because")
	for name, tc := range map[string]struct {
		errs, stored field.ErrorList
		unchanged    bool
		want         int
	}{
		"a stored fault whose fields did not change is forgiven": {field.ErrorList{fault}, field.ErrorList{fault}, true, 0},
		"a stored fault whose fields changed is not":             {field.ErrorList{fault}, field.ErrorList{fault}, false, 1},
		"a new fault is not":                                     {field.ErrorList{fault}, nil, true, 1},
		"another bad value is not":                               {field.ErrorList{fault}, field.ErrorList{field.Invalid(path, "y", "because")}, true, 1},
		"another type is not":                                    {field.ErrorList{fault}, field.ErrorList{field.Required(path, "because")}, true, 1},
		"another path is not":                                    {field.ErrorList{fault}, field.ErrorList{field.Invalid(path.Index(0), "x", "because")}, true, 1},
		"other words for the same fault are forgiven":            {field.ErrorList{fault}, field.ErrorList{field.Invalid(path, "x", "in other words")}, true, 0},
		"one of two is forgiven":                                 {field.ErrorList{fault, field.Required(path, "")}, field.ErrorList{fault}, true, 1},
		"a fault that is gone does no harm":                      {nil, field.ErrorList{fault}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := Forgive(tc.errs, tc.stored, func(*field.Error) bool { return tc.unchanged })
			if len(got) != tc.want {
				t.Errorf("%d faults are left, want %d: %v", len(got), tc.want, got)
			}
		})
	}
}
