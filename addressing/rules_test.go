package addressing

import (
	"net/netip"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// changes is one change to each field of a spec.
var changes = map[string]func(*samplecrdv1.NetworkSpec){
	"cidr":    func(s *samplecrdv1.NetworkSpec) { s.CIDR = "10.200.0.0/16" },
	"gateway": func(s *samplecrdv1.NetworkSpec) { s.Gateway = "10.200.0.1" },
	"allocationPools": func(s *samplecrdv1.NetworkSpec) {
		s.AllocationPools = append(s.AllocationPools, samplecrdv1.AddressRange{})
	},
	"dnsServers": func(s *samplecrdv1.NetworkSpec) { s.DNSServers = append(s.DNSServers, "192.0.2.99") },
	"routes":     func(s *samplecrdv1.NetworkSpec) { s.Routes = append(s.Routes, samplecrdv1.Route{}) },
	"dhcp":       func(s *samplecrdv1.NetworkSpec) { s.DHCP = new(samplecrdv1.DHCPDisabled) },
	"additionalSubnets": func(s *samplecrdv1.NetworkSpec) {
		s.AdditionalSubnets = append(s.AdditionalSubnets, samplecrdv1.SubnetSpec{})
	},
	"mtu":              func(s *samplecrdv1.NetworkSpec) { s.MTU = new(int32(9000)) },
	"importID":         func(s *samplecrdv1.NetworkSpec) { s.ImportID = "another" },
	"networkClassName": func(s *samplecrdv1.NetworkSpec) { s.NetworkClassName = "another" },
	"deletionPolicy":   func(s *samplecrdv1.NetworkSpec) { s.DeletionPolicy = new(samplecrdv1.DeletionRetain) },
}

// broken is a spec that breaks one rule, the place of the fault, and the fields
// that the rule reads for it.
type broken struct {
	spec    samplecrdv1.NetworkSpec
	field   string
	origin  string
	readsOf string
}

func brokenRules() map[string]broken {
	of := func(subnet samplecrdv1.SubnetSpec) samplecrdv1.NetworkSpec {
		return samplecrdv1.NetworkSpec{CIDR: subnet.CIDR, Gateway: subnet.Gateway, AllocationPools: subnet.AllocationPools, DNSServers: subnet.DNSServers, Routes: subnet.Routes, DHCP: subnet.DHCP}
	}
	with := func(entry samplecrdv1.SubnetSpec) samplecrdv1.NetworkSpec {
		return samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", AdditionalSubnets: []samplecrdv1.SubnetSpec{entry}}
	}
	pool := func(start, end string) []samplecrdv1.AddressRange {
		return []samplecrdv1.AddressRange{{Start: start, End: end}}
	}
	route := func(to, via string) []samplecrdv1.Route { return []samplecrdv1.Route{{Destination: to, NextHop: via}} }
	return map[string]broken{
		"a bad range":                 {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0/24"}), "spec.cidr", ruleCIDR, "cidr"},
		"an absent range":             {of(samplecrdv1.SubnetSpec{}), "spec.cidr", ruleCIDR, "cidr"},
		"a gateway of bad text":       {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", Gateway: "x"}), "spec.gateway", ruleGateway, "gateway"},
		"a gateway outside":           {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", Gateway: "10.0.1.1"}), "spec.gateway", ruleGatewayInside, "gateway cidr"},
		"a pool of bad text":          {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", AllocationPools: pool("x", "10.0.0.9")}), "spec.allocationPools[0].start", rulePoolText, "allocationPools"},
		"a pool upside down":          {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", AllocationPools: pool("10.0.0.9", "10.0.0.8")}), "spec.allocationPools[0].end", rulePoolText, "allocationPools"},
		"too many pools":              {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", AllocationPools: make([]samplecrdv1.AddressRange, 17)}), "spec.allocationPools", rulePoolText, "allocationPools"},
		"a pool outside":              {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", AllocationPools: pool("10.0.1.1", "10.0.1.9")}), "spec.allocationPools[0].start", rulePoolInside, "allocationPools cidr gateway"},
		"a pool with the gateway":     {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", AllocationPools: pool("10.0.0.1", "10.0.0.9")}), "spec.allocationPools[0]", rulePoolInside, "allocationPools cidr gateway"},
		"a server of bad text":        {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", DNSServers: []string{"x"}}), "spec.dnsServers[0]", ruleDNSServers, "dnsServers"},
		"a server twice":              {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", DNSServers: []string{"192.0.2.1", "192.0.2.1"}}), "spec.dnsServers[1]", ruleDNSServers, "dnsServers"},
		"too many servers":            {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", DNSServers: make([]string, 9)}), "spec.dnsServers", ruleDNSServers, "dnsServers"},
		"a route of bad text":         {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", Routes: route("x", "10.0.0.9")}), "spec.routes[0].destination", ruleRouteText, "routes"},
		"a hop of another family":     {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", Routes: route("2001:db8::/64", "10.0.0.9")}), "spec.routes[0].nextHop", ruleRouteText, "routes"},
		"too many routes":             {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", Routes: make([]samplecrdv1.Route, 33)}), "spec.routes", ruleRouteText, "routes"},
		"a hop outside":               {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", Routes: route("172.16.0.0/12", "10.0.1.9")}), "spec.routes[0].nextHop", ruleRouteInside, "routes cidr"},
		"DHCP of no known mode":       {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24", DHCP: new(samplecrdv1.DHCPMode("On"))}), "spec.dhcp", ruleDHCP, "dhcp"},
		"too many subnets":            {samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", AdditionalSubnets: make([]samplecrdv1.SubnetSpec, 8)}, "spec.additionalSubnets", ruleAdditionalSubnets, "additionalSubnets"},
		"subnets that overlap":        {with(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/25"}), "spec.additionalSubnets[0].cidr", ruleSubnetsApart, "cidr additionalSubnets"},
		"a bad MTU":                   {samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", MTU: new(int32(1))}, "spec.mtu", ruleMTU, "mtu"},
		"an MTU too small for IPv6":   {samplecrdv1.NetworkSpec{CIDR: "2001:db8::/64", MTU: new(int32(1000))}, "spec.mtu", ruleMTUv6, "mtu cidr additionalSubnets"},
		"a bad range in an entry":     {with(samplecrdv1.SubnetSpec{CIDR: "x"}), "spec.additionalSubnets[0].cidr", ruleCIDR, "additionalSubnets"},
		"a bad gateway in an entry":   {with(samplecrdv1.SubnetSpec{CIDR: "10.0.1.0/24", Gateway: "10.0.0.9"}), "spec.additionalSubnets[0].gateway", ruleGatewayInside, "additionalSubnets"},
		"a bad pool in an entry":      {with(samplecrdv1.SubnetSpec{CIDR: "10.0.1.0/24", AllocationPools: pool("10.0.1.1", "10.0.1.9")}), "spec.additionalSubnets[0].allocationPools[0]", rulePoolInside, "additionalSubnets"},
		"a bad hop in an entry":       {with(samplecrdv1.SubnetSpec{CIDR: "10.0.1.0/24", Routes: route("172.16.0.0/12", "10.0.0.9")}), "spec.additionalSubnets[0].routes[0].nextHop", ruleRouteInside, "additionalSubnets"},
		"a range of another":          {of(samplecrdv1.SubnetSpec{CIDR: "10.99.1.0/24"}), "spec.cidr", RuleOverlap, "cidr additionalSubnets networkClassName"},
		"a range another asks for":    {of(samplecrdv1.SubnetSpec{CIDR: "10.98.1.0/24"}), "spec.cidr", RuleOverlapAsked, "cidr additionalSubnets"},
		"an entry's range of another": {with(samplecrdv1.SubnetSpec{CIDR: "10.99.1.0/24"}), "spec.additionalSubnets[0].cidr", RuleOverlap, "cidr additionalSubnets networkClassName"},
		"a range not allowed":         {of(samplecrdv1.SubnetSpec{CIDR: "172.16.0.0/24"}), "spec.cidr", RuleAllowedCIDRs, "cidr networkClassName"},
		"an entry not allowed":        {with(samplecrdv1.SubnetSpec{CIDR: "172.16.0.0/24"}), "spec.additionalSubnets[0].cidr", RuleAllowedCIDRs, "additionalSubnets networkClassName"},
		"a range reserved":            {of(samplecrdv1.SubnetSpec{CIDR: "10.96.1.0/24"}), "spec.cidr", RuleReservedCIDRs, "cidr networkClassName"},
		"an entry reserved":           {with(samplecrdv1.SubnetSpec{CIDR: "10.96.1.0/24"}), "spec.additionalSubnets[0].cidr", RuleReservedCIDRs, "additionalSubnets networkClassName"},
		"a range too small":           {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/29"}), "spec.cidr", RulePrefixLengths, "cidr networkClassName"},
		"an entry too small":          {with(samplecrdv1.SubnetSpec{CIDR: "10.0.1.0/29"}), "spec.additionalSubnets[0].cidr", RulePrefixLengths, "additionalSubnets networkClassName"},
		"a namespace not selected":    {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24"}), "spec.networkClassName", RuleNamespace, "networkClassName"},
		"a range of the cluster":      {of(samplecrdv1.SubnetSpec{CIDR: "10.97.1.0/24"}), "spec.cidr", RuleClusterRanges, "cidr networkClassName"},
		"an entry of the cluster":     {with(samplecrdv1.SubnetSpec{CIDR: "10.97.1.0/24"}), "spec.additionalSubnets[0].cidr", RuleClusterRanges, "additionalSubnets networkClassName"},
		"an id of bad text":           {samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", ImportID: "an id"}, "spec.importID", ruleImportID, "importID"},
		"an import not allowed":       {samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24", ImportID: "abc"}, "spec.importID", RuleImport, "importID networkClassName"},
		"a class that is going":       {of(samplecrdv1.SubnetSpec{CIDR: "10.0.0.0/24"}), "spec.networkClassName", RuleClassStays, "networkClassName"},
	}
}

// judge is all rules together.
func judge(spec *samplecrdv1.NetworkSpec) field.ErrorList {
	plan, errs := Parse(spec, field.NewPath("spec"))
	going := metav1.ObjectMeta{Name: "standard", DeletionTimestamp: &metav1.Time{}}
	policy, _ := ParsePolicy(&samplecrdv1.NetworkClass{ObjectMeta: going, Spec: samplecrdv1.NetworkClassSpec{
		AllowedCIDRs: []string{"10.0.0.0/8"}, ReservedCIDRs: []string{"10.96.0.0/16"},
		PrefixLengths:     &samplecrdv1.PrefixLengths{IPv4: &samplecrdv1.PrefixLengthRange{Max: new(int32(28))}},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}},
	}})
	errs = append(errs, policy.Judge(plan, Tenant{Namespace: "default"})...)
	cluster := NewClusterRanges()
	cluster.Set("services", ServiceRange, []netip.Prefix{netip.MustParsePrefix("10.97.0.0/16")})
	errs = append(errs, cluster.Judge(plan)...)
	claims, scope := NewClaims(), Scope{Class: "standard"}
	claims.Set(Owner{UID: "rival", NamespacedName: types.NamespacedName{Namespace: "default", Name: "rival"}}, scope, []netip.Prefix{netip.MustParsePrefix("10.99.0.0/16")}, []netip.Prefix{netip.MustParsePrefix("10.98.0.0/16")})
	return append(errs, claims.Overlaps(plan, scope, types.NamespacedName{Namespace: "default", Name: "subject"})...)
}

// A fault is forgiven as long as no field that its rule reads has changed; a test
// for every rule, and for every field.
func TestUnchanged(t *testing.T) {
	for name, tc := range brokenRules() {
		t.Run(name, func(t *testing.T) {
			var fault *field.Error
			for _, err := range judge(&tc.spec) {
				if err.Field == tc.field && err.Origin == tc.origin {
					fault = err
				}
			}
			if fault == nil {
				t.Fatalf("%s has no fault by %s: %v", tc.field, tc.origin, judge(&tc.spec))
			}
			if !Unchanged(fault, &tc.spec, tc.spec.DeepCopy()) {
				t.Error("nothing changed, and yet it did")
			}
			for name, change := range changes {
				after := tc.spec.DeepCopy()
				change(after)
				read := strings.Contains(" "+tc.readsOf+" ", " "+name+" ")
				if got := Unchanged(fault, &tc.spec, after); got == read {
					t.Errorf("with another %s unchanged is %t", name, got)
				}
			}
		})
	}
}

// A rule that is added must be told to reads, and to the table above.
func TestEveryRuleIsKnown(t *testing.T) {
	seen := map[string]bool{}
	for name, tc := range brokenRules() {
		for _, err := range judge(&tc.spec) {
			seen[err.Origin] = true
			if _, known := reads[err.Origin]; !known {
				t.Errorf("%s: %v has the unknown origin %q", name, err, err.Origin)
			}
		}
	}
	for rule, fields := range reads {
		if !seen[rule] {
			t.Errorf("no case breaks %s", rule)
		}
		for _, name := range fields {
			if _, known := changes[name]; !known || fieldOf(&samplecrdv1.NetworkSpec{}, name) == nil {
				t.Errorf("%s reads %s, which is no field", rule, name)
			}
		}
	}
}

func TestUnchangedOfOtherFaults(t *testing.T) {
	spec := &samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24"}
	if Unchanged(field.Invalid(field.NewPath("spec", "cidr"), "x", "not of this package"), spec, spec) {
		t.Error("a fault that is not of these rules is forgiven")
	}
}

// The API server stores an empty list and none alike.
func TestUnchangedTakesEmptyListsForNone(t *testing.T) {
	fault := field.Invalid(field.NewPath("spec", "routes"), "x", "").WithOrigin(ruleRouteText)
	before := &samplecrdv1.NetworkSpec{}
	after := &samplecrdv1.NetworkSpec{Routes: []samplecrdv1.Route{}}
	if !Unchanged(fault, before, after) {
		t.Error("an empty list is another than none")
	}
}
