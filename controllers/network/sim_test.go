package network

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/providers/memory"
)

// sim is the controller in a world whose every delay is a choice: what is stored,
// what of it the cache shows, which Network is looked at next, and where the process
// ends.
type sim struct {
	t       *testing.T
	random  *rand.Rand
	store   client.Client
	backend *memory.Provider
	r       *Reconciler
	serial  int

	// shown is what the cache has, pending what it has not been told of yet, oldest
	// first; nil is the end of a Network.
	shown   map[types.NamespacedName]*samplecrdv1.Network
	pending map[types.NamespacedName][]*samplecrdv1.Network
	latest  map[types.NamespacedName]*samplecrdv1.Network
	classes map[string]*samplecrdv1.NetworkClass
	// queue is what is to be looked at.
	queue map[types.NamespacedName]bool
	// busy says that others act in the middle of passes.
	busy bool

	// writesLeft is how many more writes this process makes; negative for any number.
	writesLeft int
	// stumbles says that the next write fails, and the process goes on.
	stumbles bool
	// arrives says that a write which ends or fails is stored all the same.
	arrives bool
}

var (
	errEnded    = errors.New("the process has ended")
	errStumbled = errors.New("no answer")
)

func newSim(t *testing.T, seed uint64) *sim {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := samplecrdv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s := &sim{
		t: t, random: rand.New(rand.NewPCG(seed, 4)), backend: memory.New(), writesLeft: -1,
		shown: map[types.NamespacedName]*samplecrdv1.Network{}, pending: map[types.NamespacedName][]*samplecrdv1.Network{},
		latest: map[types.NamespacedName]*samplecrdv1.Network{}, classes: map[string]*samplecrdv1.NetworkClass{},
	}
	s.store = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&samplecrdv1.Network{}).Build()
	s.start()
	return s
}

// start is a process that begins with the cache as it is.
func (s *sim) start() {
	s.writesLeft, s.stumbles, s.queue = -1, false, map[types.NamespacedName]bool{}
	s.r = &Reconciler{
		client: &lagging{Client: s.fused(), sim: s}, live: s.store, recorder: &events.FakeRecorder{},
		backends: map[samplecrdv1.ProviderType]providers.Provider{samplecrdv1.ProviderMultus: struct{ providers.Provider }{s.backend}},
		watched:  map[providers.Provider]bool{},
	}
	s.r.arbiter = newArbiter(addressing.NewClaims(), s.r.shown)
	s.r.arbiter.wake = func(name types.NamespacedName) { s.queue[name] = true }
	for name, network := range s.shown {
		s.feed(network)
		s.queue[name] = true
	}
}

// feed tells the table of what the cache shows, as controllers/claims does.
func (s *sim) feed(network *samplecrdv1.Network) {
	scope := addressing.Scope{}
	if class := s.classes[network.Spec.NetworkClassName]; class != nil {
		scope = addressing.ScopeOf(class.Name, class.Spec.OverlapScope, network.Namespace)
	}
	s.r.arbiter.asked.Set(addressing.OwnerOf(network), scope, addressing.Recorded(&network.Status), addressing.Asked(&network.Spec))
}

// setClass makes, changes or with nil removes a class, which the cache shows at once.
func (s *sim) setClass(name string, class *samplecrdv1.NetworkClass) {
	if delete(s.classes, name); class != nil {
		s.classes[name] = class
	}
	for key, network := range s.shown {
		s.feed(network)
		if network.Spec.NetworkClassName == name || network.Spec.NetworkClassName == "" {
			s.queue[key] = true
		}
	}
}

func simClass(name string, scope samplecrdv1.OverlapScope, allowed ...string) *samplecrdv1.NetworkClass {
	class := &samplecrdv1.NetworkClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
	class.Spec.Provider, class.Spec.OverlapScope, class.Spec.AllowedCIDRs = samplecrdv1.ProviderMultus, scope, allowed
	return class
}

// create stores a Network of an age, in seconds of some day.
func (s *sim) create(namespace, class string, age int, cidrs ...string) *samplecrdv1.Network {
	s.t.Helper()
	s.serial++
	network := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: fmt.Sprintf("n-%d", s.serial), UID: types.UID(fmt.Sprintf("uid-%d", s.serial)), Generation: 1,
		CreationTimestamp: metav1.NewTime(time.Unix(1_000_000, 0).Add(-time.Duration(age) * time.Second)),
	}}
	network.Spec.NetworkClassName = class
	setRanges(network, cidrs)
	if err := s.store.Create(s.t.Context(), network); err != nil {
		s.t.Fatal(err)
	}
	s.observe()
	return network
}

func setRanges(network *samplecrdv1.Network, cidrs []string) {
	network.Spec.CIDR, network.Spec.AdditionalSubnets = cidrs[0], nil
	for _, cidr := range cidrs[1:] {
		network.Spec.AdditionalSubnets = append(network.Spec.AdditionalSubnets, samplecrdv1.SubnetSpec{CIDR: cidr})
	}
}

// change stores other ranges in a Network.
func (s *sim) change(key types.NamespacedName, cidrs ...string) {
	s.t.Helper()
	network := s.latest[key].DeepCopy()
	setRanges(network, cidrs)
	network.Generation++
	if err := s.store.Update(s.t.Context(), network); err != nil {
		s.t.Fatal(err)
	}
	s.observe()
}

func (s *sim) remove(key types.NamespacedName) {
	s.t.Helper()
	if err := s.store.Delete(s.t.Context(), s.latest[key].DeepCopy()); client.IgnoreNotFound(err) != nil {
		s.t.Fatal(err)
	}
	s.observe()
}

// observe notes what has changed in the store, and checks what must always hold.
func (s *sim) observe() {
	s.t.Helper()
	var networks samplecrdv1.NetworkList
	if err := s.store.List(s.t.Context(), &networks); err != nil {
		s.t.Fatal(err)
	}
	now := map[types.NamespacedName]*samplecrdv1.Network{}
	for i := range networks.Items {
		network := &networks.Items[i]
		key := client.ObjectKeyFromObject(network)
		now[key] = network
		if before := s.latest[key]; before == nil || before.ResourceVersion != network.ResourceVersion {
			s.pending[key] = append(s.pending[key], network)
			s.checkKept(before, network)
		}
	}
	for key := range s.latest {
		if now[key] == nil {
			s.pending[key] = append(s.pending[key], nil)
		}
	}
	s.latest = now
	s.checkApart()
}

// deliver tells the cache of the next change of one Network.
func (s *sim) deliver(key types.NamespacedName) {
	before, after := s.shown[key], s.pending[key][0]
	if s.pending[key] = s.pending[key][1:]; len(s.pending[key]) == 0 {
		delete(s.pending, key)
	}
	if after == nil {
		delete(s.shown, key)
		if before == nil {
			return
		}
		s.r.arbiter.asked.Remove(before.UID)
		s.r.own.Gone().Delete(s.t.Context(), event.DeleteEvent{Object: before}, nil)
		s.r.forgets().Delete(s.t.Context(), event.DeleteEvent{Object: before}, nil)
		return
	}
	s.shown[key] = after
	s.feed(after)
	if before == nil || asked.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		s.queue[key] = true
	}
}

// look is one pass over one Network.
func (s *sim) look(key types.NamespacedName) {
	s.t.Helper()
	delete(s.queue, key)
	network := s.shown[key]
	if network == nil {
		return
	}
	result, err := s.r.Reconcile(s.t.Context(), network.DeepCopy())
	if errors.Is(err, errEnded) {
		s.observe()
		s.start()
		return
	}
	// What waits for minutes is not counted on: somebody has to wake it.
	if err != nil || (result.RequeueAfter > 0 && result.RequeueAfter <= confirm) {
		s.queue[key] = true
	}
	s.observe()
}

// settle lets everything happen that is due, in any order.
func (s *sim) settle() {
	s.t.Helper()
	for range 5000 {
		switch choices := len(s.pending) + len(s.queue); {
		case choices == 0:
			return
		case s.random.IntN(choices) < len(s.pending):
			s.deliver(s.pick(slices.Collect(maps.Keys(s.pending))))
		default:
			s.look(s.pick(slices.Collect(maps.Keys(s.queue))))
		}
	}
	s.t.Fatalf("it does not come to rest: %v is still to be looked at", s.queue)
}

// deliverAll shows the cache all that is stored.
func (s *sim) deliverAll() {
	for len(s.pending) > 0 {
		s.deliver(s.pick(slices.Collect(maps.Keys(s.pending))))
	}
}

func (s *sim) pick(keys []types.NamespacedName) types.NamespacedName {
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return keys[s.random.IntN(len(keys))]
}
