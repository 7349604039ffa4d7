// Package providers is the contract between the Network controller and the
// backends that make Networks real. It speaks in terms of addressing; a backend
// can be written without reading its callers. Every backend passes the suite in
// providertest.
package providers

import (
	"context"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// Identity is the Network that a real network belongs to.
type Identity struct {
	// UID marks what is ours on the backend: names may be taken by others, and a
	// Network that was deleted and created again is another Network.
	UID types.UID
	// NamespacedName is for readable backend names, never for recognition.
	types.NamespacedName
	// Recorded is the backend's own name for the network, as the status has it; "" when
	// none was learned. It may be wrong or out of date: the mark decides.
	Recorded string
	// Imported is the plan of a Network that takes over a network which exists; the zero
	// value for others. By it Delete knows what such a network had from the beginning.
	Imported addressing.Plan
	// New says that no backend was ever asked for anything of it, by anybody, so that
	// nothing of it can be there yet.
	New bool
}

// Observed is what a backend holds after Ensure.
type Observed struct {
	// ID is the backend's own name for the network.
	ID string
	// SubnetIDs are the backend's own names of the subnets, where it has any.
	SubnetIDs map[netip.Prefix]string
	// Draining are the subnets that the plan no longer has and that stay while
	// somebody uses them.
	Draining []Draining
	// Changed says that this call wrote to the backend.
	Changed bool
	// Unconfirmed asks for another call soon: the backend's watch has not shown yet
	// what this call wrote or found, and may be blind to what happens to it.
	Unconfirmed bool
}

// Provider makes networks real on one kind of backend. Methods MUST be safe for
// concurrent use, MUST respect the context's deadline, and MUST be idempotent on
// Identity: a call that is repeated after a crash or a lost answer leaves one
// network, not two. They MUST NOT touch anything that does not carry the
// Identity's mark. An error SHOULD be an *Error; any other counts as
// BackendUnavailable.
type Provider interface {
	// Limits tells what networks of the class cannot have. It MUST NOT do I/O.
	Limits(class *samplecrdv1.NetworkClassSpec) addressing.Limits

	// Ensure makes the backend hold exactly plan, and writes nothing when it
	// already does. It returns what it learned, ids above all, also beside an
	// error.
	//
	// A subnet is known by its prefix. One that is held and planned MUST be kept,
	// whoever uses it; what else the plan says of it, and of the network, is changed
	// in place. One that is held and not planned goes:
	//
	//   - If it overlaps no planned subnet, these MUST be made first; then it is
	//     removed, if nobody uses it. While somebody does it MUST stay as it is and
	//     be reported as Draining, beside no error.
	//   - If it overlaps a planned one it is removed first. While somebody uses such
	//     a subnet Ensure MUST change nothing at all and return InTheWay; it SHOULD
	//     report it as Draining all the same.
	//
	// A backend whose users keep their addresses whatever becomes of the network MAY
	// carry out every change at once; then nothing is ever Draining or InUse.
	//
	// A plan without subnets is legal: it lets go of all there are. One with an ImportID
	// takes that network over, if it belongs to nobody and is as planned but for the
	// mark, and makes none.
	Ensure(ctx context.Context, id Identity, class *samplecrdv1.NetworkClassSpec, plan addressing.Plan) (Observed, error)

	// Delete removes the network. It returns nil only when the backend holds
	// nothing of id any more, and nil again when called again. While something
	// uses a subnet of it, be it one that drains, it MUST leave all as it is and
	// return InUse. What was recorded and does not bear the mark any more is left alone
	// and told as Conflict. class is nil when it is gone.
	Delete(ctx context.Context, id Identity, class *samplecrdv1.NetworkClassSpec) error

	// Release takes the mark off and leaves the network behind, no longer managed.
	// class is nil when it is gone.
	Release(ctx context.Context, id Identity, class *samplecrdv1.NetworkClassSpec) error
}

// Watcher is a Provider whose backend tells when somebody else changed a network.
// What it does not tell is seen at the next slow retry.
type Watcher interface {
	// Source yields a request for the Network whose backend object changed, could
	// now be made, or lost a user. It returns an error while the backend cannot be
	// watched yet; the caller asks again.
	Source() (source.Source, error)
}
