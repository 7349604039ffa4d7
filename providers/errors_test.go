package providers_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

func TestAsError(t *testing.T) {
	conflict := providers.Conflict("taken")
	for name, tc := range map[string]struct {
		err        error
		wantReason string
		wantRetry  providers.Retry
	}{
		"an error of the contract is itself":            {conflict, samplecrdv1.NetworkReasonConflict, providers.RetrySlowly},
		"one that is wrapped is found":                  {fmt.Errorf("making the network: %w", conflict), samplecrdv1.NetworkReasonConflict, providers.RetrySlowly},
		"one of several is found":                       {errors.Join(errors.New("first"), conflict), samplecrdv1.NetworkReasonConflict, providers.RetrySlowly},
		"any other is a backend that cannot be reached": {errors.New("connection refused"), samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon},
		"a deadline is a backend that does not answer":  {context.DeadlineExceeded, samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon},
	} {
		t.Run(name, func(t *testing.T) {
			got := providers.AsError(tc.err)
			if got.Reason != tc.wantReason || got.Retry != tc.wantRetry {
				t.Errorf("got %s, retry %d; want %s, retry %d", got.Reason, got.Retry, tc.wantReason, tc.wantRetry)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	cause := errors.New("the cause")
	for name, tc := range map[string]struct {
		err         *providers.Error
		wantReason  string
		wantRetry   providers.Retry
		wantMessage string
		wantCause   bool
	}{
		"Unavailable":   {providers.Unavailable(cause), samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon, "the cause", true},
		"Conflict":      {providers.Conflict("network %q is taken", "x"), samplecrdv1.NetworkReasonConflict, providers.RetrySlowly, `network "x" is taken`, false},
		"QuotaExceeded": {providers.QuotaExceeded(cause), samplecrdv1.NetworkReasonQuotaExceeded, providers.RetrySlowly, "the cause", true},
		"Rejected":      {providers.Rejected(cause), samplecrdv1.NetworkReasonRejected, providers.RetrySlowly, "the cause", true},
		"Deleting":      {providers.Deleting("the port"), samplecrdv1.NetworkReasonPending, providers.RetrySlowly, "the port", false},
		"InUse":         {providers.InUse(providers.Users{Named: []string{"pod a"}}), samplecrdv1.NetworkReasonInUse, providers.RetrySlowly, "pod a", false},
		"InTheWay":      {providers.InTheWay(drains("10.0.0.0/24", "pod a")), samplecrdv1.NetworkReasonInUse, providers.RetrySlowly, "10.0.0.0/24 is still used by pod a", false},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.err.Reason != tc.wantReason || tc.err.Retry != tc.wantRetry {
				t.Errorf("got %s, retry %d; want %s, retry %d", tc.err.Reason, tc.err.Retry, tc.wantReason, tc.wantRetry)
			}
			if !strings.Contains(tc.err.Message, tc.wantMessage) || !strings.Contains(tc.err.Error(), tc.wantMessage) {
				t.Errorf("neither %q nor %q may miss %q", tc.err.Message, tc.err.Error(), tc.wantMessage)
			}
			if errors.Is(tc.err, cause) != tc.wantCause {
				t.Errorf("the cause is there: %t, want %t", !tc.wantCause, tc.wantCause)
			}
		})
	}
}

// What a backend says is shown in a status: one short line, whatever it is.
func TestMessagesAreShort(t *testing.T) {
	for name, text := range map[string]string{
		"a page of HTML":              strings.Repeat("<p>Internal Server Error</p>\r\n", 1000),
		"letters of several bytes":    strings.Repeat("é", 1000),
		"letters of other bytes":      "x" + strings.Repeat("世", 1000),
		"bytes that are no letters":   strings.Repeat("\xff\xfe", 1000),
		"a line break":                "first\nsecond\r\n\tthird",
		"nothing but white space":     " \n\t ",
		"exactly as much as is shown": strings.Repeat("x", 256),
	} {
		t.Run(name, func(t *testing.T) {
			for _, err := range []*providers.Error{
				providers.Unavailable(errors.New(text)), providers.QuotaExceeded(errors.New(text)), providers.Rejected(errors.New(text)),
			} {
				if got := len(err.Message); got > 320 {
					t.Errorf("%s: %d bytes", err.Reason, got)
				}
				if strings.ContainsAny(err.Message, "\r\n\t") {
					t.Errorf("%s: more than one line: %q", err.Reason, err.Message)
				}
				if !utf8.ValidString(err.Message) {
					t.Errorf("%s: not UTF-8: %q", err.Reason, err.Message)
				}
			}
		})
	}
	t.Run("a short text is shown whole", func(t *testing.T) {
		if got := providers.Rejected(errors.New(strings.Repeat("x", 256))).Message; !strings.HasSuffix(got, ": "+strings.Repeat("x", 256)) {
			t.Errorf("got %q", got)
		}
	})
	t.Run("a cut is visible", func(t *testing.T) {
		if got := providers.Rejected(errors.New(strings.Repeat("x", 257))).Message; !strings.HasSuffix(got, "x…") {
			t.Errorf("got %q", got)
		}
	})
}
