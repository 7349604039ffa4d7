package scaling

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// maxWarning is how much of a warning Kubernetes shows for certain.
const maxWarning = 256

func annotated(value string) map[string]string {
	return map[string]string{samplev1alpha1.AnnotationMaxReplicas: value}
}

func TestLimitOf(t *testing.T) {
	const most = 100
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        int32
		warns       bool
	}{
		"no annotations":                     {nil, most, false},
		"another annotation":                 {map[string]string{"max-replicas": "5"}, most, false},
		"a lower number":                     {annotated("5"), 5, false},
		"0 forbids every replica":            {annotated("0"), 0, false},
		"the same number":                    {annotated("100"), most, false},
		"a higher number raises nothing":     {annotated("101"), most, false},
		"the highest number raises nothing":  {annotated("2147483647"), most, false},
		"leading zeros are of no weight":     {annotated("005"), 5, false},
		"an empty value is ignored":          {annotated(""), most, true},
		"a space is":                         {annotated(" "), most, true},
		"a number with a space is":           {annotated("5 "), most, true},
		"a number below 0 is":                {annotated("-1"), most, true},
		"one below 0, just so":               {annotated("-0"), most, true},
		"a broken number is":                 {annotated("5.5"), most, true},
		"a whole number with a point is":     {annotated("5.0"), most, true},
		"a number with a sign is":            {annotated("+5"), most, true},
		"a word is":                          {annotated("abc"), most, true},
		"a word for no limit is":             {annotated("unlimited"), most, true},
		"a number in another base is":        {annotated("0x5"), most, true},
		"an exponent is":                     {annotated("1e1"), most, true},
		"a quantity is":                      {annotated("5k"), most, true},
		"a number with a comma is":           {annotated("1,000"), most, true},
		"a number with an underscore is":     {annotated("1_0"), most, true},
		"a digit that is not of ASCII is":    {annotated("٥"), most, true},
		"a number that no Foo can have is":   {annotated("2147483648"), most, true},
		"one that wraps to 5 is":             {annotated("4294967301"), most, true},
		"one that wraps to 5 in 64 bits is":  {annotated("18446744073709551621"), most, true},
		"a huge number is":                   {annotated(strings.Repeat("9", 1<<18)), most, true},
		"a long value that is no text is":    {annotated(strings.Repeat("\xff", 1<<18)), most, true},
		"a long value of wide letters is":    {annotated(strings.Repeat("网", 1<<16)), most, true},
		"a long value of control characters": {annotated(strings.Repeat("\x00", 1<<18)), most, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, warning := LimitOf(most, tc.annotations)
			if want := (Limit{most: tc.want, lowered: tc.want < most}); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if (warning != "") != tc.warns {
				t.Errorf("the warning is %q", warning)
			}
			if !utf8.ValidString(warning) || len(warning) > maxWarning {
				t.Errorf("%d bytes: %s", len(warning), warning)
			}
		})
	}
}

func TestWarningOfTheAnnotation(t *testing.T) {
	_, warning := LimitOf(100, annotated("5.5"))
	for _, want := range []string{"annotation samplecontroller.k8s.io/max-replicas", `"5.5"`, "ignored", "integer from 0 to 2147483647"} {
		if !strings.Contains(warning, want) {
			t.Errorf("%q does not say %q", warning, want)
		}
	}
}

func TestJudge(t *testing.T) {
	manager, _ := LimitOf(10, nil)
	namespace, _ := LimitOf(10, annotated("5"))
	nothing, _ := LimitOf(10, annotated("0"))
	for name, tc := range map[string]struct {
		limit    Limit
		replicas int32
		stored   *int32
		refused  bool
		warned   bool
	}{
		"a new Foo below the limit":                       {limit: manager, replicas: 9},
		"a new Foo at the limit":                          {limit: manager, replicas: 10},
		"a new Foo above it":                              {limit: manager, replicas: 11, refused: true},
		"AF-06: the largest number":                       {limit: manager, replicas: math.MaxInt32, refused: true},
		"a namespace's limit is held to":                  {limit: namespace, replicas: 6, refused: true},
		"one replica where none is allowed":               {limit: nothing, replicas: 1, refused: true},
		"none where none is allowed":                      {limit: nothing, replicas: 0},
		"what stays above a lowered limit":                {limit: namespace, replicas: 8, stored: new(int32(8)), warned: true},
		"smaller and still above":                         {limit: namespace, replicas: 7, stored: new(int32(8)), warned: true},
		"smaller, to the limit":                           {limit: namespace, replicas: 5, stored: new(int32(8))},
		"smaller, to nothing":                             {limit: namespace, replicas: 0, stored: new(int32(8))},
		"larger, and above already":                       {limit: namespace, replicas: 9, stored: new(int32(8)), refused: true},
		"larger, from below to above":                     {limit: namespace, replicas: 6, stored: new(int32(5)), refused: true},
		"larger, from nothing to above":                   {limit: namespace, replicas: 6, stored: new(int32(0)), refused: true},
		"larger, and within":                              {limit: namespace, replicas: 5, stored: new(int32(1))},
		"the form of a number is another's to judge":      {limit: namespace, replicas: -1},
		"a limit that no number reaches":                  {limit: Limit{most: math.MaxInt32}, replicas: math.MaxInt32},
		"a stored number below 0 is no licence to exceed": {limit: namespace, replicas: 6, stored: new(int32(-1)), refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			path := specPath.Child("replicas")
			warnings, errs := tc.limit.Judge(path, tc.replicas, tc.stored)
			var want []fault
			if tc.refused {
				want = invalid("replicas")
			}
			if got := faultsOf(errs); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", errs, want)
			}
			if (len(warnings) == 1) != tc.warned || len(warnings) > 1 {
				t.Errorf("got %q", warnings)
			}
		})
	}
}

// Refusal and warning say which number, which limit, and who set it.
func TestMessagesOfALimit(t *testing.T) {
	manager, _ := LimitOf(10, annotated("nonsense"))
	namespace, _ := LimitOf(10, annotated("5"))
	for name, tc := range map[string]struct {
		limit Limit
		want  []string
	}{
		"the manager's":   {manager, []string{"spec.replicas", "11", "10,", "--foo-max-replicas"}},
		"the namespace's": {namespace, []string{"spec.replicas", "11", "5,", "namespace", "samplecontroller.k8s.io/max-replicas"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := tc.limit.Judge(specPath.Child("replicas"), 11, nil)
			warnings, _ := tc.limit.Judge(specPath.Child("replicas"), 11, new(int32(11)))
			if len(errs) != 1 || len(warnings) != 1 {
				t.Fatalf("got %v, %q", errs, warnings)
			}
			for _, message := range []string{errs[0].Error(), warnings[0]} {
				for _, want := range tc.want {
					if !strings.Contains(message, want) {
						t.Errorf("%q does not say %q", message, want)
					}
				}
				if len(message) > maxWarning {
					t.Errorf("%d characters: %s", len(message), message)
				}
			}
		})
	}
}
