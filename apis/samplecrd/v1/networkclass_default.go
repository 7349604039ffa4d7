package v1

// Default gives the class of Networks that name none: the one with the annotation
// AnnotationIsDefaultClass, of several the oldest, then the first by name; nil
// when there is none. A class that is being deleted does not count.
func (l *NetworkClassList) Default() *NetworkClass {
	var chosen *NetworkClass
	for i := range l.Items {
		class := &l.Items[i]
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
