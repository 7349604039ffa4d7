package scaling

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

var specPath = field.NewPath("spec")

// change edits a spec.
type change func(*samplev1alpha1.FooSpec)

// foo is the spec of the original's example, changed.
func foo(changes ...change) *samplev1alpha1.FooSpec {
	spec := &samplev1alpha1.FooSpec{DeploymentName: "example-foo", Replicas: new(int32(1))}
	for _, change := range changes {
		change(spec)
	}
	return spec
}

func name(text string) change { return func(s *samplev1alpha1.FooSpec) { s.DeploymentName = text } }
func replicas(n int32) change { return func(s *samplev1alpha1.FooSpec) { s.Replicas = &n } }
func noReplicas(s *samplev1alpha1.FooSpec) {
	s.Replicas = nil
}
func template(text string) change {
	return func(s *samplev1alpha1.FooSpec) { s.PodTemplateName = text }
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

func invalid(path string) []fault { return []fault{{field.ErrorTypeInvalid, "spec." + path}} }
func tooLong(path string) []fault { return []fault{{field.ErrorTypeTooLong, "spec." + path}} }

// names are what may stand where a Deployment or a PodTemplate is named, and what
// is offered in place of a bad one; "" for nothing.
var names = map[string]struct {
	name       string
	bad        bool
	wantBetter string
}{
	"AF-08: a name with a dot":              {name: "web.v1"},
	"AF-08: a name that begins with a 1":    {name: "1web"},
	"AF-08: a name with an underscore":      {name: "drain-node_manager", bad: true, wantBetter: "drain-node-manager"},
	"AF-08: a dash in front":                {name: "-web", bad: true, wantBetter: "web"},
	"AF-08: a dash behind":                  {name: "web-", bad: true, wantBetter: "web"},
	"AF-08: a space inside":                 {name: "a b", bad: true, wantBetter: "a-b"},
	"AF-08: a slash inside":                 {name: "web/1", bad: true, wantBetter: "web-1"},
	"one letter":                            {name: "a"},
	"one digit":                             {name: "7"},
	"dashes inside":                         {name: "a--b"},
	"labels that are numbers":               {name: "10.0.0.1"},
	"a label longer than DNS has":           {name: strings.Repeat("a", 64) + ".b"},
	"253 characters":                        {name: strings.Repeat("a", 253)},
	"upper case":                            {name: "Web", bad: true, wantBetter: "web"},
	"all upper case":                        {name: "WEB-1", bad: true, wantBetter: "web-1"},
	"camel case":                            {name: "exampleFoo", bad: true, wantBetter: "examplefoo"},
	"spaces around":                         {name: " web ", bad: true, wantBetter: "web"},
	"a line end":                            {name: "web\n", bad: true, wantBetter: "web"},
	"a control character":                   {name: "we\x00b", bad: true, wantBetter: "we-b"},
	"a letter that is not of ASCII":         {name: "café", bad: true, wantBetter: "caf"},
	"letters none of which are of ASCII":    {name: "网络", bad: true},
	"a digit that is not of ASCII":          {name: "web-١", bad: true, wantBetter: "web"},
	"bytes that are no text":                {name: "we\xff\xfeb", bad: true, wantBetter: "we-b"},
	"a placeholder":                         {name: "<deployment name>", bad: true, wantBetter: "deployment-name"},
	"a template that was never filled in":   {name: "{{ .Values.name }}", bad: true, wantBetter: "values.name"},
	"a namespace in front":                  {name: "default/web", bad: true, wantBetter: "default-web"},
	"only dashes":                           {name: "--", bad: true},
	"only a dot":                            {name: ".", bad: true},
	"a dot in front":                        {name: ".web", bad: true, wantBetter: "web"},
	"a dot behind":                          {name: "web.", bad: true, wantBetter: "web"},
	"two dots":                              {name: "web..v1", bad: true, wantBetter: "web.v1"},
	"a dash beside a dot":                   {name: "web-.v1", bad: true, wantBetter: "web.v1"},
	"252 characters and an underscore":      {name: strings.Repeat("a", 252) + "_", bad: true, wantBetter: strings.Repeat("a", 252)},
	"many characters for one: no dash each": {name: "a___b", bad: true, wantBetter: "a-b"},
}

func TestNames(t *testing.T) {
	for field, set := range map[string]func(string) change{"deploymentName": name, "podTemplateName": template} {
		for name, tc := range names {
			t.Run(field+": "+name, func(t *testing.T) {
				errs := Validate(foo(set(tc.name)), specPath)
				if !tc.bad {
					if len(errs) > 0 {
						t.Errorf("refused: %v", errs)
					}
					return
				}
				if got := faultsOf(errs); !reflect.DeepEqual(got, invalid(field)) {
					t.Fatalf("got %v, want one invalid spec.%s", errs, field)
				}
				if errs[0].BadValue != tc.name {
					t.Errorf("the value is %q", errs[0].BadValue)
				}
				_, better, offered := strings.Cut(errs[0].Detail, "; write ")
				if better != tc.wantBetter || offered != (tc.wantBetter != "") {
					t.Errorf("%q is offered, want %q: %s", better, tc.wantBetter, errs[0].Detail)
				}
			})
		}
	}
}

func TestValidate(t *testing.T) {
	required := []fault{{field.ErrorTypeRequired, "spec.deploymentName"}}
	for name, tc := range map[string]struct {
		spec *samplev1alpha1.FooSpec
		want []fault
	}{
		"the original's example":         {foo(), nil},
		"AF-10: an empty name":           {foo(name("")), required},
		"AF-10: nothing at all":          {&samplev1alpha1.FooSpec{}, required},
		"a name of 254 characters":       {foo(name(strings.Repeat("a", 254))), tooLong("deploymentName")},
		"a name of a megabyte":           {foo(name(strings.Repeat("_", 1<<20))), tooLong("deploymentName")},
		"254 characters of a template":   {foo(template(strings.Repeat("a", 254))), tooLong("podTemplateName")},
		"a template that is named":       {foo(template("web")), nil},
		"no template":                    {foo(template("")), nil},
		"AF-01: absent replicas":         {foo(noReplicas), nil},
		"no replicas":                    {foo(replicas(0)), nil},
		"as many replicas as there are":  {foo(replicas(math.MaxInt32)), nil},
		"AF-05: replicas below nothing":  {foo(replicas(-1)), invalid("replicas")},
		"AF-05: replicas far below that": {foo(replicas(math.MinInt32)), invalid("replicas")},
		"every fault at once": {foo(name("a b"), replicas(-1), template("c d")), []fault{
			{field.ErrorTypeInvalid, "spec.deploymentName"}, {field.ErrorTypeInvalid, "spec.replicas"}, {field.ErrorTypeInvalid, "spec.podTemplateName"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			errs := Validate(tc.spec, specPath)
			if got := faultsOf(errs); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %v, want %v", errs, tc.want)
			}
		})
	}
}

// A refusal names the field, the value and what would be right.
func TestMessages(t *testing.T) {
	for name, tc := range map[string]struct {
		spec *samplev1alpha1.FooSpec
		want []string
	}{
		"a bad name":           {foo(name("drain-node_manager")), []string{"spec.deploymentName", `"drain-node_manager"`, "a Deployment", "lower case letters", "write drain-node-manager"}},
		"a bad template":       {foo(template("My Web")), []string{"spec.podTemplateName", `"My Web"`, "a PodTemplate", "write my-web"}},
		"no name":              {foo(name("")), []string{"spec.deploymentName", "Required value", "for example example-foo"}},
		"a name that is long":  {foo(name(strings.Repeat("a", 254))), []string{"spec.deploymentName", "may not be more than 253"}},
		"replicas below 0":     {foo(replicas(-1)), []string{"spec.replicas", "-1", "must be 0 or more"}},
		"replicas far below 0": {foo(replicas(math.MinInt32)), []string{"spec.replicas", "-2147483648"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := fmt.Sprint(Validate(tc.spec, specPath).ToAggregate())
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("%q does not say %q", got, want)
				}
			}
		})
	}
	t.Run("a megabyte is not echoed", func(t *testing.T) {
		huge := strings.Repeat("_", 1<<20)
		if got := Validate(foo(name(huge), template(huge)), specPath).ToAggregate().Error(); len(got) > 256 {
			t.Errorf("a message of %d characters", len(got))
		}
	})
}

func TestReplicas(t *testing.T) {
	for name, tc := range map[string]struct {
		spec *samplev1alpha1.FooSpec
		want int32
	}{
		"absent means the default":  {foo(noReplicas), DefaultReplicas},
		"0 stays 0":                 {foo(replicas(0)), 0},
		"what is there stays":       {foo(replicas(7)), 7},
		"what is bad stays as well": {foo(replicas(-1)), -1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Replicas(tc.spec); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

// A fault is forgiven as long as the field that its rule reads has not changed; a
// test for every rule, and for every field.
func TestUnchanged(t *testing.T) {
	changes := map[string]change{"deploymentName": name("another"), "replicas": replicas(9), "podTemplateName": template("another")}
	for name, tc := range map[string]struct {
		spec          *samplev1alpha1.FooSpec
		origin, field string
	}{
		"a bad name":       {foo(name("a b")), ruleDeploymentName, "deploymentName"},
		"no name":          {foo(name("")), ruleDeploymentName, "deploymentName"},
		"a long name":      {foo(name(strings.Repeat("a", 254))), ruleDeploymentName, "deploymentName"},
		"bad replicas":     {foo(replicas(-1)), ruleReplicas, "replicas"},
		"a bad template":   {foo(template("a b")), rulePodTemplateName, "podTemplateName"},
		"a long template":  {foo(template(strings.Repeat("a", 254))), rulePodTemplateName, "podTemplateName"},
		"all, with a name": {foo(name("a b"), replicas(-1), template("a b")), ruleDeploymentName, "deploymentName"},
	} {
		t.Run(name, func(t *testing.T) {
			fault := Validate(tc.spec, specPath)[0]
			if fault.Origin != tc.origin {
				t.Fatalf("the fault is of %q: %v", fault.Origin, fault)
			}
			if !Unchanged(fault, tc.spec, tc.spec.DeepCopy()) {
				t.Error("nothing changed, and yet it did")
			}
			for name, change := range changes {
				after := tc.spec.DeepCopy()
				change(after)
				if got := Unchanged(fault, tc.spec, after); got == (name == tc.field) {
					t.Errorf("with another %s unchanged is %t", name, got)
				}
			}
		})
	}
	t.Run("a number that is written out is the one that was meant", func(t *testing.T) {
		fault := field.Invalid(specPath.Child("replicas"), 1, "").WithOrigin(ruleReplicas)
		if !Unchanged(fault, foo(noReplicas), foo(replicas(DefaultReplicas))) {
			t.Error("absent is another than the default")
		}
	})
	t.Run("a fault that is not of these rules is not forgiven", func(t *testing.T) {
		if Unchanged(field.Invalid(specPath.Child("replicas"), -1, ""), foo(), foo()) {
			t.Error("it is")
		}
	})
}

func TestWarnings(t *testing.T) {
	for name, tc := range map[string]struct {
		spec *samplev1alpha1.FooSpec
		want bool
	}{
		"a short name": {foo(), false},
		"242 characters, with which Pods can be made": {foo(name(strings.Repeat("a", 242))), false},
		"243, with which they cannot":                 {foo(name(strings.Repeat("a", 243))), true},
		"the longest name":                            {foo(name(strings.Repeat("a", 253))), true},
		"a long template makes no name":               {foo(template(strings.Repeat("a", 253))), false},
	} {
		t.Run(name, func(t *testing.T) {
			got := Warnings(tc.spec, specPath)
			if (len(got) == 1) != tc.want || len(got) > 1 {
				t.Fatalf("got %q", got)
			}
			for _, warning := range got {
				if len(warning) > maxWarning || !strings.HasPrefix(warning, "spec.deploymentName: ") || !strings.Contains(warning, "242") {
					t.Errorf("%d characters: %s", len(warning), warning)
				}
			}
		})
	}
}
