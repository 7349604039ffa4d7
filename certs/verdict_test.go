package certs

import (
	"testing"
	"time"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	certmanagermeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Certificate of ninety days that is renewed thirty before its end.
var due = expires.Add(-30 * 24 * time.Hour)

// edit makes one thing of a Certificate as cert-manager leaves it.
type edit func(*certmanagerv1.Certificate)

func newCertificate(edits ...edit) *certmanagerv1.Certificate {
	c := &certmanagerv1.Certificate{ObjectMeta: metav1.ObjectMeta{
		Namespace: "samplecrd-system", Name: "samplecrd-webhook-server", CreationTimestamp: metav1.NewTime(made),
	}}
	for _, edit := range edits {
		edit(c)
	}
	return c
}

func has(kind certmanagerv1.CertificateConditionType, status certmanagermeta.ConditionStatus, since time.Time, reason, message string) edit {
	return func(c *certmanagerv1.Certificate) {
		c.Status.Conditions = append(c.Status.Conditions, certmanagerv1.CertificateCondition{
			Type: kind, Status: status, LastTransitionTime: new(metav1.NewTime(since)), Reason: reason, Message: message,
		})
	}
}

func ready(c *certmanagerv1.Certificate) {
	has(certmanagerv1.CertificateConditionReady, certmanagermeta.ConditionTrue, made, "Ready", "Certificate is up to date and has not expired")(c)
}

// issued is the status of a Certificate whose Secret holds a pair.
func issued(c *certmanagerv1.Certificate) {
	c.Status.NotBefore, c.Status.NotAfter = new(metav1.NewTime(made)), new(metav1.NewTime(expires))
	c.Status.RenewalTime, c.Status.Revision = new(metav1.NewTime(due)), new(1)
}

func notReady(since time.Time, reason, message string) edit {
	return has(certmanagerv1.CertificateConditionReady, certmanagermeta.ConditionFalse, since, reason, message)
}

func issuing(since time.Time, reason, message string) edit {
	return has(certmanagerv1.CertificateConditionIssuing, certmanagermeta.ConditionTrue, since, reason, message)
}

func failed(attempts int, at time.Time) edit {
	return func(c *certmanagerv1.Certificate) {
		c.Status.LastFailureTime = new(metav1.NewTime(at))
		if attempts > 0 {
			c.Status.FailedIssuanceAttempts = &attempts
		}
	}
}

func stopped(at time.Time, reason, message string) edit {
	return has(certmanagerv1.CertificateConditionIssuing, certmanagermeta.ConditionFalse, at, reason, message)
}

// The conditions, reasons and messages are those that cert-manager 1.21 writes.
func TestJudge(t *testing.T) {
	const (
		renewing  = "Renewing certificate as renewal was scheduled at 2026-04-30 00:00:00 +0000 UTC"
		noSecret  = "Issuing certificate as Secret does not exist"
		refused   = "The certificate request has failed to complete and will be retried: Error generating certificate template: invalid CSR"
		denied    = "The certificate request has failed to complete and will be retried: Denied by policy"
		otherRoot = "Issuing certificate as Secret was previously issued by \"Issuer.cert-manager.io/old\""
	)
	soon, long := due.Add(tolerance), due.Add(tolerance+time.Second)
	for name, tc := range map[string]struct {
		certificate *certmanagerv1.Certificate
		at          time.Time
		want        verdict
	}{
		"a pair that is up to date": {newCertificate(ready, issued), noon, verdict{}},
		"a Certificate that is new": {newCertificate(), made, verdict{}},
		"one that cert-manager does not look at": {newCertificate(), noon,
			verdict{failing: true, reason: "NotObserved", message: "cert-manager has not looked at the Certificate"}},
		"a first pair that does not exist yet": {newCertificate(notReady(made, "DoesNotExist", noSecret)), made.Add(time.Second), verdict{}},
		"a first pair that is being issued":    {newCertificate(notReady(made, "DoesNotExist", noSecret), issuing(made, "DoesNotExist", noSecret)), made.Add(time.Minute), verdict{}},
		"a first pair that is not issued": {newCertificate(notReady(made, "DoesNotExist", noSecret), issuing(made, "DoesNotExist", noSecret)), noon,
			verdict{failing: true, reason: "DoesNotExist", message: "Issuing has not come to an end: " + noSecret}},

		"a renewal that is due now": {newCertificate(ready, issued), soon, verdict{}},
		"a renewal that does not begin when it is due": {newCertificate(ready, issued), long,
			verdict{failing: true, reason: "Overdue", message: "Renewal was due at 2026-04-30T00:00:00Z and has not begun"}},
		"no renewal, by the Certificate's own policy": {newCertificate(ready, issued, func(c *certmanagerv1.Certificate) { c.Status.RenewalTime = nil }), long, verdict{}},
		"a renewal under way":                         {newCertificate(ready, issued, issuing(due, "Renewing", renewing)), soon, verdict{}},
		"a renewal whose request stays pending, since the issuer is not ready": {newCertificate(ready, issued, issuing(due, "Renewing", renewing)), long,
			verdict{failing: true, reason: "Renewing", message: "Issuing has not come to an end: " + renewing}},
		"a renewal that has succeeded, by server-side apply": {newCertificate(ready, issued, stopped(due, "Issued", "The certificate has been successfully issued")), due, verdict{}},

		"a renewal that failed once": {newCertificate(ready, issued, failed(1, due), stopped(due, "Failed", refused)), due,
			verdict{failing: true, reason: "Failed", message: refused}},
		"a renewal that was denied": {newCertificate(ready, issued, failed(3, due), stopped(due, "policy.cert-manager.io", denied)), due,
			verdict{failing: true, reason: "policy.cert-manager.io", message: denied}},
		"a renewal that failed under an old cert-manager": {newCertificate(ready, issued, failed(0, due), stopped(due, "Failed", refused)), due,
			verdict{failing: true, reason: "Failed", message: refused}},
		"another attempt after one that failed": {newCertificate(ready, issued, failed(1, due), issuing(due.Add(time.Hour), "Renewing", renewing)), due.Add(time.Hour),
			verdict{failing: true, again: true, reason: "Renewing", message: "An attempt failed, another one is under way: " + renewing}},
		"a first pair whose request was refused": {newCertificate(notReady(made, "DoesNotExist", noSecret), failed(1, made), stopped(made, "Failed", refused)), made,
			verdict{failing: true, reason: "Failed", message: refused}},

		"a spec that has just changed": {newCertificate(issued, notReady(noon, "RequestChanged", "Fields on existing CertificateRequest resource not up to date: [spec.dnsNames]")), noon, verdict{}},
		"another issuer, being asked":  {newCertificate(issued, notReady(noon, "IncorrectIssuer", otherRoot), issuing(noon, "IncorrectIssuer", otherRoot)), noon, verdict{}},
		"another issuer, not answering": {newCertificate(issued, notReady(noon, "IncorrectIssuer", otherRoot), issuing(noon, "IncorrectIssuer", otherRoot)), noon.Add(time.Hour),
			verdict{failing: true, reason: "IncorrectIssuer", message: "Issuing has not come to an end: " + otherRoot}},
		"a Secret that is another Certificate's": {newCertificate(issued, notReady(noon, "IncorrectCertificate", "Secret was issued for \"other\"")), noon.Add(time.Hour),
			verdict{failing: true, reason: "IncorrectCertificate", message: "Secret was issued for \"other\""}},
		"a pair that has just expired, with no renewal begun": {newCertificate(issued, notReady(expires, "Expired", "Certificate expired on 2026-05-30")), expires,
			verdict{failing: true, reason: "Overdue", message: "Renewal was due at 2026-04-30T00:00:00Z and has not begun"}},
		"a pair that has expired": {newCertificate(issued, notReady(expires, "Expired", "Certificate expired on 2026-05-30")), expires.Add(time.Hour),
			verdict{failing: true, reason: "Expired", message: "Certificate expired on 2026-05-30"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := judge(tc.certificate, tc.at); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}
