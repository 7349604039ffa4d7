package providers

import (
	"errors"
	"fmt"
	"strings"
	"time"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// Retry says when a failed call is worth repeating.
type Retry int

const (
	// RetrySoon repeats with growing delay: the fault is the backend's and passes.
	RetrySoon Retry = iota
	// RetrySlowly repeats every few minutes: somebody has to act, and the backend
	// may not tell when they have.
	RetrySlowly
)

// maxMessage bounds what of a backend's text enters a status, maxUsage what is
// said of users; in bytes.
const maxMessage, maxUsage = 256, 1024

// Error is a failed backend call: what to show, and when to try again.
type Error struct {
	// Reason is a reason of the condition Programmed (samplecrdv1.NetworkReason…); ""
	// where nothing was learned of the network, and its status stays as it is.
	Reason string
	// Message is a sentence for the condition. It names no other tenant's objects.
	Message string
	// Retry says when to repeat the call.
	Retry Retry
	// After is when to repeat it instead, where the backend knows; 0 where it does not.
	After time.Duration
	// Cause is the error behind it, if any.
	Cause error
}

// Error gives the message, and the cause behind it where the message does not.
func (e *Error) Error() string {
	if e.Cause != nil && !strings.HasSuffix(e.Message, e.Cause.Error()) {
		return fmt.Sprintf("%s: %v", e.Message, e.Cause)
	}
	return e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// AsError finds the *Error in err; anything else is a backend that does not
// answer as it should.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return Unavailable(err)
}

// Busy is a backend that has no hand free for this call. It wakes the Network by its
// watch when it has; after is for when it cannot.
func Busy(after time.Duration) *Error {
	return &Error{Message: "Busy with other networks", After: after}
}

// Unavailable is a backend that cannot be reached or fails on its own account.
func Unavailable(cause error) *Error {
	return &Error{Reason: samplecrdv1.NetworkReasonBackendUnavailable, Message: "Backend unavailable: " + excerpt(cause.Error()), Cause: cause}
}

// Conflict is a foreign object in the place of ours.
func Conflict(format string, args ...any) *Error {
	return &Error{Reason: samplecrdv1.NetworkReasonConflict, Message: fmt.Sprintf(format, args...), Retry: RetrySlowly}
}

// CredentialsMissing is a backend that cannot be asked for want of credentials that it
// takes.
func CredentialsMissing(after time.Duration, format string, args ...any) *Error {
	return &Error{Reason: samplecrdv1.NetworkReasonCredentialsMissing, Message: fmt.Sprintf(format, args...), After: after}
}

// Ambiguous is several networks with one mark: which of them is the Network's cannot be
// known.
func Ambiguous(format string, args ...any) *Error {
	return &Error{Reason: samplecrdv1.NetworkReasonAmbiguous, Message: fmt.Sprintf(format, args...), Retry: RetrySlowly}
}

// Unsettled is an earlier request that may still arrive at the backend.
func Unsettled(after time.Duration) *Error {
	return &Error{Reason: samplecrdv1.NetworkReasonPending, Message: "An earlier request, whose answer was lost, may still be under way", After: after}
}

// Contended is a network that somebody else changes or removes at the same time.
func Contended(cause error) *Error {
	return &Error{Reason: samplecrdv1.NetworkReasonPending, Message: "Somebody else changes or removes the network at the same time: " + excerpt(cause.Error()), Cause: cause}
}

// QuotaExceeded is a quota of the backend that is used up.
func QuotaExceeded(cause error) *Error {
	return &Error{Reason: samplecrdv1.NetworkReasonQuotaExceeded, Message: "Quota exceeded: " + excerpt(cause.Error()), Retry: RetrySlowly, Cause: cause}
}

// Rejected is a request that the backend will not fulfil as it stands.
func Rejected(cause error) *Error {
	return &Error{Reason: samplecrdv1.NetworkReasonRejected, Message: "Backend rejected the request: " + excerpt(cause.Error()), Retry: RetrySlowly, Cause: cause}
}

// Deleting is a removal that the backend has begun and not finished.
func Deleting(message string) *Error {
	return &Error{Reason: samplecrdv1.NetworkReasonPending, Message: message, Retry: RetrySlowly}
}

// InUse is a network that something still uses.
func InUse(by Users) *Error {
	return &Error{Reason: samplecrdv1.NetworkReasonInUse, Message: "Still used by " + cut(by.String(), maxUsage), Retry: RetrySlowly}
}

// InTheWay is a change that needs the room of what is used: nothing was changed.
func InTheWay(used ...Draining) *Error {
	return &Error{Reason: samplecrdv1.NetworkReasonInUse, Message: "Nothing is changed while what is asked overlaps what is used: " + Drained(used), Retry: RetrySlowly}
}

// excerpt keeps a backend's text to one short line.
func excerpt(text string) string { return cut(strings.Join(strings.Fields(text), " "), maxMessage) }

// cut bounds a text; what is missing is seen to be.
func cut(text string, most int) string {
	const missing = "…"
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(missing)], "") + missing
}
