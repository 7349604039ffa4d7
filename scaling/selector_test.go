package scaling

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// CF-05: only a Deployment that the Foo would have made, that nobody has, and that
// is offered to this Foo, may be taken over.
func TestAdoptable(t *testing.T) {
	foo := &samplev1alpha1.Foo{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
	fitting := &metav1.LabelSelector{MatchLabels: Selector("x", "web")}
	offered := func(to string, owners ...metav1.OwnerReference) *metav1.ObjectMeta {
		return &metav1.ObjectMeta{
			Name: "web", OwnerReferences: owners,
			Annotations: map[string]string{samplev1alpha1.AnnotationAdoptBy: to},
		}
	}
	owner := func(controls bool) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "c", Controller: &controls}
	}
	for name, tc := range map[string]struct {
		deployment metav1.Object
		selector   *metav1.LabelSelector
		want       bool
	}{
		"a restored one that is offered":              {offered("x"), fitting, true},
		"one that somebody owns, but nobody controls": {offered("x", owner(false)), fitting, true},
		"one that is not offered":                     {&metav1.ObjectMeta{Name: "web"}, fitting, false},
		"one that is offered to another":              {offered("y"), fitting, false},
		"one that is offered to nobody":               {offered(""), fitting, false},
		"one that another controls":                   {offered("x", owner(true)), fitting, false},
		"one with another selector":                   {offered("x"), &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, false},
		"one with the selector of another Foo":        {offered("x"), &metav1.LabelSelector{MatchLabels: Selector("y", "web")}, false},
		"one with the selector of another name":       {offered("x"), &metav1.LabelSelector{MatchLabels: Selector("x", "db")}, false},
		"one without a selector":                      {offered("x"), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Adoptable(tc.deployment, tc.selector, foo); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
