package certs

import (
	"fmt"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	certmanagermeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tolerance is how long issuing, or anything that comes before it, may take. Issuers
// that sign for a cluster answer in seconds. cert-manager's own do not fail when the
// issuer or its CA is missing or not ready: their requests stay pending for good.
const tolerance = 2 * time.Minute

// verdict is what a Certificate's status says of its renewal. The zero value: nothing
// is wrong.
type verdict struct {
	failing bool
	// again says that an attempt after a failed one is under way, whose outcome is
	// not known.
	again bool
	// reason and message are the condition's that tells of the failure, or ours where
	// nothing has happened that should have.
	reason, message string
}

// judge says whether renewing a Certificate fails, be its pair still valid or not:
// an attempt failed, or issuing does not get on, or did not begin when it was due.
func judge(certificate *certmanagerv1.Certificate, now time.Time) verdict {
	status := certificate.Status
	issuing, ready := condition(certificate, certmanagerv1.CertificateConditionIssuing), condition(certificate, certmanagerv1.CertificateConditionReady)
	inProgress := issuing.Status == certmanagermeta.ConditionTrue
	// cert-manager takes both away when issuing succeeds, and leaves them during the
	// next attempt. Older versions wrote the time alone.
	failed := status.LastFailureTime != nil || status.FailedIssuanceAttempts != nil
	late := func(since *metav1.Time) bool { return since != nil && now.Sub(since.Time) > tolerance }
	switch {
	case failed && inProgress:
		return verdict{failing: true, again: true, reason: issuing.Reason, message: "An attempt failed, another one is under way: " + issuing.Message}
	case failed:
		return verdict{failing: true, reason: issuing.Reason, message: issuing.Message}
	case inProgress && late(issuing.LastTransitionTime):
		return verdict{failing: true, reason: issuing.Reason, message: "Issuing has not come to an end: " + issuing.Message}
	case inProgress:
		return verdict{}
	case ready.Status == "" && late(&certificate.CreationTimestamp):
		return verdict{failing: true, reason: "NotObserved", message: "cert-manager has not looked at the Certificate"}
	case ready.Status != certmanagermeta.ConditionTrue && late(ready.LastTransitionTime):
		return verdict{failing: true, reason: ready.Reason, message: ready.Message}
	case late(status.RenewalTime):
		return verdict{failing: true, reason: "Overdue",
			message: fmt.Sprintf("Renewal was due at %s and has not begun", status.RenewalTime.UTC().Format(time.RFC3339))}
	}
	return verdict{}
}

// condition gives a Certificate's condition, or an empty one.
func condition(certificate *certmanagerv1.Certificate, kind certmanagerv1.CertificateConditionType) certmanagerv1.CertificateCondition {
	for _, c := range certificate.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return certmanagerv1.CertificateCondition{}
}
