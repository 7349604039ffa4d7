package plan

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// history follows every version of the Networks of a class that is stored, in order,
// and looks at each whether two have a claim on one range at that moment.
type history struct {
	class string

	mu       sync.Mutex
	last     string
	versions map[types.UID]string
	claimed  map[types.UID][]netip.Prefix
	names    map[types.UID]types.NamespacedName
	claims   int
	faults   []string
}

// record follows until the container ends.
func record(class string) *history {
	GinkgoHelper()
	h := &history{class: class, last: "1", versions: map[types.UID]string{}, claimed: map[types.UID][]netip.Prefix{}, names: map[types.UID]types.NamespacedName{}}
	follow(&samplecrdv1.NetworkList{}, h.add, client.MatchingFields{samplecrdv1.FieldNetworkClassName: class})
	return h
}

func (h *history) add(event watch.Event) {
	if err := gap(event); err != nil {
		h.fault(err.Error())
		return
	}
	network := event.Object.(*samplecrdv1.Network)
	h.mu.Lock()
	defer h.mu.Unlock()
	if order, err := resourceversion.CompareResourceVersion(network.ResourceVersion, h.last); err != nil || order < 0 {
		h.faults = append(h.faults, fmt.Sprintf("version %s came after %s", network.ResourceVersion, h.last))
	}
	h.last = network.ResourceVersion
	delete(h.claimed, network.UID)
	delete(h.versions, network.UID)
	if event.Type == watch.Deleted {
		return
	}
	h.versions[network.UID] = network.ResourceVersion
	h.names[network.UID] = client.ObjectKeyFromObject(network)
	prefixes := addressing.Recorded(&network.Status)
	for uid, others := range h.claimed {
		for _, prefix := range prefixes {
			if slices.ContainsFunc(others, prefix.Overlaps) {
				h.faults = append(h.faults, fmt.Sprintf("at %s both %s and %s have %s", network.ResourceVersion, h.names[network.UID], h.names[uid], prefix))
			}
		}
	}
	if len(prefixes) > 0 {
		h.claimed[network.UID] = prefixes
		h.claims++
	}
}

func (h *history) fault(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = append(h.faults, text)
}

// behind tells of the Networks whose newest version was not seen yet, and of those
// whose end was not, for Eventually.
func (h *history) behind(g Gomega) []string {
	var networks samplecrdv1.NetworkList
	g.Expect(cluster.Client.List(ctx, &networks, client.MatchingFields{samplecrdv1.FieldNetworkClassName: h.class})).To(Succeed())
	h.mu.Lock()
	defer h.mu.Unlock()
	behind := maps.Clone(h.versions)
	for i := range networks.Items {
		if uid, version := networks.Items[i].UID, networks.Items[i].ResourceVersion; behind[uid] == version {
			delete(behind, uid)
		} else {
			behind[uid] = version
		}
	}
	var told []string
	for uid, version := range behind {
		told = append(told, fmt.Sprintf("%s %s, seen in version %q and not in %s", uid, h.names[uid], h.versions[uid], version))
	}
	return told
}

// overlaps tells of every two that had a claim on one range at any time, and of what
// kept us from seeing it.
func (h *history) overlaps() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.faults)
}

// versionsWithClaims counts the versions in which a Network had a claim.
func (h *history) versionsWithClaims() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.claims
}
