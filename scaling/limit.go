package scaling

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// Limit is the largest number of replicas that a Foo of one namespace may ask for.
type Limit struct {
	most int32
	// lowered says that the namespace's annotation is behind it.
	lowered bool
}

// maxEcho bounds an annotation's value in a warning, in bytes.
const maxEcho = 32

// LimitOf gives the limit in a namespace with these annotations, where the manager
// allows most replicas. The annotation can lower that; one that is not an integer
// of 0 or more is ignored, and warning says so.
func LimitOf(most int32, annotations map[string]string) (limit Limit, warning string) {
	limit.most = most
	text, set := annotations[samplev1alpha1.AnnotationMaxReplicas]
	if !set {
		return limit, ""
	}
	lower, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return limit, fmt.Sprintf("the namespace's annotation %s is ignored: %q is not an integer from 0 to 2147483647",
			samplev1alpha1.AnnotationMaxReplicas, text[:min(len(text), maxEcho)])
	}
	if int32(lower) < most {
		limit = Limit{most: int32(lower), lowered: true}
	}
	return limit, ""
}

// Judge holds replicas to the limit. stored is the number so far, nil for a new
// Foo: one that is too large already, since the limit was lowered, may stay or be
// made smaller, with a warning.
func (l Limit) Judge(path *field.Path, replicas int32, stored *int32) (warnings []string, errs field.ErrorList) {
	if replicas <= l.most {
		return nil, nil
	}
	if stored != nil && replicas <= *stored {
		return []string{fmt.Sprintf("%s: %d is more than is allowed by now, %s", path, replicas, l)}, nil
	}
	return nil, field.ErrorList{field.Invalid(path, replicas, "must be at most "+l.String()).WithOrigin(ruleReplicas)}
}

func (l Limit) String() string {
	if l.lowered {
		return fmt.Sprintf("%d, the limit of the namespace (annotation %s)", l.most, samplev1alpha1.AnnotationMaxReplicas)
	}
	return fmt.Sprintf("%d, the manager's limit (--foo-max-replicas)", l.most)
}
