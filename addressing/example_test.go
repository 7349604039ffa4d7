package addressing_test

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

func ExampleParse() {
	spec := samplecrdv1.NetworkSpec{CIDR: "192.168.1.0/16"}
	plan, errs := addressing.Parse(&spec, field.NewPath("spec"))
	fmt.Println(len(errs), "faults")
	fmt.Println(plan.Subnets[0].Prefix, "by", plan.Subnets[0].Gateway)
	// Output:
	// 0 faults
	// 192.168.0.0/16 by 192.168.0.1
}

func ExampleParse_refused() {
	spec := samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24",
		Gateway:    "10.0.1.1",
		DNSServers: []string{"010.0.0.53"}}
	_, errs := addressing.Parse(&spec, field.NewPath("spec"))
	for _, err := range errs {
		fmt.Println(err)
	}
	// Output:
	// spec.gateway: Invalid value: "10.0.1.1": not inside 10.0.0.0/24; use an address from 10.0.0.1 to 10.0.0.254
	// spec.dnsServers[0]: Invalid value: "010.0.0.53": must not have leading zeros in an IPv4 octet, which some programs read as octal
}

func ExamplePlan_Warnings() {
	spec := samplecrdv1.NetworkSpec{CIDR: "192.168.1.0/16", Gateway: "192.168.1.1"}
	plan, _ := addressing.Parse(&spec, field.NewPath("spec"))
	fmt.Println(plan.Warnings())
	// Output:
	// [spec.cidr: 192.168.1.0/16 has host bits set and is treated as 192.168.0.0/16; write 192.168.0.0/16]
}

func ExampleUsable() {
	for _, prefix := range []string{"10.20.30.64/27", "192.0.2.0/31", "2001:db8::/64", "2001:db8::/127"} {
		fmt.Println(prefix, "has", addressing.Usable(netip.MustParsePrefix(prefix)))
	}
	// Output:
	// 10.20.30.64/27 has 10.20.30.65-10.20.30.94
	// 192.0.2.0/31 has 192.0.2.0-192.0.2.1
	// 2001:db8::/64 has 2001:db8::1-2001:db8::ffff:ffff:ffff:ffff
	// 2001:db8::/127 has 2001:db8::-2001:db8::1
}

func ExampleDefaultGateway() {
	fmt.Println(addressing.DefaultGateway(netip.MustParsePrefix("192.0.2.64/26")))
	fmt.Println(addressing.DefaultGateway(netip.MustParsePrefix("203.0.113.7/32")))
	// Output:
	// 192.0.2.65
	// 203.0.113.7
}

func ExampleLimits_Forbids() {
	limits := addressing.Limits{Backend: "host-local", LongestIPv4: 30}
	spec := samplecrdv1.NetworkSpec{CIDR: "192.0.2.0/31"}
	plan, _ := addressing.Parse(&spec, field.NewPath("spec"))
	fmt.Println(limits.Forbids(plan))
	// Output:
	// [spec.cidr: host-local cannot serve 192.0.2.0/31; its longest prefix is /30]
}

func ExampleClaims_Overlaps() {
	scope := addressing.Scope{Class: "standard", Namespace: "shop"}
	backbone := addressing.Owner{UID: "1", NamespacedName: types.NamespacedName{Namespace: "shop", Name: "backbone"}}
	claims := addressing.NewClaims()
	claims.Set(backbone, scope, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, nil)

	spec := samplecrdv1.NetworkSpec{CIDR: "10.0.0.0/24"}
	plan, _ := addressing.Parse(&spec, field.NewPath("spec"))
	fmt.Println(claims.Overlaps(plan, scope, types.NamespacedName{Namespace: "shop", Name: "example"}))
	// Output:
	// [spec.cidr: Invalid value: "10.0.0.0/24": overlaps 10.0.0.0/8 of Network "backbone"; use a range apart from it]
}
