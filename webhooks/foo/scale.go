package foo

import (
	"context"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// scaleWebhook brings the scale of a Foo to the gate: what kubectl scale and
// autoscalers write is held to the same limit as spec.replicas.
type scaleWebhook struct{ *webhook }

// SameSpec compares the numbers.
func (w *scaleWebhook) SameSpec(a, b *autoscalingv1.Scale) bool { return a.Spec == b.Spec }

// Gather reads the limit of the Foo's namespace.
func (w *scaleWebhook) Gather(ctx context.Context, scale, _ *autoscalingv1.Scale) (*facts, error) {
	limit, warning, err := w.limit(ctx, scale.Namespace)
	return &facts{limit: limit, limitWarning: warning}, err
}

// Default does nothing: a Scale always says its number.
func (w *scaleWebhook) Default(_, _ *autoscalingv1.Scale, _ *facts) {}

// Validate judges the number. The API server itself has refused a negative one.
func (w *scaleWebhook) Validate(scale, old *autoscalingv1.Scale, known *facts) ([]string, field.ErrorList) {
	var stored *int32
	if old != nil {
		stored = &old.Spec.Replicas
	}
	warnings, errs := known.limit.Judge(specPath.Child("replicas"), scale.Spec.Replicas, stored)
	if known.limitWarning != "" {
		warnings = append(warnings, known.limitWarning)
	}
	return warnings, errs
}
