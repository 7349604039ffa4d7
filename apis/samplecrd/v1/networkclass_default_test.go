package v1_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// class is a NetworkClass of the given age; annotation "" leaves it out.
func class(name string, second int64, annotation string) samplecrdv1.NetworkClass {
	c := samplecrdv1.NetworkClass{}
	c.Name, c.CreationTimestamp = name, metav1.Unix(second, 0)
	if annotation != "" {
		c.Annotations = map[string]string{samplecrdv1.AnnotationIsDefaultClass: annotation}
	}
	return c
}

func terminating(c samplecrdv1.NetworkClass) samplecrdv1.NetworkClass {
	c.DeletionTimestamp = new(metav1.NewTime(time.Unix(9000, 0)))
	return c
}

func TestDefault(t *testing.T) {
	for name, tc := range map[string]struct {
		classes []samplecrdv1.NetworkClass
		want    string // "" for none
	}{
		"no classes":                          {nil, ""},
		"none is marked":                      {[]samplecrdv1.NetworkClass{class("a", 1, "")}, ""},
		"the one that is marked":              {[]samplecrdv1.NetworkClass{class("a", 1, ""), class("b", 2, "true"), class("c", 3, "")}, "b"},
		"of two the older":                    {[]samplecrdv1.NetworkClass{class("a", 2, "true"), class("b", 1, "true")}, "b"},
		"of two the older, in either order":   {[]samplecrdv1.NetworkClass{class("b", 1, "true"), class("a", 2, "true")}, "b"},
		"of two of one age the first by name": {[]samplecrdv1.NetworkClass{class("b", 1, "true"), class("a", 1, "true")}, "a"},
		"of three the oldest":                 {[]samplecrdv1.NetworkClass{class("a", 3, "true"), class("b", 1, "true"), class("c", 2, "true")}, "b"},
		"one that is going does not count":    {[]samplecrdv1.NetworkClass{terminating(class("a", 1, "true"))}, ""},
		"nor beside a younger one":            {[]samplecrdv1.NetworkClass{terminating(class("a", 1, "true")), class("b", 2, "true")}, "b"},
		"false is no mark":                    {[]samplecrdv1.NetworkClass{class("a", 1, "false")}, ""},
		"neither is another spelling":         {[]samplecrdv1.NetworkClass{class("a", 1, "True"), class("b", 1, "yes"), class("c", 1, "1"), class("d", 1, " true")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			list := &samplecrdv1.NetworkClassList{Items: tc.classes}
			got := list.Default()
			switch {
			case got == nil:
				if tc.want != "" {
					t.Errorf("got none, want %s", tc.want)
				}
			case got.Name != tc.want:
				t.Errorf("got %s, want %q", got.Name, tc.want)
			}
		})
	}
}
