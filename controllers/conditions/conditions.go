// Package conditions writes the messages of conditions.
package conditions

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// most bounds a message, in bytes: parts of some are not ours.
const most = 1024

// Message bounds a text.
func Message(text string) string {
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// Faults makes one message of faults.
func Faults(errs field.ErrorList) string {
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return Message(strings.Join(texts, "; "))
}
