package foo

import (
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/scaling"
)

// change edits a spec.
type change func(*samplev1alpha1.FooSpec)

// foo is a Foo of one replica of Deployment web, changed.
func foo(changes ...change) *samplev1alpha1.Foo {
	f := &samplev1alpha1.Foo{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x", UID: "uid-of-x"}}
	f.Spec.DeploymentName, f.Spec.Replicas = "web", new(int32(1))
	for _, change := range changes {
		change(&f.Spec)
	}
	return f
}

func name(text string) change { return func(s *samplev1alpha1.FooSpec) { s.DeploymentName = text } }
func replicas(n int32) change { return func(s *samplev1alpha1.FooSpec) { s.Replicas = &n } }
func noReplicas(s *samplev1alpha1.FooSpec) {
	s.Replicas = nil
}
func template(text string) change {
	return func(s *samplev1alpha1.FooSpec) { s.PodTemplateName = text }
}

// limited is what is known in a namespace of this limit.
func limited(limit string) *facts {
	known := &facts{}
	known.limit, known.limitWarning = scaling.LimitOf(most, namespace(limit).Annotations)
	return known
}

// fault is what a test compares of a field.Error.
type fault struct {
	Type  field.ErrorType
	Field string
}

func faultsOf(errs field.ErrorList) []fault {
	var faults []fault
	for _, err := range errs {
		faults = append(faults, fault{err.Type, err.Field})
	}
	return faults
}

func invalid(paths ...string) []fault {
	var faults []fault
	for _, path := range paths {
		faults = append(faults, fault{field.ErrorTypeInvalid, "spec." + path})
	}
	return faults
}

func TestDefault(t *testing.T) {
	for name, tc := range map[string]struct{ object, old, want *samplev1alpha1.Foo }{
		"absent replicas are 1":                     {foo(noReplicas), nil, foo(replicas(1))},
		"on update they are 1 too, not what is old": {foo(noReplicas), foo(replicas(5)), foo(replicas(1))},
		"0 stays":                                {foo(replicas(0)), nil, foo(replicas(0))},
		"what is bad stays":                      {foo(replicas(-1), name("a b")), nil, foo(replicas(-1), name("a b"))},
		"neither name nor template is filled in": {foo(name("")), foo(template("web")), foo(name(""))},
	} {
		t.Run(name, func(t *testing.T) {
			(&webhook{}).Default(tc.object, tc.old, &facts{})
			if !reflect.DeepEqual(tc.object, tc.want) {
				t.Errorf("got %+v, want %+v", tc.object.Spec, tc.want.Spec)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		object *samplev1alpha1.Foo
		facts  *facts
		want   []fault
	}{
		"a sound one":                        {foo(), limited("-"), nil},
		"as many as the manager allows":      {foo(replicas(most)), limited("-"), nil},
		"one more":                           {foo(replicas(most + 1)), limited("-"), invalid("replicas")},
		"as many as the namespace allows":    {foo(replicas(5)), limited("5"), nil},
		"one more than that":                 {foo(replicas(6)), limited("5"), invalid("replicas")},
		"a namespace cannot allow more":      {foo(replicas(most + 1)), limited("100"), invalid("replicas")},
		"a limit that is no number is none":  {foo(replicas(most)), limited("five"), nil},
		"absent replicas are held to it too": {foo(noReplicas), limited("0"), invalid("replicas")},
		"none where none is allowed":         {foo(replicas(0)), limited("0"), nil},
		"every fault at once":                {foo(name("a b"), replicas(11), template("c d")), limited("-"), invalid("deploymentName", "podTemplateName", "replicas")},
		"below 0 is one fault, not two":      {foo(replicas(-1)), limited("0"), invalid("replicas")},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, errs := (&webhook{}).Validate(tc.object, nil, tc.facts)
			if got := faultsOf(errs); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", errs, tc.want)
			}
			if len(errs) > 0 && len(warnings) > 0 {
				t.Errorf("a refusal warns as well: %q", warnings)
			}
		})
	}
}

// Rule 8: what is stored already never blocks a change of something else.
func TestRatcheting(t *testing.T) {
	long := strings.Repeat("a", 254)
	for name, tc := range map[string]struct {
		old, object *samplev1alpha1.Foo
		limit       string
		want        []fault
		warns       bool
	}{
		"a bad name stays while the replicas change":        {foo(name("a b")), foo(name("a b"), replicas(2)), "-", nil, false},
		"a bad name may become a good one":                  {foo(name("a b")), foo(), "-", nil, false},
		"a bad name may not become another bad one":         {foo(name("a b")), foo(name("c d")), "-", invalid("deploymentName"), false},
		"a good name may not become a bad one":              {foo(), foo(name("a b")), "-", invalid("deploymentName"), false},
		"AF-10: an empty name stays":                        {foo(name("")), foo(name(""), replicas(2)), "-", nil, false},
		"AF-10: a good name may not become empty":           {foo(), foo(name("")), "-", []fault{{field.ErrorTypeRequired, "spec.deploymentName"}}, false},
		"a long name stays":                                 {foo(name(long)), foo(name(long), replicas(2)), "-", nil, true},
		"a long name is judged by all of it":                {foo(name(long + "a")), foo(name(long + "b")), "-", []fault{{field.ErrorTypeTooLong, "spec.deploymentName"}}, false},
		"replicas below 0 stay while the name changes":      {foo(replicas(-1)), foo(replicas(-1), name("db")), "-", nil, false},
		"replicas below 0 may not become others":            {foo(replicas(-1)), foo(replicas(-2)), "-", invalid("replicas"), false},
		"replicas below 0 may be made right":                {foo(replicas(-1)), foo(replicas(1)), "-", nil, false},
		"replicas below 0 may be taken off":                 {foo(replicas(-1)), foo(noReplicas), "-", nil, false},
		"a bad template stays while the replicas change":    {foo(template("a b")), foo(template("a b"), replicas(2)), "-", nil, false},
		"a bad template may go":                             {foo(template("a b")), foo(), "-", nil, false},
		"a bad template may not become another":             {foo(template("a b")), foo(template("c d")), "-", invalid("podTemplateName"), false},
		"only what is new is refused":                       {foo(name("a b")), foo(name("a b"), replicas(-1), template("c d")), "-", invalid("replicas", "podTemplateName"), false},
		"a good name and a bad one kept: replicas too many": {foo(name("a b")), foo(name("a b"), replicas(11)), "-", invalid("replicas"), false},
		"too many stay while the name changes":              {foo(replicas(8)), foo(replicas(8), name("db")), "5", nil, true},
		"too many may be made fewer":                        {foo(replicas(8)), foo(replicas(7)), "5", nil, true},
		"too many may be made few enough":                   {foo(replicas(8)), foo(replicas(5)), "5", nil, false},
		"too many may not be made more":                     {foo(replicas(8)), foo(replicas(9)), "5", invalid("replicas"), false},
		"few enough may not be made too many":               {foo(replicas(5)), foo(replicas(6)), "5", invalid("replicas"), false},
		"absent ones were 1: they stay where 0 is allowed":  {foo(noReplicas), foo(noReplicas, name("db")), "0", nil, true},
		"absent ones were 1: not 2 where 0 is allowed":      {foo(noReplicas), foo(replicas(2)), "0", invalid("replicas"), false},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, errs := (&webhook{}).Validate(tc.object, tc.old, limited(tc.limit))
			if got := faultsOf(errs); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", errs, tc.want)
			}
			if (len(warnings) == 1) != tc.warns || len(warnings) > 1 {
				t.Errorf("got %q", warnings)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	huge := strings.Repeat("a", 253)
	with := func(d *appsv1.Deployment, rivals ...string) *facts {
		known := limited("-")
		known.deployment, known.rivals = d, rivals
		return known
	}
	templateMissing := func(known *facts) *facts { known.templateMissing = true; return known }
	for name, tc := range map[string]struct {
		object *samplev1alpha1.Foo
		facts  *facts
		want   [][]string // what each warning holds
	}{
		"nothing to warn of":                         {foo(), limited("-"), nil},
		"a Deployment that is nobody's":              {foo(), with(deployment("web")), [][]string{{"spec.deploymentName", "Deployment web exists", "waits"}}},
		"a Deployment of another Foo":                {foo(), with(deployment("web", controlledBy("uid-of-y"))), [][]string{{"Deployment web exists"}}},
		"its own Deployment":                         {foo(), with(deployment("web", controlledBy("uid-of-x"))), nil},
		"its own, which another Foo names too":       {foo(), with(deployment("web", controlledBy("uid-of-x")), "y"), nil},
		"one that is offered to it":                  {foo(), with(deployment("web", offeredTo("x"), madeBy("x"))), nil},
		"one that is offered and does not fit":       {foo(), with(deployment("web", offeredTo("x"))), [][]string{{"Deployment web exists"}}},
		"one that is offered to another":             {foo(), with(deployment("web", offeredTo("y"), madeBy("x"))), [][]string{{"Deployment web exists"}}},
		"one that is offered and not free":           {foo(), with(deployment("web", controlledBy("uid-of-y"), offeredTo("x"), madeBy("x"))), [][]string{{"Deployment web exists"}}},
		"another Foo of the same Deployment":         {foo(), with(nil, "y"), [][]string{{"spec.deploymentName", "Foo y names Deployment web", "older"}}},
		"of several the first by name, always":       {foo(), with(nil, "z", "b", "y"), [][]string{{"Foo b names"}}},
		"another's Deployment weighs more than Foos": {foo(), with(deployment("web"), "y"), [][]string{{"Deployment web exists"}}},
		"a template that is not there":               {foo(template("web")), templateMissing(limited("-")), [][]string{{"spec.podTemplateName", "PodTemplate web not found", "waits"}}},
		"a limit that is no number":                  {foo(), limited("five"), [][]string{{"annotation samplecontroller.k8s.io/max-replicas", `"five"`}}},
		"a name with which no Pods can be made":      {foo(name(huge[:243])), limited("-"), [][]string{{"spec.deploymentName", "242"}}},
		"the longest names": {
			foo(name(huge), template(huge)), templateMissing(with(nil, huge)), [][]string{{"242"}, {"Foo aaa"}, {"PodTemplate aaa"}},
		},
		"all of them": {
			foo(name(huge), template(huge)), templateMissing(func() *facts { known := limited("?"); known.deployment = deployment(huge); return known }()),
			[][]string{{`"?"`}, {"242"}, {"Deployment aaa"}, {"PodTemplate aaa"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			warnings, errs := (&webhook{}).Validate(tc.object, nil, tc.facts)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			if len(warnings) != len(tc.want) {
				t.Fatalf("got %q, want %d", warnings, len(tc.want))
			}
			for i, parts := range tc.want {
				for _, want := range parts {
					if !strings.Contains(warnings[i], want) {
						t.Errorf("%q does not say %q", warnings[i], want)
					}
				}
				if len(warnings[i]) > 256 || strings.HasPrefix(warnings[i], "Warning") {
					t.Errorf("%d characters: %q", len(warnings[i]), warnings[i])
				}
			}
		})
	}
}

func TestSameSpec(t *testing.T) {
	labelled := foo()
	labelled.Labels, labelled.Finalizers, labelled.Status.Replicas = map[string]string{"a": "b"}, []string{"f"}, new(int32(3))
	for name, tc := range map[string]struct {
		other *samplev1alpha1.Foo
		want  bool
	}{
		"the same":                       {foo(), true},
		"labels, finalizers, status":     {labelled, true},
		"another number":                 {foo(replicas(2)), false},
		"no number is another":           {foo(noReplicas), false},
		"another name":                   {foo(name("db")), false},
		"another template":               {foo(template("web")), false},
		"the same number somewhere else": {foo(replicas(1)), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (&webhook{}).SameSpec(foo(), tc.other); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
