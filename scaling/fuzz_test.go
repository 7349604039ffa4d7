package scaling

import (
	"math/big"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// FuzzValidate holds the rules to their promises for any text and number.
func FuzzValidate(f *testing.F) {
	for _, tc := range names {
		f.Add(tc.name, "", int32(1), "")
		f.Add("example-foo", tc.name, int32(0), "5")
	}
	for _, annotation := range []string{"0", "-1", "+5", "5.5", "007", "2147483648", "18446744073709551621", "\xff"} {
		f.Add("", "web", int32(-1), annotation)
	}
	f.Add(strings.Repeat("a", 254), strings.Repeat("_", 253), int32(-2147483648), strings.Repeat("9", 99))
	f.Add(strings.Repeat("\x00", 253), strings.Repeat("Å", 126), int32(2147483647), strings.Repeat("网", 99))

	f.Fuzz(func(t *testing.T, name, template string, replicas int32, annotation string) {
		spec := &samplev1alpha1.FooSpec{DeploymentName: name, PodTemplateName: template, Replicas: &replicas}
		before := spec.DeepCopy()
		errs := Validate(spec, specPath)
		if !reflect.DeepEqual(spec, before) {
			t.Error("the spec was changed")
		}
		good := map[string]bool{
			"spec.deploymentName":  legal(name),
			"spec.podTemplateName": template == "" || legal(template),
			"spec.replicas":        replicas >= 0,
		}
		for _, err := range errs {
			if sound, known := good[err.Field]; !known || sound {
				t.Errorf("%v is a fault of what is sound", err)
			}
			good[err.Field] = true // told of
			if !Unchanged(err, spec, spec) {
				t.Errorf("%v is of no known rule (%q)", err, err.Origin)
			}
			// Quoting may make four characters of each byte that was written.
			if got := len(err.Error()); got > 256+(4+1)*253 {
				t.Errorf("a message of %d characters: %v", got, err)
			}
			if _, better, offered := strings.Cut(err.Detail, "; write "); offered && len(Validate(&samplev1alpha1.FooSpec{DeploymentName: better}, specPath)) > 0 {
				t.Errorf("%q is offered in place of %q", better, err.BadValue)
			}
		}
		for field, sound := range good {
			if !sound {
				t.Errorf("%s of %+v has no fault", field, spec)
			}
		}
		checkLimit(t, replicas, annotation)
	})
}

// legal asks what the API server asks of a Deployment's and a PodTemplate's name.
func legal(name string) bool { return len(apivalidation.NameIsDNSSubdomain(name, false)) == 0 }

var integer = regexp.MustCompile(`^[0-9]+$`)

// checkLimit reads the annotation in another way.
func checkLimit(t *testing.T, replicas int32, annotation string) {
	const most = 100
	want, ignored := big.NewInt(most), true
	if integer.MatchString(annotation) {
		number, _ := new(big.Int).SetString(annotation, 10)
		if ignored = number.Cmp(big.NewInt(1<<31)) >= 0; number.Cmp(want) < 0 {
			want = number
		}
	}
	limit, warning := LimitOf(most, annotated(annotation))
	if int64(limit.most) != want.Int64() || ignored != (warning != "") {
		t.Errorf("%q limits to %d with %q, want %s", annotation, limit.most, warning, want)
	}
	if !utf8.ValidString(warning) || len(warning) > maxWarning {
		t.Errorf("%d bytes: %s", len(warning), warning)
	}
	_, errs := limit.Judge(specPath.Child("replicas"), replicas, nil)
	if refused := len(errs) > 0; refused != (replicas > limit.most) {
		t.Errorf("%d is refused: %t, by a limit of %d", replicas, refused, limit.most)
	}
}
