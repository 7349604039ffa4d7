package foo

import (
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
)

// What kubectl scale and autoscalers write is held to what a Foo is held to. The
// API server sends updates alone: a scale cannot be created.
func TestScale(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after string
		limit         string
		refused       bool
		wantWarnings  []string // what each holds
	}{
		"within the manager's limit":                {before: "1", after: "10", limit: "-"},
		"AF-06: above it":                           {before: "1", after: "11", limit: "-", refused: true},
		"AF-06: the largest number":                 {before: "1", after: "2147483647", limit: "-", refused: true},
		"to nothing":                                {before: "1", after: "0", limit: "-"},
		"from nothing":                              {before: "0", after: "1", limit: "-"},
		"within the namespace's limit":              {before: "1", after: "5", limit: "5"},
		"above that":                                {before: "1", after: "6", limit: "5", refused: true},
		"above a lowered limit, and smaller":        {before: "9", after: "8", limit: "5", wantWarnings: []string{"spec.replicas: 8 is more than is allowed by now, 5"}},
		"above a lowered limit, and larger":         {before: "8", after: "9", limit: "5", refused: true},
		"above a lowered limit, and then within":    {before: "9", after: "5", limit: "5"},
		"a limit that is no number":                 {before: "1", after: "10", limit: "five", wantWarnings: []string{`"five"`}},
		"a limit that is no number, and too many":   {before: "1", after: "11", limit: "five", refused: true},
		"what does not change is not judged":        {before: "99", after: "99", limit: "five"},
		"replicas of null are 0, as everywhere":     {before: "1", after: "null", limit: "0"},
		"a namespace that is not there limits none": {before: "1", after: "10", limit: ""},
	} {
		t.Run(name, func(t *testing.T) {
			webhooks := serve(t)
			if tc.limit != "" {
				webhooks = serve(t, namespace(tc.limit))
			}
			got := webhooks.Ask(t, scaled, scale(tc.after), scale(tc.before))
			if len(got.Operations) > 0 {
				t.Errorf("the scale is patched: %v", got.Operations)
			}
			if tc.refused {
				if got.Code() != http.StatusUnprocessableEntity || got.Result.Reason != "Invalid" || !reflect.DeepEqual(got.Causes(), []string{"spec.replicas"}) {
					t.Fatalf("got %d for %v, want 422 for spec.replicas", got.Code(), got.Causes())
				}
				if details := got.Result.Details; details.Kind != "Scale" || details.Group != autoscalingv1.GroupName || details.Name != "x" || !strings.Contains(got.Result.Message, tc.after) {
					t.Errorf("got %+v: %s", details, got.Result.Message)
				}
				return
			}
			if !got.Allowed || len(got.Warnings) != len(tc.wantWarnings) {
				t.Fatalf("got %v, %q; want %d warnings", got.Result, got.Warnings, len(tc.wantWarnings))
			}
			for i, want := range tc.wantWarnings {
				if !strings.Contains(got.Warnings[i], want) {
					t.Errorf("%q does not say %q", got.Warnings[i], want)
				}
			}
		})
	}
}

func TestScaleOfAWrongType(t *testing.T) {
	webhooks := serve(t)
	for name, replicas := range map[string]string{
		"AF-06: one more than 32 bits": "2147483648",
		"AF-06: one more than 64 bits": "9223372036854775808",
		"AF-06: a number in quotes":    `"3"`,
		"AF-06: a broken number":       "1.5",
		"AF-06: a truth":               "true",
		"one less than 32 bits":        "-2147483649",
		"a list":                       "[3]",
		"an object":                    "{}",
	} {
		t.Run(name, func(t *testing.T) {
			got := webhooks.Ask(t, scaled, scale(replicas), scale("1"))
			if got.Code() != http.StatusBadRequest || !strings.Contains(got.Result.Message, "spec.replicas") {
				t.Errorf("got %d %v, want 400 and the field", got.Code(), got.Result)
			}
		})
	}
	t.Run("a Foo is no scale", func(t *testing.T) {
		foo := object(`{"deploymentName":"web","replicas":1}`)
		if got := webhooks.Ask(t, scaled, foo, foo); got.Code() != http.StatusBadRequest {
			t.Errorf("got %d: %v", got.Code(), got.Result)
		}
	})
}

// The status of a scale, and its metadata, are not what is written.
func TestSameScale(t *testing.T) {
	a, b := &autoscalingv1.Scale{}, &autoscalingv1.Scale{}
	a.Spec.Replicas, b.Spec.Replicas = math.MaxInt32, math.MaxInt32
	b.ResourceVersion, b.Status.Replicas, b.Status.Selector = "8", 3, "a=b"
	w := &scaleWebhook{}
	if !w.SameSpec(a, b) {
		t.Error("the same number is another")
	}
	b.Spec.Replicas--
	if w.SameSpec(a, b) {
		t.Error("another number is the same")
	}
}
