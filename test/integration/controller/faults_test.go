package controller

import (
	"context"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/builders"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/matchers"
)

const foreignFinalizer = "example.com/hold"

var _ = Describe("Whatever is stored and whatever fails", func() {
	It("CN-04: a stored Network that breaks the rules is reported once and stops nobody", func() {
		w := newWorld(bare)
		w.Network("bad", "not-a-cidr", builders.Gateway("10.0.0.1"))
		w.Network("without-gateway", "10.0.0.0/24")
		w.Network("good", "10.9.0.0/24", builders.Gateway("10.9.0.9"))
		failures := reconcileErrors()
		w.startOnMemory()

		Eventually(w.Of("bad")).Should(beRefused(samplecrdv1.NetworkReasonInvalid, true))
		Expect(matchers.Message(w.Get("bad"), ready)).To(And(ContainSubstring("spec.cidr"), ContainSubstring("not-a-cidr")))
		Eventually(w.Events("bad")).Should(ConsistOf(HavePrefix("Warning Invalid: ")))
		Eventually(w.Of("good")).Should(matchers.BeReady())
		Eventually(w.Of("without-gateway")).Should(And(matchers.BeReady(),
			HaveField("Spec.Gateway", BeEmpty()),
			HaveField("Status.Subnets", ConsistOf(HaveField("Gateway", HaveValue(Equal("10.0.0.1")))))))

		w.touch("bad")
		settled()
		passes := reconciles()
		Consistently(reconciles).WithTimeout(3 * time.Second).Should(Equal(passes))
		Expect(reconcileErrors()).To(Equal(failures))
		Expect(w.Events("bad")(Default)).To(ConsistOf(HavePrefix("Warning Invalid: ")))
		Expect(w.held()).To(ConsistOf(w.Get("good").UID, w.Get("without-gateway").UID))
	})

	It("CN-07: a Network deleted while its backend is at work leaks nothing", func() {
		w := onMemory()
		unblock := w.backend.Block()
		w.Network("a", "10.0.0.0/24")
		Eventually(w.backend.Calls).WithArguments("Ensure").Should(Equal(1))
		Expect(w.Get("a")).To(matchers.BeHeld(), "the finalizer is stored before the first write to the backend")
		w.Remove("a")
		Consistently(w.Of("a")).WithTimeout(3 * time.Second).Should(matchers.BeHeld())
		unblock()
		Eventually(w.Gone("a")).Should(BeTrue())
		Expect(w.backend.Networks()).To(BeEmpty())
		Expect(w.backend.Writes()).To(Equal(2), "one create, one delete")
	})

	It("CN-08: a Network that was deleted before it was ever seen gets no finalizer", func() {
		w := newWorld(bare)
		w.Network("a", "10.0.0.0/24", func(network *samplecrdv1.Network) { network.Finalizers = []string{foreignFinalizer} })
		w.Remove("a")
		before, failures := w.Get("a"), reconcileErrors()
		Expect(before.DeletionTimestamp).NotTo(BeNil())
		w.startOnMemory()
		// Another one shows that the manager is at work.
		other := w.Network("b", "10.1.0.0/24")
		Eventually(w.Of("b")).Should(matchers.BeReady())
		settled()
		Expect(w.Get("a").ResourceVersion).To(Equal(before.ResourceVersion))
		Expect(w.Get("a").Finalizers).To(Equal([]string{foreignFinalizer}))
		Expect(w.held()).To(ConsistOf(other.UID))
		Expect(w.backend.Writes()).To(Equal(1))
		Expect(reconcileErrors()).To(Equal(failures))
	})

	It("CN-16: a cache that still shows the Network cleans up once more, for nothing", func() {
		w := newWorld(bare)
		stale := &staleCache{}
		w.start(env.ManagerOptions{Controllers: true, Backends: env.Instead(w.backend), Client: stale.client})
		created := w.Network("a", "10.0.0.0/24")
		Eventually(w.Of("a")).Should(matchers.BeReady())
		w.Remove("a")
		Eventually(w.Gone("a")).Should(BeTrue())
		settled()
		failures, deletes, passes := reconcileErrors(), w.backend.Calls("Delete"), reconciles()

		stale.replay()
		w.backend.SetForeign(types.NamespacedName{Namespace: w.Namespace, Name: created.Name}, false)
		Eventually(stale.replayed).Should(BeTrue())
		settled()
		Expect(reconciles()).To(Equal(passes+1), "no retry")
		Expect(reconcileErrors()).To(Equal(failures), "not found on the last patch is success")
		Expect(w.backend.Calls("Delete")).To(Equal(deletes + 1))
		Expect(stale.answers()).To(HaveEach(WithTransform(apierrors.IsNotFound, BeTrue())))
		Expect(w.Gone("a")()).To(BeTrue())
	})

	It("CN-16: a cache that is behind while somebody else holds the Network brings no finalizer back", func() {
		w := newWorld(bare)
		stale := &staleCache{}
		w.start(env.ManagerOptions{Controllers: true, Backends: env.Instead(w.backend), Client: stale.client})
		created := w.Network("a", "10.0.0.0/24", func(network *samplecrdv1.Network) { network.Finalizers = []string{foreignFinalizer} })
		Eventually(w.Of("a")).Should(matchers.BeReady())
		w.Remove("a")
		Eventually(w.Of("a")).ShouldNot(matchers.BeHeld())
		settled()
		before := w.Get("a")

		stale.replay()
		w.backend.SetForeign(types.NamespacedName{Namespace: w.Namespace, Name: created.Name}, false)
		Eventually(stale.replayed).Should(BeTrue())
		settled()
		Expect(w.Get("a").ResourceVersion).To(Equal(before.ResourceVersion))
		Expect(w.Get("a").Finalizers).To(Equal([]string{foreignFinalizer}))
		Expect(w.backend.Networks()).To(BeEmpty())
	})
})

// staleCache is a client that can be made to show, once more, a Network as it was
// when it was deleted and held by us.
type staleCache struct {
	mu      sync.Mutex
	last    *samplecrdv1.Network
	armed   bool
	done    bool
	patched []error
}

func (s *staleCache) client(config *rest.Config, options client.Options) (client.Client, error) {
	inner, err := client.NewWithWatch(config, options)
	if err != nil {
		return nil, err
	}
	return interceptor.NewClient(inner, interceptor.Funcs{Get: s.get, Patch: s.patch}), nil
}

func (s *staleCache) get(ctx context.Context, inner client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	network, isNetwork := object.(*samplecrdv1.Network)
	s.mu.Lock()
	defer s.mu.Unlock()
	if isNetwork && s.armed && s.last != nil && key == client.ObjectKeyFromObject(s.last) {
		s.armed, s.done = false, true
		s.last.DeepCopyInto(network)
		return nil
	}
	err := inner.Get(ctx, key, object, opts...)
	if isNetwork && err == nil && network.DeletionTimestamp != nil && controllerutil.ContainsFinalizer(network, samplecrdv1.NetworkFinalizer) {
		s.last = network.DeepCopy()
	}
	return err
}

func (s *staleCache) patch(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	err := inner.Patch(ctx, object, patch, opts...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		s.patched = append(s.patched, err)
	}
	return err
}

func (s *staleCache) replay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	Expect(s.last).NotTo(BeNil())
	s.armed = true
}

func (s *staleCache) replayed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done
}

// answers are what the patches after the replay came to.
func (s *staleCache) answers() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.patched
}
