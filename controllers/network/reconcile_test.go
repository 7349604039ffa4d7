package network

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// TestWayOut: who waits for credentials with a deletion learns what else there is.
func TestWayOut(t *testing.T) {
	missing := providers.CredentialsMissing(time.Minute, "Credentials missing: why")
	var told *providers.Error
	if !errors.As(wayOut(missing), &told) || told.After != time.Minute || told.Message != "Credentials missing: why; the deletion waits for that, or set deletionPolicy to Retain to leave behind what there is" {
		t.Errorf("it says %+v", told)
	}
	if missing.Message != "Credentials missing: why" {
		t.Error("others who share the error are told, too")
	}
	away := providers.Unavailable(errors.New("away"))
	if err := wayOut(nil); err != nil {
		t.Error("no error becomes", err)
	}
	if err := wayOut(away); err.Error() != away.Error() {
		t.Error("another answer is changed into", err)
	}
}

// TestFail: what a backend answers decides when it is asked again, and what is shown.
func TestFail(t *testing.T) {
	away := providers.Unavailable(errors.New("away"))
	later := providers.Unavailable(errors.New("away"))
	later.After = 45 * time.Second
	for name, tc := range map[string]struct {
		err error
		// least and most bound the delay; 0 for none, where the error has the queue's.
		least, most time.Duration
		reason      string
	}{
		"soon":                     {err: away, reason: samplecrdv1.NetworkReasonBackendUnavailable},
		"soon, by another error":   {err: errors.New("what?"), reason: samplecrdv1.NetworkReasonBackendUnavailable},
		"slowly":                   {err: providers.Rejected(errors.New("no")), least: 4 * time.Minute, most: 6 * time.Minute, reason: samplecrdv1.NetworkReasonRejected},
		"slowly, for a quota":      {err: providers.QuotaExceeded(errors.New("no")), least: 4 * time.Minute, most: 6 * time.Minute, reason: samplecrdv1.NetworkReasonQuotaExceeded},
		"when the backend says":    {err: later, least: 45 * time.Second, most: 45 * time.Second, reason: samplecrdv1.NetworkReasonBackendUnavailable},
		"when the backend is free": {err: providers.Busy(2 * time.Second), least: 2 * time.Second, most: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p := &pass{network: &samplecrdv1.Network{}}
			err := p.fail(tc.err)
			if (err != nil) != (tc.most == 0) || p.result.RequeueAfter < tc.least || p.result.RequeueAfter > tc.most {
				t.Errorf("it is asked again after %v, with the error %v", p.result.RequeueAfter, err)
			}
			shown := meta.FindStatusCondition(p.network.Status.Conditions, samplecrdv1.NetworkConditionProgrammed)
			if (shown == nil) != (tc.reason == "") || shown != nil && shown.Reason != tc.reason || p.done != (tc.reason == "") {
				t.Errorf("it shows %+v, done is %t", shown, p.done)
			}
		})
	}
}
