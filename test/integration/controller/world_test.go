package controller

import (
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers/memory"
	"github.com/samplecrd/samplecrd/test/env"
)

// world is a control plane as one spec sees it: a namespace and a class of its
// own, and the one manager that runs.
type world struct {
	*env.Env
	namespace string
	// class is what network gives to every Network; empty for none.
	class string
	// backend is the fake; unused with Multus.
	backend *memory.Provider
	// stop ends the manager, once.
	stop func()
}

// newWorld makes a namespace, a class where nobody has to judge it, and no manager
// yet. Everything goes with the spec.
func newWorld(e *env.Env) *world {
	GinkgoHelper()
	w := &world{Env: e, namespace: newNamespace(e), backend: memory.New(), stop: func() {}}
	DeferCleanup(func() { w.stop() })
	DeferCleanup(w.clear)
	if e == bare {
		w.class = w.newClass().Name
	}
	return w
}

// clear removes the Networks, as the manager that runs by now would.
func (w *world) clear() {
	networks, err := w.list()
	Expect(err).NotTo(HaveOccurred())
	for i := range networks {
		network := networks[i].DeepCopy()
		network.Finalizers = slices.DeleteFunc(network.Finalizers, func(name string) bool { return name == foreignFinalizer })
		Expect(w.Client.Patch(ctx, network, client.MergeFrom(&networks[i]))).To(Succeed())
	}
	Expect(w.Client.DeleteAllOf(ctx, &samplecrdv1.Network{}, client.InNamespace(w.namespace))).To(Succeed())
	Eventually(w.list).Should(BeEmpty())
}

func newNamespace(e *env.Env) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-"}}
	Expect(e.Client.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

// onMemory is a world with the fake backend, where nothing guards what is stored.
func onMemory() *world {
	GinkgoHelper()
	w := newWorld(bare)
	w.startOnMemory()
	return w
}

// onMultus is a world with everything that the binary has.
func onMultus() *world {
	GinkgoHelper()
	w := newWorld(whole)
	w.start(env.ManagerOptions{Controllers: true, Webhooks: true})
	return w
}

func (w *world) startOnMemory() {
	GinkgoHelper()
	w.start(env.ManagerOptions{Controllers: true, Backends: env.Instead(w.backend)})
}

func (w *world) start(opts env.ManagerOptions) {
	GinkgoHelper()
	stop, err := w.StartManager(opts)
	Expect(err).NotTo(HaveOccurred())
	w.stop = sync.OnceFunc(func() { Expect(stop()).To(Succeed()) })
	if w.class == "" {
		w.class = w.newClass().Name
	}
}

// newClass makes a class that goes with the spec.
func (w *world) newClass(changes ...func(*samplecrdv1.NetworkClass)) *samplecrdv1.NetworkClass {
	GinkgoHelper()
	class := &samplecrdv1.NetworkClass{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "class-"},
		Spec: samplecrdv1.NetworkClassSpec{
			Provider: samplecrdv1.ProviderMultus,
			Multus:   &samplecrdv1.MultusSpec{Type: samplecrdv1.MultusBridge},
		},
	}
	for _, change := range changes {
		change(class)
	}
	Expect(w.Client.Create(ctx, class)).To(Succeed())
	DeferCleanup(func() { Expect(client.IgnoreNotFound(w.Client.Delete(ctx, class))).To(Succeed()) })
	return class
}

// network creates a Network of the world's class.
func (w *world) network(name, cidr string, changes ...func(*samplecrdv1.Network)) *samplecrdv1.Network {
	GinkgoHelper()
	network := w.draft(name, cidr, changes...)
	Expect(w.Client.Create(ctx, network)).To(Succeed())
	return network
}

func (w *world) draft(name, cidr string, changes ...func(*samplecrdv1.Network)) *samplecrdv1.Network {
	network := &samplecrdv1.Network{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	network.Spec.CIDR = cidr
	network.Spec.NetworkClassName = w.class
	for _, change := range changes {
		change(network)
	}
	return network
}

func gateway(address string) func(*samplecrdv1.Network) {
	return func(network *samplecrdv1.Network) { network.Spec.Gateway = address }
}

func ofClass(name string) func(*samplecrdv1.Network) {
	return func(network *samplecrdv1.Network) { network.Spec.NetworkClassName = name }
}

func isDefault(class *samplecrdv1.NetworkClass) {
	class.Annotations = map[string]string{samplecrdv1.AnnotationIsDefaultClass: "true"}
}

// get reads a Network that has to exist.
func (w *world) get(name string) *samplecrdv1.Network {
	GinkgoHelper()
	network := &samplecrdv1.Network{}
	Expect(w.Client.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, network)).To(Succeed())
	return network
}

// of is get for Eventually and Consistently.
func (w *world) of(name string) func(Gomega) *samplecrdv1.Network {
	return func(g Gomega) *samplecrdv1.Network {
		network := &samplecrdv1.Network{}
		g.Expect(w.Client.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, network)).To(Succeed())
		return network
	}
}

func (w *world) gone(name string) func() bool {
	return func() bool {
		err := w.Client.Get(ctx, types.NamespacedName{Namespace: w.namespace, Name: name}, &samplecrdv1.Network{})
		return apierrors.IsNotFound(err)
	}
}

func (w *world) list() ([]samplecrdv1.Network, error) {
	var networks samplecrdv1.NetworkList
	err := w.Client.List(ctx, &networks, client.InNamespace(w.namespace))
	return networks.Items, err
}

// change patches a Network.
func (w *world) change(name string, change func(*samplecrdv1.Network)) *samplecrdv1.Network {
	GinkgoHelper()
	network := w.get(name)
	before := network.DeepCopy()
	change(network)
	Expect(w.Client.Patch(ctx, network, client.MergeFrom(before))).To(Succeed())
	return network
}

// touch makes the controller look again, with nothing to do, and waits until it
// has.
func (w *world) touch(name string) *samplecrdv1.Network {
	GinkgoHelper()
	before := reconciles()
	touched := w.change(name, func(network *samplecrdv1.Network) {
		metav1.SetMetaDataLabel(&network.ObjectMeta, "touched", string(types.UID(network.ResourceVersion)))
	})
	Eventually(reconciles).Should(BeNumerically(">", before))
	return touched
}

func (w *world) remove(name string) {
	GinkgoHelper()
	Expect(w.Client.Delete(ctx, w.draft(name, ""))).To(Succeed())
}
