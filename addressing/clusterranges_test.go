package addressing_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/samplecrd/samplecrd/addressing"
)

// cluster has the given Service ranges, and each Pod range on a node of its own.
func cluster(services []netip.Prefix, pods ...netip.Prefix) *addressing.ClusterRanges {
	ranges := addressing.NewClusterRanges()
	ranges.Set("services", addressing.ServiceRange, services)
	for _, pod := range pods {
		ranges.Set(uidOf(pod), addressing.PodRange, []netip.Prefix{pod})
	}
	return ranges
}

// uidOf is the UID of the node that has a range.
func uidOf(pods netip.Prefix) types.UID { return types.UID("node-of-" + pods.String()) }

func TestClusterRangesJudge(t *testing.T) {
	first, second := []fault{invalid("spec.cidr")}, []fault{invalid("spec.additionalSubnets[0].cidr")}
	services, pods := prefixes("10.96.0.0/12", "fd00:96::/108"), prefixes("10.244.0.0/24", "10.244.1.0/24", "fd00:244::/64")
	for name, tc := range map[string]struct {
		subnets []string
		want    []fault
		named   []string
	}{
		"apart from all of them":                  {[]string{"192.168.0.0/16", "fd00:1::/64"}, nil, nil},
		"the neighbour before":                    {[]string{"10.95.255.0/24"}, nil, nil},
		"the neighbour after":                     {[]string{"10.112.0.0/24"}, nil, nil},
		"the neighbour of a Pod range":            {[]string{"10.244.2.0/24"}, nil, nil},
		"a Service range itself":                  {[]string{"10.96.0.0/12"}, first, []string{"10.96.0.0/12, a Service range"}},
		"inside a Service range":                  {[]string{"10.100.0.0/24"}, first, []string{"10.96.0.0/12, a Service range"}},
		"the last address of a Service range":     {[]string{"10.111.255.255/32"}, first, []string{"10.96.0.0/12, a Service range"}},
		"a Pod range itself":                      {[]string{"10.244.1.0/24"}, first, []string{"10.244.1.0/24, a Pod range"}},
		"inside one Pod range, apart from others": {[]string{"10.244.1.128/25"}, first, []string{"10.244.1.0/24, a Pod range"}},
		"around several, the first is named":      {[]string{"10.244.0.0/16"}, first, []string{"10.244.0.0/24, a Pod range"}},
		"around both kinds, the first is named":   {[]string{"10.0.0.0/8"}, first, []string{"10.96.0.0/12, a Service range"}},
		"host bits hide nothing":                  {[]string{"10.1.2.3/8"}, first, []string{"10.96.0.0/12, a Service range"}},
		"an IPv6 Service range":                   {[]string{"fd00:96::/64"}, first, []string{"fd00:96::/108, a Service range"}},
		"an IPv6 Pod range":                       {[]string{"FD00:244:0:0:8000::/65"}, first, []string{"fd00:244::/64, a Pod range"}},
		"the other family":                        {[]string{"a00::/8"}, nil, nil},
		"an additional subnet has its own fault":  {[]string{"192.168.0.0/16", "10.96.1.0/24"}, second, []string{"10.96.0.0/12, a Service range"}},
		"every subnet has one":                    {[]string{"fd00:244::/64", "10.96.1.0/24"}, append(first, second...), []string{"fd00:244::/64, a Pod range", "10.96.0.0/12, a Service range"}},
		"what cannot be read is not judged":       {[]string{"x", "192.168.0.0/16"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			plan, _ := addressing.Parse(subnets(tc.subnets...), specPath)
			errs := cluster(services, pods...).Judge(plan)
			checkFaults(t, errs, tc.want)
			for i, named := range tc.named {
				want := "overlaps " + named + " of the cluster; Pods would not reach one of the two; use a range apart from it"
				if i < len(errs) && errs[i].Detail != want {
					t.Errorf("got %q, want %q", errs[i].Detail, want)
				}
			}
		})
	}
}

// What is named must not change with the order of arrival.
func TestClusterRangesNameOneInOrder(t *testing.T) {
	sets := []func(*addressing.ClusterRanges){
		func(r *addressing.ClusterRanges) { r.Set("a", addressing.ServiceRange, prefixes("10.1.0.0/16")) },
		func(r *addressing.ClusterRanges) { r.Set("b", addressing.PodRange, prefixes("10.1.0.0/16")) },
		func(r *addressing.ClusterRanges) {
			r.Set("c", addressing.PodRange, prefixes("10.1.1.0/24", "10.1.2.0/24"))
		},
		func(r *addressing.ClusterRanges) { r.Set("d", addressing.ServiceRange, prefixes("10.0.0.0/8")) },
	}
	for cidr, want := range map[string]string{
		"10.1.0.0/16":   "10.1.0.0/16, a Pod range", // of one range of two kinds
		"10.1.1.128/25": "10.1.1.0/24, a Pod range", // the narrowest around it
		"10.1.3.0/24":   "10.1.0.0/16, a Pod range",
		"10.9.0.0/16":   "10.0.0.0/8, a Service range",
		"10.0.0.0/7":    "10.0.0.0/8, a Service range", // the first inside it
	} {
		plan, _ := addressing.Parse(subnets(cidr), specPath)
		for range sets {
			sets = append(sets[1:], sets[0])
			ranges := addressing.NewClusterRanges()
			for _, set := range sets {
				set(ranges)
			}
			if got := text(ranges.Judge(plan)); !strings.Contains(got, "overlaps "+want) {
				t.Errorf("%s: got %q, want %q", cidr, got, want)
			}
		}
	}
}

func TestClusterRangesFollow(t *testing.T) {
	plan, _ := addressing.Parse(subnets("10.244.0.0/16"), specPath)
	ranges := addressing.NewClusterRanges()
	judge := func(want bool, when string) {
		t.Helper()
		if got := len(ranges.Judge(plan)) > 0; got != want {
			t.Errorf("%s overlaps is %t", when, got)
		}
	}
	judge(false, "at first")
	ranges.Set("one", addressing.PodRange, prefixes("10.244.1.0/24"))
	ranges.Set("two", addressing.PodRange, prefixes("10.244.1.0/24"))
	judge(true, "with two nodes")
	ranges.Remove("one")
	judge(true, "with one node, of the same range,")
	ranges.Set("two", addressing.PodRange, prefixes("10.245.1.0/24"))
	judge(false, "with another range")
	ranges.Set("two", addressing.PodRange, prefixes("10.245.1.0/24", "10.244.2.0/24"))
	judge(true, "with a second range")
	ranges.Remove("two")
	ranges.Remove("two")
	ranges.Remove("nobody")
	judge(false, "with none left")
}

func TestClusterRangesTell(t *testing.T) {
	ranges := addressing.NewClusterRanges()
	var told []string
	ranges.OnChange(func(changed []netip.Prefix) { told = append(told, fmt.Sprint(changed)) })
	for _, step := range []struct {
		name string
		do   func()
		want string // what is told, "" for nothing
	}{
		{"before all has been read", func() { ranges.Set("a", addressing.PodRange, prefixes("10.0.0.0/24")) }, ""},
		{"one kind has been read", func() { ranges.MarkRead(addressing.PodRange) }, ""},
		{"it has been read again", func() { ranges.MarkRead(addressing.PodRange) }, ""},
		{"both kinds have been read", func() { ranges.MarkRead(addressing.ServiceRange) }, "[]"},
		{"one of them again", func() { ranges.MarkRead(addressing.ServiceRange) }, ""},
		{"nothing changed", func() { ranges.Set("a", addressing.PodRange, prefixes("10.0.0.0/24")) }, ""},
		{"one more", func() { ranges.Set("a", addressing.PodRange, prefixes("10.0.0.0/24", "10.0.1.0/24")) }, "[10.0.1.0/24]"},
		{"one for another", func() { ranges.Set("a", addressing.PodRange, prefixes("10.0.0.0/24", "10.0.2.0/24")) }, "[10.0.1.0/24 10.0.2.0/24]"},
		{"a new source", func() { ranges.Set("b", addressing.ServiceRange, prefixes("2001:db8::/64")) }, "[2001:db8::/64]"},
		{"a source is gone", func() { ranges.Remove("a") }, "[10.0.0.0/24 10.0.2.0/24]"},
		{"one that was not there is gone", func() { ranges.Remove("a") }, ""},
	} {
		told = nil
		step.do()
		var want []string
		if step.want != "" {
			want = []string{step.want}
		}
		if !slices.Equal(told, want) {
			t.Errorf("%s: told %q, want %q", step.name, told, want)
		}
	}
}

func TestClusterRangesUnread(t *testing.T) {
	ranges := addressing.NewClusterRanges()
	for _, step := range []struct {
		read addressing.RangeKind
		want []addressing.RangeKind
	}{
		{"", []addressing.RangeKind{addressing.ServiceRange, addressing.PodRange}},
		{addressing.ServiceRange, []addressing.RangeKind{addressing.PodRange}},
		{addressing.ServiceRange, []addressing.RangeKind{addressing.PodRange}},
		{addressing.PodRange, nil},
	} {
		ranges.MarkRead(step.read)
		if got := ranges.Unread(); !reflect.DeepEqual(got, step.want) {
			t.Errorf("after %q: got %v, want %v", step.read, got, step.want)
		}
	}
}

func TestNoClusterRanges(t *testing.T) {
	var none *addressing.ClusterRanges
	none.Set("a", addressing.PodRange, prefixes("10.0.0.0/24"))
	none.Remove("a")
	none.MarkRead(addressing.PodRange)
	none.OnChange(func([]netip.Prefix) { t.Error("nothing can change") })
	plan, _ := addressing.Parse(subnets("10.0.0.0/24"), specPath)
	if errs := none.Judge(plan); len(errs) > 0 {
		t.Errorf("got %v", errs)
	}
	if unread := none.Unread(); len(unread) > 0 {
		t.Errorf("%v are not read", unread)
	}
}

// Every admission asks, while ranges come and go.
func TestClusterRangesOfMany(t *testing.T) {
	ranges := addressing.NewClusterRanges()
	var group sync.WaitGroup
	plan, _ := addressing.Parse(subnets("192.168.0.0/16", "fd00::/64"), specPath)
	for worker := range 4 {
		group.Go(func() {
			for i := range 1000 {
				pod := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, byte(worker*16 + i/256), byte(i), 0}), 24)
				ranges.Set(uidOf(pod), addressing.PodRange, []netip.Prefix{pod})
				if errs := ranges.Judge(plan); len(errs) > 0 {
					t.Errorf("got %v", errs)
				}
			}
		})
	}
	group.Wait()
	if allocations := testing.AllocsPerRun(100, func() { ranges.Judge(plan) }); allocations > 0 {
		t.Errorf("to find a Network apart from 4000 ranges allocates %v times", allocations)
	}
}
