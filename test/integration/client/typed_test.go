package client

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// typed is what the clientset has for every kind.
type typed[T client.Object, L client.ObjectList] interface {
	Create(ctx context.Context, object T, opts metav1.CreateOptions) (T, error)
	Update(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error)
	UpdateStatus(ctx context.Context, object T, opts metav1.UpdateOptions) (T, error)
	Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error
	DeleteCollection(ctx context.Context, opts metav1.DeleteOptions, listOpts metav1.ListOptions) error
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (T, error)
}

// subject is a kind and what may be changed of it.
type subject[T client.Object, L client.ObjectList] struct {
	in     func(namespace string) typed[T, L]
	draft  func(name string) T
	change func(T)
	// spec and conditions reach into an object.
	spec       func(T) any
	conditions func(T) *[]metav1.Condition
}

var _ = Describe("the typed clientset", func() {
	Describe("of Network", func() {
		calls(subject[*samplecrdv1.Network, *samplecrdv1.NetworkList]{
			in: func(namespace string) typed[*samplecrdv1.Network, *samplecrdv1.NetworkList] {
				return ours.SamplecrdV1().Networks(namespace)
			},
			draft:      func(name string) *samplecrdv1.Network { return draftNetwork(name, "10.0.0.0/24") },
			change:     func(network *samplecrdv1.Network) { network.Spec.MTU = new(int32(1400)) },
			spec:       func(network *samplecrdv1.Network) any { return network.Spec },
			conditions: func(network *samplecrdv1.Network) *[]metav1.Condition { return &network.Status.Conditions },
		})
	})

	Describe("of NetworkClass, which has no namespace", func() {
		calls(subject[*samplecrdv1.NetworkClass, *samplecrdv1.NetworkClassList]{
			in: func(string) typed[*samplecrdv1.NetworkClass, *samplecrdv1.NetworkClassList] {
				return ours.SamplecrdV1().NetworkClasses()
			},
			draft:      draftClass,
			change:     func(class *samplecrdv1.NetworkClass) { class.Spec.DeletionPolicy = samplecrdv1.DeletionRetain },
			spec:       func(class *samplecrdv1.NetworkClass) any { return class.Spec },
			conditions: func(class *samplecrdv1.NetworkClass) *[]metav1.Condition { return &class.Status.Conditions },
		})
	})

	Describe("of Foo", func() {
		calls(subject[*samplev1alpha1.Foo, *samplev1alpha1.FooList]{
			in: func(namespace string) typed[*samplev1alpha1.Foo, *samplev1alpha1.FooList] {
				return ours.SamplecontrollerV1alpha1().Foos(namespace)
			},
			draft:      func(name string) *samplev1alpha1.Foo { return draftFoo(name, name) },
			change:     func(foo *samplev1alpha1.Foo) { foo.Spec.Replicas = new(int32(3)) },
			spec:       func(foo *samplev1alpha1.Foo) any { return foo.Spec },
			conditions: func(foo *samplev1alpha1.Foo) *[]metav1.Condition { return &foo.Status.Conditions },
		})

		It("lists by the Deployment's name", func() {
			foos := ours.SamplecontrollerV1alpha1().Foos(newNamespace())
			must(foos.Create(ctx, draftFoo("one", "web"), metav1.CreateOptions{}))
			must(foos.Create(ctx, draftFoo("other", "db"), metav1.CreateOptions{}))
			found := must(foos.List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.deploymentName", "web").String()}))
			Expect(found.Items).To(ConsistOf(HaveField("Name", "one")))
		})

		It("reads and writes the scale", func() {
			foos := ours.SamplecontrollerV1alpha1().Foos(newNamespace())
			foo := must(foos.Create(ctx, draftFoo("example-foo", "web"), metav1.CreateOptions{}))
			foo.Status.Replicas, foo.Status.Selector = new(int32(2)), new("app=web")
			must(foos.UpdateStatus(ctx, foo, metav1.UpdateOptions{}))

			scale := must(foos.GetScale(ctx, "example-foo", metav1.GetOptions{}))
			Expect(scale.Spec.Replicas).To(BeEquivalentTo(1), "the default")
			Expect(scale.Status.Replicas).To(BeEquivalentTo(2))
			Expect(scale.Status.Selector).To(Equal("app=web"))

			scale.Spec.Replicas = 4
			Expect(must(foos.UpdateScale(ctx, "example-foo", scale, metav1.UpdateOptions{})).Spec.Replicas).To(BeEquivalentTo(4))
			Expect(must(foos.Get(ctx, "example-foo", metav1.GetOptions{})).Spec.Replicas).To(HaveValue(BeEquivalentTo(4)))
			_, err := foos.UpdateScale(ctx, "example-foo", scale, metav1.UpdateOptions{})
			Expect(apierrors.IsConflict(err)).To(BeTrue(), "the scale has the Foo's old version: %v", err)
		})
	})
})

// calls makes the specs of one kind.
func calls[T client.Object, L client.ObjectList](s subject[T, L]) {
	var (
		objects typed[T, L]
		created T
		// mark labels what the spec creates, since not every kind has namespaces; mine
		// selects it.
		mark string
		mine metav1.ListOptions
	)

	create := func(name string) T {
		GinkgoHelper()
		object := s.draft(name)
		object.SetLabels(map[string]string{"spec": mark})
		return must(objects.Create(ctx, object, metav1.CreateOptions{}))
	}

	list := func() []string {
		GinkgoHelper()
		var names []string
		Expect(meta.EachListItem(must(objects.List(ctx, mine)), func(object runtime.Object) error {
			names = append(names, object.(T).GetName())
			return nil
		})).To(Succeed())
		return names
	}

	BeforeEach(func() {
		mark = newNamespace()
		objects, mine = s.in(mark), metav1.ListOptions{LabelSelector: "spec=" + mark}
		created = create(mark)
		DeferCleanup(func() { Expect(objects.DeleteCollection(ctx, metav1.DeleteOptions{}, mine)).To(Succeed()) })
	})

	It("creates, gets and lists", func() {
		Expect(created.GetUID()).NotTo(BeEmpty())
		Expect(created.GetGeneration()).To(BeEquivalentTo(1))
		Expect(must(objects.Get(ctx, created.GetName(), metav1.GetOptions{}))).To(Equal(created))
		other := create(created.GetName() + "-other")
		Expect(list()).To(ConsistOf(created.GetName(), other.GetName()))
		_, err := objects.Create(ctx, s.draft(created.GetName()), metav1.CreateOptions{})
		Expect(apierrors.IsAlreadyExists(err)).To(BeTrue(), "%v", err)
	})

	It("updates the spec and not the status", func() {
		changed := created.DeepCopyObject().(T)
		s.change(changed)
		*s.conditions(changed) = ready()
		updated := must(objects.Update(ctx, changed, metav1.UpdateOptions{}))
		Expect(s.spec(updated)).To(Equal(s.spec(changed)))
		Expect(updated.GetGeneration()).To(BeEquivalentTo(2))
		Expect(*s.conditions(updated)).To(BeEmpty())

		_, err := objects.Update(ctx, created, metav1.UpdateOptions{})
		Expect(apierrors.IsConflict(err)).To(BeTrue(), "the version is old: %v", err)
	})

	It("updates the status and not the spec", func() {
		changed := created.DeepCopyObject().(T)
		s.change(changed)
		*s.conditions(changed) = ready()
		updated := must(objects.UpdateStatus(ctx, changed, metav1.UpdateOptions{}))
		Expect(*s.conditions(updated)).To(Equal(*s.conditions(changed)))
		Expect(s.spec(updated)).To(Equal(s.spec(created)))
		Expect(updated.GetGeneration()).To(BeEquivalentTo(1))
	})

	It("patches", func() {
		patched := must(objects.Patch(ctx, created.GetName(), types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"patched":"yes"}}}`), metav1.PatchOptions{}))
		Expect(patched.GetAnnotations()).To(HaveKeyWithValue("patched", "yes"))
		Expect(s.spec(patched)).To(Equal(s.spec(created)))

		patched = must(objects.Patch(ctx, created.GetName(), types.MergePatchType,
			[]byte(`{"status":{"observedGeneration":1}}`), metav1.PatchOptions{}, "status"))
		Expect(patched).To(HaveField("Status.ObservedGeneration", HaveValue(BeEquivalentTo(1))))
	})

	It("deletes, and watches what goes", func() {
		opts := mine
		opts.ResourceVersion = created.GetResourceVersion()
		watching := must(objects.Watch(ctx, opts))
		defer watching.Stop()

		wrong := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("another")}
		err := objects.Delete(ctx, created.GetName(), wrong)
		Expect(apierrors.IsConflict(err)).To(BeTrue(), "another object was meant: %v", err)
		Expect(objects.Delete(ctx, created.GetName(), metav1.DeleteOptions{})).To(Succeed())
		_, err = objects.Get(ctx, created.GetName(), metav1.GetOptions{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)

		var seen watch.Event
		Eventually(watching.ResultChan()).Should(Receive(&seen))
		Expect(seen.Type).To(Equal(watch.Deleted))
		Expect(seen.Object.(T).GetUID()).To(Equal(created.GetUID()))
	})

	It("deletes a collection", func() {
		create(created.GetName() + "-other")
		Expect(objects.DeleteCollection(ctx, metav1.DeleteOptions{}, mine)).To(Succeed())
		Expect(list()).To(BeEmpty())
	})
}
