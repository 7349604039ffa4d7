package v1

import "iter"

// Default gives the class of Networks that name none; see DefaultClass.
func (l *NetworkClassList) Default() *NetworkClass {
	return DefaultClass(func(yield func(*NetworkClass) bool) {
		for i := range l.Items {
			if !yield(&l.Items[i]) {
				return
			}
		}
	})
}

// DefaultClass gives the class of Networks that name none: the one with the annotation
// AnnotationIsDefaultClass, of several the oldest, then the first by name; nil
// when there is none. A class that is being deleted does not count.
func DefaultClass(classes iter.Seq[*NetworkClass]) *NetworkClass {
	var chosen *NetworkClass
	for class := range classes {
		if class.Annotations[AnnotationIsDefaultClass] != "true" || class.DeletionTimestamp != nil {
			continue
		}
		if chosen == nil || class.older(chosen) {
			chosen = class
		}
	}
	return chosen
}

func (c *NetworkClass) older(other *NetworkClass) bool {
	if !c.CreationTimestamp.Equal(&other.CreationTimestamp) {
		return c.CreationTimestamp.Before(&other.CreationTimestamp)
	}
	return c.Name < other.Name
}
