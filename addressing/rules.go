package addressing

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// The rules, as field.Error.Origin names them.
const (
	ruleCIDR              = "addressing/cidr"
	ruleGateway           = "addressing/gateway"
	ruleGatewayInside     = "addressing/gateway-inside"
	rulePoolText          = "addressing/pool-text"
	rulePoolInside        = "addressing/pool-inside"
	ruleDNSServers        = "addressing/dns-servers"
	ruleRouteText         = "addressing/route-text"
	ruleRouteInside       = "addressing/route-inside"
	ruleDHCP              = "addressing/dhcp"
	ruleAdditionalSubnets = "addressing/additional-subnets"
	ruleSubnetsApart      = "addressing/subnets-apart"
	ruleMTU               = "addressing/mtu"
	ruleMTUv6             = "addressing/mtu-v6"
	ruleImportID          = "addressing/import-id"
)

// reads names the fields that each rule looks at; nothing else can change its
// verdict.
var reads = map[string][]string{
	ruleCIDR:              {"cidr"},
	ruleGateway:           {"gateway"},
	ruleGatewayInside:     {"gateway", "cidr"},
	rulePoolText:          {"allocationPools"},
	rulePoolInside:        {"allocationPools", "cidr", "gateway"},
	ruleDNSServers:        {"dnsServers"},
	ruleRouteText:         {"routes"},
	ruleRouteInside:       {"routes", "cidr"},
	ruleDHCP:              {"dhcp"},
	ruleAdditionalSubnets: {"additionalSubnets"},
	ruleSubnetsApart:      {"cidr", "additionalSubnets"},
	ruleMTU:               {"mtu"},
	ruleMTUv6:             {"mtu", "cidr", "additionalSubnets"},
	ruleImportID:          {"importID"},
	RuleOverlap:           {"cidr", "additionalSubnets", "networkClassName"},
	RuleOverlapAsked:      {"cidr", "additionalSubnets"},
	RuleAllowedCIDRs:      {"cidr", "networkClassName"},
	RuleReservedCIDRs:     {"cidr", "networkClassName"},
	RulePrefixLengths:     {"cidr", "networkClassName"},
	RuleNamespace:         {"networkClassName"},
	RuleClassStays:        {"networkClassName"},
	RuleClusterRanges:     {"cidr", "networkClassName"},
	RuleImport:            {"importID", "networkClassName"},
}

// Unchanged says whether every field that the rule behind fault reads is the same
// in both specs, so that the change did not bring the fault about. A list counts
// as one field. It is false for a fault that does not come from this package's
// rules of a Network.
func Unchanged(fault *field.Error, before, after *samplecrdv1.NetworkSpec) bool {
	fields, known := reads[fault.Origin]
	if !known {
		return false
	}
	if strings.Contains(fault.Field, "additionalSubnets[") && !slices.Contains(fields, "additionalSubnets") {
		// What the rule reads of a subnet stands in the list; the class does not.
		ofEntry := []string{"additionalSubnets"}
		if slices.Contains(fields, "networkClassName") {
			ofEntry = append(ofEntry, "networkClassName")
		}
		fields = ofEntry
	}
	for _, name := range fields {
		if !equality.Semantic.DeepEqual(fieldOf(before, name), fieldOf(after, name)) {
			return false
		}
	}
	return true
}

func fieldOf(spec *samplecrdv1.NetworkSpec, name string) any {
	switch name {
	case "cidr":
		return spec.CIDR
	case "gateway":
		// The one in effect: a default that is written out is no change.
		if prefix := ParsePrefix(spec.CIDR); spec.Gateway == "" && prefix.IsValid() {
			return DefaultGateway(prefix).String()
		}
		return spec.Gateway
	case "allocationPools":
		return spec.AllocationPools
	case "dnsServers":
		return spec.DNSServers
	case "routes":
		return spec.Routes
	case "dhcp":
		return spec.DHCP
	case "additionalSubnets":
		return spec.AdditionalSubnets
	case "mtu":
		return spec.MTU
	case "networkClassName":
		return spec.NetworkClassName
	case "importID":
		return spec.ImportID
	}
	return nil
}
