package neutron

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/test/faults"
)

// checkFails holds an error to a reason and what it says.
func checkFails(t *testing.T, err error, reason string, retry providers.Retry, says ...string) providers.Error {
	t.Helper()
	if err == nil {
		t.Fatalf("it succeeds, want %s", reason)
	}
	failure := providers.AsError(err)
	if failure.Reason != reason || failure.Retry != retry {
		t.Errorf("it is %s, retry %d, want %s, retry %d: %v", failure.Reason, failure.Retry, reason, retry, err)
	}
	for _, part := range says {
		if !strings.Contains(failure.Message, part) {
			t.Errorf("it says %q, want %q", failure.Message, part)
		}
	}
	return *failure
}

func TestPR01PortsOfOthersAreNotTouched(t *testing.T) {
	b := newBackend(t, nil)
	id := b.new(t)
	made := b.ensures(t, id, planOf(t, seed))
	id.New = false
	port, err := ports.Create(t.Context(), b.eye, ports.CreateOpts{NetworkID: made.ID, Name: "a machine's", DeviceID: "a machine", DeviceOwner: "compute:nova"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	writes := b.writes()
	for range 2 {
		failure := checkFails(t, b.Delete(t.Context(), id, class()), samplecrdv1.NetworkReasonInUse, providers.RetrySlowly, "port "+port.ID+" (compute:nova)")
		if failure.After <= 0 {
			t.Error("it is not asked again by itself")
		}
	}
	if b.writes() != writes {
		t.Errorf("%d writes", b.writes()-writes)
	}
	// Should it come between our look and our request, Neutron refuses.
	b.calls.Add(faults.Rule{Method: http.MethodGet, Path: "/ports", Times: 1}, faults.Answer(http.StatusOK, `{"ports": []}`))
	checkFails(t, b.Delete(t.Context(), id, class()), samplecrdv1.NetworkReasonInUse, providers.RetrySlowly, "port "+port.ID)
	now, err := ports.Get(t.Context(), b.eye, port.ID).Extract()
	if err != nil || now.RevisionNumber != port.RevisionNumber || len(b.ours(t, id)[0].subnets) != 1 {
		t.Errorf("the port was touched, or the subnet: %v", err)
	}
	if err := ports.Delete(t.Context(), b.eye, port.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), id, class()); err != nil || len(b.ours(t, id)) > 0 {
		t.Errorf("the port is gone: %v", err)
	}
}

// Ports of Neutron's own go with their subnet.
func TestPR01NeutronsOwnPortsKeepNobody(t *testing.T) {
	b := newBackend(t, nil)
	id := b.new(t)
	b.ensures(t, id, planOf(t, seed))
	id.New = false
	b.calls.Add(faults.Rule{Method: http.MethodGet, Path: "/ports"}, faults.Answer(http.StatusOK, `{"ports": [{"id": "p", "device_owner": "network:dhcp", "fixed_ips": []}]}`))
	if err := b.Delete(t.Context(), id, class()); err != nil {
		t.Error(err)
	}
}

func TestPR02NetworkInUseIsAskedAgain(t *testing.T) {
	b := newBackend(t, nil)
	id := b.new(t)
	made := b.ensures(t, id, planOf(t, seed))
	id.New = false
	b.calls.Add(faults.Rule{Method: http.MethodDelete, Path: "/networks/" + made.ID, Times: 3}, faults.Failure(http.StatusConflict, "NetworkInUse", "Unable to complete operation on network. There are one or more ports still in use on the network."))
	var asked []string
	for range 3 {
		asked = append(asked, b.asked(func() {
			checkFails(t, b.Delete(t.Context(), id, class()), samplecrdv1.NetworkReasonInUse, providers.RetrySlowly)
		})...)
	}
	asked = append(asked, b.asked(func() {
		if err := b.Delete(t.Context(), id, class()); err != nil {
			t.Error(err)
		}
	})...)
	asked = slices.DeleteFunc(asked, func(call string) bool { return strings.HasPrefix(call, http.MethodGet) })
	if want := []string{"DELETE subnets", "DELETE networks", "DELETE networks", "DELETE networks", "DELETE networks"}; !slices.Equal(asked, want) {
		t.Errorf("it asks for %q, want %q", asked, want)
	}
	if len(b.ours(t, id)) > 0 {
		t.Error("it is still there")
	}
}

func TestPR09QuotaIsWaitedFor(t *testing.T) {
	b := newBackend(t, nil)
	for _, kind := range []string{"network", "subnet"} {
		id := b.new(t)
		end := b.calls.Add(faults.Rule{Method: http.MethodPost, Path: "/" + kind + "s"}, faults.OverQuota(kind))
		for range tolerated + 2 { // A quota is no outage: the gate stays open.
			_, err := b.Ensure(t.Context(), id, class(), planOf(t, seed))
			checkFails(t, err, samplecrdv1.NetworkReasonQuotaExceeded, providers.RetrySlowly, "Quota exceeded for resources: ['"+kind+"']")
			id.New = false
		}
		end()
		b.ensures(t, id, planOf(t, seed))
		if len(b.ours(t, id)) != 1 {
			t.Error("there is not one network")
		}
	}
}

func TestPR10WhatCanNeverSucceedIsAskedSlowly(t *testing.T) {
	b := newBackend(t, nil)
	id := b.new(t)
	end := b.calls.Add(faults.Rule{Method: http.MethodPost, Path: "/subnets"}, faults.Failure(http.StatusBadRequest, "InvalidInput", "Invalid input for cidr. Reason: no."))
	for range tolerated + 2 {
		asked := b.asked(func() {
			seen, err := b.Ensure(t.Context(), id, class(), planOf(t, seed))
			checkFails(t, err, samplecrdv1.NetworkReasonRejected, providers.RetrySlowly, "HTTP 400 InvalidInput: Invalid input for cidr. Reason: no.")
			if seen.ID == "" {
				t.Error("the network's id is not told")
			}
			id.New, id.Recorded = false, seen.ID
		})
		if len(asked) > 4 {
			t.Errorf("one call asks for %q", asked)
		}
	}
	if len(b.ours(t, id)) != 1 {
		t.Error("there is not one network")
	}
	end()
	b.ensures(t, id, planOf(t, seed))
}

func TestPR11NamesTellNothing(t *testing.T) {
	b := newBackend(t, nil)
	id := b.new(t)
	for range 2 {
		if err := networks.Create(t.Context(), b.eye, networks.CreateOpts{Name: nameOf(id)}).Err; err != nil {
			t.Fatal(err)
		}
	}
	made := b.ensures(t, id, planOf(t, seed))
	id.New = false
	strangers := b.networks(t, id, "")
	if len(b.ours(t, id)) != 1 || len(strangers) != 2 || strangers[0].Revision != 1 || strangers[1].Revision != 1 || len(strangers[0].subnets)+len(strangers[1].subnets) > 0 {
		t.Errorf("the strangers are %+v", strangers)
	}

	// Two that bear the mark: two leaders for a moment may leave them.
	second, err := networks.Create(t.Context(), b.eye, networkCreate{Name: nameOf(id), Description: b.ours(t, id)[0].Description}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	woken := b.watched(t)
	if b.sees(t); !slices.Equal(woken(), []string{id.Name}) {
		t.Error("it is not woken")
	}
	writes := b.writes()
	for range 2 {
		_, err = b.Ensure(t.Context(), id, class(), planOf(t, seed))
		checkFails(t, err, samplecrdv1.NetworkReasonAmbiguous, providers.RetrySlowly, made.ID, second.ID)
		checkFails(t, b.Delete(t.Context(), id, class()), samplecrdv1.NetworkReasonAmbiguous, providers.RetrySlowly, made.ID, second.ID)
		checkFails(t, b.Release(t.Context(), id, class()), samplecrdv1.NetworkReasonAmbiguous, providers.RetrySlowly, made.ID, second.ID)
	}
	if b.writes() != writes || len(b.ours(t, id)) != 2 {
		t.Errorf("%d writes, and %d are left", b.writes()-writes, len(b.ours(t, id)))
	}
	if err := networks.Delete(t.Context(), b.eye, second.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if seen := b.ensures(t, id, planOf(t, seed)); seen.ID != made.ID {
		t.Errorf("it is now %s and was %s", seen.ID, made.ID)
	}
}

func TestPR13HalfOfItIsNotReady(t *testing.T) {
	b := newBackend(t, nil)
	id := b.new(t)
	end := b.calls.Add(faults.Rule{Method: http.MethodPost, Path: "/subnets"}, faults.Failure(http.StatusInternalServerError, "HTTPInternalServerError", "Request Failed: internal server error while processing your request."))
	var first string
	for range tolerated - 1 {
		seen, err := b.Ensure(t.Context(), id, class(), planOf(t, seed))
		checkFails(t, err, samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon, "HTTP 500")
		if first == "" {
			first = seen.ID
		}
		if seen.ID == "" || seen.ID != first || len(seen.SubnetIDs) > 0 {
			t.Errorf("it has learned %+v", seen)
		}
		id.New, id.Recorded = false, seen.ID
	}
	end()
	seen := b.ensures(t, id, planOf(t, seed))
	if ours := b.ours(t, id); seen.ID != first || len(seen.SubnetIDs) != 1 || len(ours) != 1 || len(ours[0].subnets) != 1 {
		t.Errorf("it is %+v, and Neutron has %+v", seen, ours)
	}
}

func TestPR21ANetworkMadeAnewIsAnother(t *testing.T) {
	b := newBackend(t, nil)
	old := b.new(t)
	b.ensures(t, old, planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24"}))
	old.New = false
	b.calls.Add(faults.Rule{Method: http.MethodDelete}, faults.Failure(http.StatusInternalServerError, "HTTPInternalServerError", "no"))
	checkFails(t, b.Delete(t.Context(), old, class()), samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon)

	anew := b.new(t) // By the old one's name; somebody has taken its finalizer away.
	anew.NamespacedName = old.NamespacedName
	b.ensures(t, anew, planOf(t, samplecrdv1.NetworkSpec{CIDR: "10.0.1.0/24"}))
	of := func(id providers.Identity) string {
		all := b.ours(t, id)
		if len(all) != 1 || len(all[0].subnets) != 1 {
			t.Fatalf("%s has %+v", id.UID, all)
		}
		return all[0].subnets[0].Prefix.String()
	}
	if of(old) != "10.0.0.0/24" || of(anew) != "10.0.1.0/24" {
		t.Errorf("the old one has %s, the new one %s", of(old), of(anew))
	}
	object := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: anew.Namespace, Name: anew.Name, UID: anew.UID}}
	if err := b.kube.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	b.sees(t)
	if b.sees(t); b.metric(t, "samplecrd_neutron_orphans") != 1 {
		t.Error("what is left of the old one is not told of")
	}
}

func TestPR22AFailureIsTold(t *testing.T) {
	b := newBackend(t, nil)
	id := b.new(t)
	b.calls.Add(faults.Rule{Method: http.MethodPost, Path: "/networks", Times: 1}, faults.Answer(http.StatusInternalServerError, strings.Repeat("the database is on fire \n", 1000)))
	_, err := b.Ensure(t.Context(), id, class(), planOf(t, seed))
	failure := checkFails(t, err, samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon, "HTTP 500", "the database is on fire the database")
	if len(failure.Message) > 300 || strings.Contains(failure.Message, "\n") {
		t.Errorf("it says %q", failure.Message)
	}
	id.New = false
	b.ensures(t, id, planOf(t, seed))
}
