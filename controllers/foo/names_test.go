package foo

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/samplecrd/samplecrd/scaling"
)

// names are of every length, and such as DNS names may be.
func names() []string {
	long := strings.Repeat("long-name-", 7)
	names := []string{"a", "web.v1", "1web", "10.0.0.1", "a-b", strings.Repeat("a.", 31) + "a", strings.Repeat("a", 62) + ".b", strings.Repeat("a", 41) + "." + strings.Repeat("b", 40)}
	for _, length := range []int{40, 41, 42, 43, 44, 61, 62, 63, 64, 65, 70, 126, 127, 128, 252, 253} {
		names = append(names, strings.Repeat("a", length), strings.Repeat("a", length-1)+"b", strings.Repeat("a", length-2)+"-b")
	}
	// Of 70 characters, and some that share its first 63.
	return append(names, long[:69]+"x", long[:69]+"y", long[:63]+"-z", long[:63]+"1")
}

// labelValue is what a Foo's name becomes in the selector.
func labelValue(name string) string {
	return scaling.Selector(name, "web")["app.kubernetes.io/instance"]
}

func TestLabelValue(t *testing.T) {
	values := map[string]string{}
	for _, name := range names() {
		value := labelValue(name)
		if faults := validation.IsValidLabelValue(value); len(faults) > 0 {
			t.Errorf("%s becomes %s: %v", name, value, faults)
		}
		if len(name) <= 63 && value != name {
			t.Errorf("%s, which is short, becomes %s", name, value)
		}
		if other, taken := values[value]; taken && other != name {
			t.Errorf("%s and %s become %s", name, other, value)
		}
		values[value] = name
		// No short name is a label's value of a long one, whoever tries.
		if len(name) > 63 && len(validation.IsDNS1123Subdomain(value)) == 0 {
			t.Errorf("%s becomes %s, which may be a name itself", name, value)
		}
		if again := labelValue(name); again != value {
			t.Errorf("%s becomes %s, and then %s", name, value, again)
		}
	}
}

// A restored Foo must fit a restored Deployment for ever: these may not change.
func TestLabelValueStays(t *testing.T) {
	for name, want := range map[string]string{
		"example-foo": "example-foo",
		strings.Repeat("long-name-", 7)[:69] + "x": "long-name-long-name-long-name-long-name-lo_0de57f00571d8719553b",
		strings.Repeat("a", 253):                   strings.Repeat("a", 42) + "_32859a3ab65ac52932e1",
	} {
		t.Run(name, func(t *testing.T) {
			if got := labelValue(name); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// The Pods of one Deployment of one Foo are no others'.
func TestSelectorsAreApart(t *testing.T) {
	seen := map[string]string{}
	for _, pair := range [][2]string{
		{"a-b", "c"}, {"a", "b-c"}, {"c", "a-b"}, {"a-b-c", "a"}, {"a", "a-b-c"}, {"a.b", "c"}, {"a", "b.c"},
		{strings.Repeat("long-name-", 6) + "-first", "short"}, {strings.Repeat("long-name-", 6) + "-other", "short"},
		{"short", strings.Repeat("long-name-", 6) + "-first"}, {"short", strings.Repeat("long-name-", 6) + "-other"},
	} {
		selector := desiredOf(t, newFoo(pair[0], pair[1]), nil).Spec.Selector.MatchLabels
		key := fmt.Sprint(selector)
		if other, taken := seen[key]; taken {
			t.Errorf("%v and %s have the selector %s", pair, other, key)
		}
		seen[key] = fmt.Sprint(pair)
	}
}

// CF-15: whatever the names, the Deployment is one that the API server takes: sound
// labels, and a selector that selects its own Pods.
func TestCF15Names(t *testing.T) {
	for _, name := range names() {
		for _, deploymentName := range []string{"short", name} {
			deployment := desiredOf(t, newFoo(name, deploymentName), nil)
			for key, value := range deployment.Labels {
				if faults := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); len(faults) > 0 {
					t.Errorf("%s: label %s=%s: %v", name, key, value, faults)
				}
			}
			selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
			if err != nil || !selector.Matches(labels.Set(deployment.Spec.Template.Labels)) {
				t.Errorf("%s: selector %v does not select %v: %v", name, selector, deployment.Spec.Template.Labels, err)
			}
			if faults := validation.IsDNS1123Label(deployment.Spec.Template.Spec.Containers[0].Name); len(faults) > 0 {
				t.Errorf("%s: the container: %v", name, faults)
			}
		}
	}
}

// A restored Deployment fits a restored Foo: nothing of its selector is of the UID.
func TestSelects(t *testing.T) {
	before, after := newFoo("x", "web"), newFoo("x", "web")
	after.UID, after.Generation, after.Spec.Replicas, after.Spec.PodTemplateName = "another", 9, nil, "web"
	restored := desiredOf(t, before, nil)
	with := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
		d := restored.DeepCopy()
		change(d)
		return d
	}
	for name, tc := range map[string]struct {
		deployment              *appsv1.Deployment
		fooName, deploymentName string
		want                    bool
	}{
		"its own":                  {restored, "x", "web", true},
		"one of after the restore": {desiredOf(t, after, fullTemplate()), "x", "web", true},
		"one of another Foo":       {restored, "y", "web", false},
		"one of another name":      {restored, "x", "db", false},
		"one without a selector":   {&appsv1.Deployment{}, "x", "web", false},
		"one that selects by app":  {with(func(d *appsv1.Deployment) { d.Spec.Selector.MatchLabels = map[string]string{"app": "web"} }), "x", "web", false},
		"one that selects by less": {with(func(d *appsv1.Deployment) { delete(d.Spec.Selector.MatchLabels, "app.kubernetes.io/instance") }), "x", "web", false},
		"one that selects by more": {with(func(d *appsv1.Deployment) { d.Spec.Selector.MatchLabels["app"] = "web" }), "x", "web", false},
		"one that selects by expression": {with(func(d *appsv1.Deployment) {
			d.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}
		}), "x", "web", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := scaling.Selects(tc.deployment.Spec.Selector, tc.fooName, tc.deploymentName); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
