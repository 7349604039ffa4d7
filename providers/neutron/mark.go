package neutron

import (
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/samplecrd/samplecrd/providers"
)

// longestName is what Neutron stores of a name, in characters.
const longestName = 255

// markPrefix begins the description of whatever a controller of this project made, in
// any cluster.
const markPrefix = "samplecrd-controller cluster="

// mark is the description that tells whose a network or a subnet is. Names tell
// nothing, since Neutron lets several networks have the same; tags cannot be set by the
// request that creates, so that a crash could come in between.
func mark(cluster, network types.UID) string {
	return markPrefix + string(cluster) + " network=" + string(network)
}

// markedBy gives the Network of this cluster that a description marks.
func markedBy(description string, cluster types.UID) (network types.UID, ours bool) {
	rest, ours := strings.CutPrefix(description, mark(cluster, ""))
	return types.UID(rest), ours && rest != ""
}

// marked says that a description is a mark of any cluster's Network.
func marked(description string) bool { return strings.HasPrefix(description, markPrefix) }

// nameOf is the readable name that a Network's network and subnets have.
func nameOf(id providers.Identity) string {
	name := id.Namespace + "/" + id.Name
	return name[:min(len(name), longestName)]
}
