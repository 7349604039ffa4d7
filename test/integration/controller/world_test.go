package controller

import (
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers/memory"
	"github.com/samplecrd/samplecrd/test/builders"
	"github.com/samplecrd/samplecrd/test/env"
)

// world is a control plane as one spec sees it: a namespace and a class of its
// own, and the one manager that runs.
type world struct {
	*env.Env
	builders.Place
	// backend is the fake; unused with Multus.
	backend *memory.Provider
	// stop ends the manager, once.
	stop func()
}

// newWorld makes a namespace, a class where nobody has to judge it, and no manager
// yet. Everything goes with the spec.
func newWorld(e *env.Env) *world {
	GinkgoHelper()
	w := &world{Env: e, Place: builders.NewPlace(e.Client, "spec-"), backend: memory.New(), stop: func() {}}
	DeferCleanup(func() { w.stop() })
	DeferCleanup(w.clear)
	if e == bare {
		w.Class = w.newClass().Name
	}
	return w
}

// clear removes the Networks, as the manager that runs by now would.
func (w *world) clear() {
	networks, err := w.List()
	Expect(err).NotTo(HaveOccurred())
	for i := range networks {
		network := networks[i].DeepCopy()
		network.Finalizers = slices.DeleteFunc(network.Finalizers, func(name string) bool { return name == foreignFinalizer })
		Expect(w.Client.Patch(ctx, network, client.MergeFrom(&networks[i]))).To(Succeed())
	}
	Expect(w.Client.DeleteAllOf(ctx, &samplecrdv1.Network{}, client.InNamespace(w.Namespace))).To(Succeed())
	Eventually(w.List).Should(BeEmpty())
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
	if w.Class == "" {
		w.Class = w.newClass().Name
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

func isDefault(class *samplecrdv1.NetworkClass) {
	class.Annotations = map[string]string{samplecrdv1.AnnotationIsDefaultClass: "true"}
}

// touch makes the controller look again, with nothing to do, and waits until it
// has.
func (w *world) touch(name string) *samplecrdv1.Network {
	GinkgoHelper()
	before := reconciles()
	touched := w.Change(name, func(network *samplecrdv1.Network) {
		metav1.SetMetaDataLabel(&network.ObjectMeta, "touched", string(types.UID(network.ResourceVersion)))
	})
	Eventually(reconciles).Should(BeNumerically(">", before))
	return touched
}
