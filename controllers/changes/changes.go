// Package changes tells of what changes in the cache.
package changes

import (
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Handler calls changed with what was and what is; nil for nothing. One that was
// replaced by another of its name comes as a change from the one to the other.
func Handler[T client.Object](changed func(before, after T)) cache.ResourceEventHandler {
	var none T
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if after, known := object.(T); known {
				changed(none, after)
			}
		},
		UpdateFunc: func(was, is any) {
			before, known := was.(T)
			after, knownToo := is.(T)
			if known && knownToo {
				changed(before, after)
			}
		},
		DeleteFunc: func(object any) {
			if gone, missed := object.(cache.DeletedFinalStateUnknown); missed {
				object = gone.Obj
			}
			if before, known := object.(T); known {
				changed(before, none)
			}
		},
	}
}
