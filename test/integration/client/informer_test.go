package client

import (
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/client/informers/externalversions"
)

var _ = Describe("a shared informer factory", func() {
	var namespace string

	BeforeEach(func() { namespace = newNamespace() })

	It("has synced when what existed was told, and tells each change once", func() {
		networks := ours.SamplecrdV1().Networks(namespace)
		must(networks.Create(ctx, draftNetwork("first", "10.0.0.0/24"), metav1.CreateOptions{}))

		factory := externalversions.NewSharedInformerFactory(ours, 0)
		informer := factory.Samplecrd().V1().Networks().Informer()
		events := &journal{namespace: namespace}
		registration := must(informer.AddEventHandler(events))
		Expect(informer.HasSynced()).To(BeFalse(), "it has not started")
		Expect(factory.Samplecrd().V1().Networks().Informer()).To(Equal(informer), "it is shared")
		start(factory)
		Eventually(registration.HasSynced).Should(BeTrue())
		Expect(events.all()).To(Equal([]string{"add first, initial"}))
		told := events.all()

		after := func(change string) {
			GinkgoHelper()
			told = append(told, change)
			Eventually(events.all).Should(Equal(told))
		}
		network := must(networks.Create(ctx, draftNetwork("second", "10.1.0.0/24"), metav1.CreateOptions{}))
		after("add second")
		network.Spec.MTU = new(int32(1400))
		network = must(networks.Update(ctx, network, metav1.UpdateOptions{}))
		after("update second")
		network.Status.Conditions = ready()
		network = must(networks.UpdateStatus(ctx, network, metav1.UpdateOptions{}))
		after("update second")
		must(networks.Update(ctx, network, metav1.UpdateOptions{})) // The same again is no change.
		Expect(networks.Delete(ctx, "second", metav1.DeleteOptions{})).To(Succeed())
		after("delete second")
		// Events come in order: after this one, no other can be late.
		must(networks.Create(ctx, draftNetwork("last", "10.2.0.0/24"), metav1.CreateOptions{}))
		after("add last")
	})

	It("tells again at each resync, with the version that is known", func() {
		must(ours.SamplecontrollerV1alpha1().Foos(namespace).Create(ctx, draftFoo("example-foo", "web"), metav1.CreateOptions{}))
		factory := externalversions.NewSharedInformerFactoryWithOptions(ours, time.Second, externalversions.WithNamespace(namespace))
		events := &journal{namespace: namespace}
		must(factory.Samplecontroller().V1alpha1().Foos().Informer().AddEventHandler(events))
		start(factory)
		Eventually(events.all).Should(Equal([]string{"add example-foo, initial", "resync example-foo", "resync example-foo"}))
	})
})

var _ = Describe("a lister", func() {
	It("of Networks selects by namespace and labels, and knows what went", func() {
		one, other := newNamespace(), newNamespace()
		create := func(namespace, name, cidr, color string) {
			GinkgoHelper()
			network := draftNetwork(name, cidr)
			network.Labels = map[string]string{"color": color, "spec": one}
			must(ours.SamplecrdV1().Networks(namespace).Create(ctx, network, metav1.CreateOptions{}))
		}
		create(one, "a", "10.0.0.0/24", "blue")
		create(one, "b", "10.1.0.0/24", "red")
		create(other, "a", "10.2.0.0/24", "blue")

		factory := externalversions.NewSharedInformerFactory(ours, 0)
		lister := factory.Samplecrd().V1().Networks().Lister()
		start(factory)

		keys := func(networks []*samplecrdv1.Network, err error) []string {
			GinkgoHelper()
			Expect(err).NotTo(HaveOccurred())
			var all []string
			for _, network := range networks {
				all = append(all, cache.MetaObjectToName(network).String())
			}
			return all
		}
		mine := labels.SelectorFromSet(labels.Set{"spec": one})
		blue := labels.SelectorFromSet(labels.Set{"spec": one, "color": "blue"})
		Expect(keys(lister.List(mine))).To(ConsistOf(one+"/a", one+"/b", other+"/a"))
		Expect(keys(lister.List(blue))).To(ConsistOf(one+"/a", other+"/a"))
		Expect(keys(lister.Networks(one).List(labels.Everything()))).To(ConsistOf(one+"/a", one+"/b"))
		Expect(keys(lister.Networks(one).List(blue))).To(ConsistOf(one + "/a"))

		Expect(must(lister.Networks(other).Get("a")).Spec.CIDR).To(Equal("10.2.0.0/24"))
		_, err := lister.Networks(other).Get("b")
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
		Expect(ours.SamplecrdV1().Networks(other).Delete(ctx, "a", metav1.DeleteOptions{})).To(Succeed())
		Eventually(func() bool {
			_, err := lister.Networks(other).Get("a")
			return apierrors.IsNotFound(err)
		}).Should(BeTrue())
		Expect(must(lister.Networks(one).Get("a")).Spec.CIDR).To(Equal("10.0.0.0/24"))
	})

	It("of Foos knows one namespace when its factory does", func() {
		one, other := newNamespace(), newNamespace()
		for _, namespace := range []string{one, other} {
			must(ours.SamplecontrollerV1alpha1().Foos(namespace).Create(ctx, draftFoo("example-foo", "web"), metav1.CreateOptions{}))
		}
		factory := externalversions.NewSharedInformerFactoryWithOptions(ours, 0, externalversions.WithNamespace(one))
		lister := factory.Samplecontroller().V1alpha1().Foos().Lister()
		start(factory)
		Expect(lister.List(labels.Everything())).To(ConsistOf(HaveField("Namespace", one)))
		Expect(must(lister.Foos(one).Get("example-foo")).Spec.DeploymentName).To(Equal("web"))
		_, err := lister.Foos(other).Get("example-foo")
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
	})

	It("of NetworkClasses has no namespaces, also when it is asked for by resource", func() {
		class := must(ours.SamplecrdV1().NetworkClasses().Create(ctx, draftClass(newNamespace()), metav1.CreateOptions{}))
		DeferCleanup(func() {
			Expect(ours.SamplecrdV1().NetworkClasses().Delete(ctx, class.Name, metav1.DeleteOptions{})).To(Succeed())
		})
		factory := externalversions.NewSharedInformerFactory(ours, 0)
		lister := factory.Samplecrd().V1().NetworkClasses().Lister()
		generic := must(factory.ForResource(samplecrdv1.SchemeGroupVersion.WithResource("networkclasses"))).Lister()
		must(factory.ForResource(samplev1alpha1.SchemeGroupVersion.WithResource("foos")))
		start(factory)
		Expect(must(lister.Get(class.Name)).UID).To(Equal(class.UID))
		Expect(must(generic.Get(class.Name))).To(HaveField("UID", class.UID))
	})
})

// start runs a factory until the end of the spec and waits for its caches.
func start(factory externalversions.SharedInformerFactory) {
	GinkgoHelper()
	stop := make(chan struct{})
	DeferCleanup(func() {
		close(stop)
		factory.Shutdown()
	})
	factory.Start(stop)
	waiting := make(chan struct{})
	giveUp := time.AfterFunc(time.Minute, func() { close(waiting) })
	defer giveUp.Stop()
	Expect(factory.WaitForCacheSync(waiting)).NotTo(ContainElement(false))
}

// journal is an event handler that writes down what happens in a namespace.
type journal struct {
	namespace string

	lock    sync.Mutex
	entries []string
}

func (j *journal) OnAdd(object any, initial bool) {
	suffix := ""
	if initial {
		suffix = ", initial"
	}
	j.write("add ", object, suffix)
}

func (j *journal) OnUpdate(before, after any) {
	if before.(metav1.Object).GetResourceVersion() == after.(metav1.Object).GetResourceVersion() {
		j.write("resync ", after, "")
		return
	}
	j.write("update ", after, "")
}

func (j *journal) OnDelete(object any) {
	if lost, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = lost.Obj
	}
	j.write("delete ", object, "")
}

func (j *journal) write(verb string, object any, suffix string) {
	if object.(metav1.Object).GetNamespace() != j.namespace {
		return
	}
	j.lock.Lock()
	defer j.lock.Unlock()
	j.entries = append(j.entries, verb+object.(metav1.Object).GetName()+suffix)
}

func (j *journal) all() []string {
	j.lock.Lock()
	defer j.lock.Unlock()
	return slices.Clone(j.entries)
}
