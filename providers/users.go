package providers

import (
	"net/netip"
	"slices"
	"strings"
)

// MaxUsers is how many users are named in one place, and maxUser how long a name
// may be, in bytes; as status.subnets[].users.
const (
	MaxUsers = 10
	maxUser  = 253
)

// Draining is a subnet that is to go when its last user does.
type Draining struct {
	// Prefix is its range, in canonical form.
	Prefix netip.Prefix
	// Gateway is its gateway; the zero Addr when it has none.
	Gateway netip.Addr
	// ID is the backend's own name of it, where it has one.
	ID string
	// Users are those that hold it.
	Users Users
}

// Users are those that use a network or a subnet of it.
type Users struct {
	// Named are those whose names the Network's namespace may see, in any order: what
	// lives in that namespace, and ids that tell nothing of anybody.
	Named []string
	// Others says that somebody else uses it too, who MUST NOT be named.
	Others bool
}

// Any says that somebody is there.
func (u Users) Any() bool { return len(u.Named) > 0 || u.Others }

// Shown gives what a status lists: the first MaxUsers names in order, none of
// them overlong, each once; and whether there are more users.
func (u Users) Shown() (names []string, more bool) {
	all := slices.Compact(slices.Sorted(slices.Values(u.Named)))
	names = slices.Clone(all[:min(len(all), MaxUsers)])
	for i, name := range names {
		names[i] = cut(name, maxUser)
	}
	return names, u.Others || len(all) > len(names)
}

// String names the users as a sentence does; the same ones read the same always.
func (u Users) String() string {
	names, more := u.Shown()
	switch text := strings.Join(names, ", "); {
	case !more:
		return text
	case len(names) == 0:
		return "others, who may not be named here"
	default:
		return text + " and others"
	}
}

// Drained tells who holds each subnet, in the order of their ranges.
func Drained(subnets []Draining) string {
	ordered := slices.SortedFunc(slices.Values(subnets), func(a, b Draining) int { return a.Prefix.Compare(b.Prefix) })
	texts := make([]string, len(ordered))
	for i, subnet := range ordered {
		texts[i] = subnet.Prefix.String() + " is still used by " + subnet.Users.String()
	}
	return cut(strings.Join(texts, "; "), maxUsage)
}
