package foo

import (
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/test/env"
)

// world is a control plane as one spec sees it: a namespace of its own, and the one
// manager that runs.
type world struct {
	*env.Env
	namespace string
	// stop ends the manager, once.
	stop func()
}

// shared ends the manager of a control plane that one spec leaves to the next.
var shared = map[*env.Env]func(){}

// onBare is a world without webhooks, where nothing guards what is stored.
func onBare() *world {
	GinkgoHelper()
	return onShared(bare, env.ManagerOptions{Controllers: true})
}

// onWhole is a world with everything that the binary has.
func onWhole() *world {
	GinkgoHelper()
	return onShared(whole, env.ManagerOptions{Controllers: true, Webhooks: true})
}

func onShared(e *env.Env, opts env.ManagerOptions) *world {
	GinkgoHelper()
	w := inNamespace(e)
	if shared[e] == nil {
		w.run(opts)
		shared[e] = w.stop
	}
	w.stop = shared[e]
	return w
}

// newWorld is a world without a manager yet. The one that the spec starts goes with
// it.
func newWorld(e *env.Env) *world {
	GinkgoHelper()
	w := inNamespace(e)
	if stop := shared[e]; stop != nil {
		stop()
	}
	return w
}

// inNamespace makes the namespace, whose Foos and Deployments go with the spec.
func inNamespace(e *env.Env) *world {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-"}}
	Expect(e.Client.Create(ctx, namespace)).To(Succeed())
	w := &world{Env: e, namespace: namespace.Name, stop: func() {}}
	DeferCleanup(w.clear)
	return w
}

// start runs the manager of a world that has none, or none any more.
func (w *world) start(opts env.ManagerOptions) {
	GinkgoHelper()
	w.run(opts)
	DeferCleanup(w.stop)
}

func (w *world) run(opts env.ManagerOptions) {
	GinkgoHelper()
	stop, err := w.StartManager(opts)
	Expect(err).NotTo(HaveOccurred())
	w.stop = sync.OnceFunc(func() {
		delete(shared, w.Env)
		Expect(stop()).To(Succeed())
	})
}

// foo creates a Foo.
func (w *world) foo(name, deployment string, changes ...func(*samplev1alpha1.Foo)) *samplev1alpha1.Foo {
	GinkgoHelper()
	foo := w.draft(name, deployment, changes...)
	Expect(w.Client.Create(ctx, foo)).To(Succeed())
	return foo
}

func (w *world) draft(name, deployment string, changes ...func(*samplev1alpha1.Foo)) *samplev1alpha1.Foo {
	foo := &samplev1alpha1.Foo{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	foo.Spec.DeploymentName = deployment
	for _, change := range changes {
		change(foo)
	}
	return foo
}

func replicas(number int32) func(*samplev1alpha1.Foo) {
	return func(foo *samplev1alpha1.Foo) { foo.Spec.Replicas = &number }
}

func naming(deployment string) func(*samplev1alpha1.Foo) {
	return func(foo *samplev1alpha1.Foo) { foo.Spec.DeploymentName = deployment }
}

func madeFrom(podTemplate string) func(*samplev1alpha1.Foo) {
	return func(foo *samplev1alpha1.Foo) { foo.Spec.PodTemplateName = podTemplate }
}

// get reads a Foo that has to exist.
func (w *world) get(name string) *samplev1alpha1.Foo {
	GinkgoHelper()
	return w.of(name)(Default)
}

// of is get for Eventually and Consistently.
func (w *world) of(name string) func(Gomega) *samplev1alpha1.Foo {
	return func(g Gomega) *samplev1alpha1.Foo {
		foo := &samplev1alpha1.Foo{}
		g.Expect(w.Client.Get(ctx, w.key(name), foo)).To(Succeed())
		return foo
	}
}

func (w *world) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: name}
}

// change patches a Foo.
func (w *world) change(name string, changes ...func(*samplev1alpha1.Foo)) *samplev1alpha1.Foo {
	GinkgoHelper()
	foo := w.get(name)
	before := foo.DeepCopy()
	for _, change := range changes {
		change(foo)
	}
	Expect(w.Client.Patch(ctx, foo, client.MergeFrom(before))).To(Succeed())
	return foo
}

// touch makes the controller look again, with nothing to do, and waits until it
// has.
func (w *world) touch(name string) {
	GinkgoHelper()
	before := reconciles()
	w.change(name, func(foo *samplev1alpha1.Foo) {
		metav1.SetMetaDataLabel(&foo.ObjectMeta, "touched", foo.ResourceVersion)
	})
	Eventually(reconciles).Should(BeNumerically(">", before))
	settled()
}

// remove deletes a Foo and then, as the garbage collector does, what it controls.
func (w *world) remove(name string) {
	GinkgoHelper()
	foo := w.get(name)
	Expect(w.Client.Delete(ctx, foo)).To(Succeed())
	for _, deployment := range w.deployments(Default) {
		if metav1.IsControlledBy(&deployment, foo) {
			w.removeDeployment(deployment.Name)
		}
	}
}

// create stores an object of the world's namespace.
func (w *world) create(object client.Object) {
	GinkgoHelper()
	object.SetNamespace(w.namespace)
	Expect(w.Client.Create(ctx, object)).To(Succeed())
}

// podTemplate makes a PodTemplate with one container.
func (w *world) podTemplate(name, image string, changes ...func(*corev1.PodTemplate)) *corev1.PodTemplate {
	GinkgoHelper()
	template := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: name}}
	template.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: image}}
	for _, change := range changes {
		change(template)
	}
	w.create(template)
	return template
}

// kubectl runs a command in the world's namespace that has to succeed, and gives
// what it prints.
func (w *world) kubectl(args ...string) string {
	GinkgoHelper()
	return w.kubectlWith("", args...).Stdout
}

// apply runs kubectl apply on a manifest.
func (w *world) apply(manifest string) env.Result {
	GinkgoHelper()
	return w.kubectlWith(manifest, "apply", "-f", "-")
}

func (w *world) kubectlWith(stdin string, args ...string) env.Result {
	GinkgoHelper()
	result, err := w.Kubectl(stdin, append([]string{"--namespace", w.namespace}, args...)...)
	Expect(err).NotTo(HaveOccurred())
	Expect(result.ExitCode).To(BeZero(), "kubectl %s: %s", strings.Join(args, " "), result.Stderr)
	return result
}

// events gives type and reason of the Events about a Foo, the oldest first.
func (w *world) events(name string) func(Gomega) []string {
	return func(g Gomega) []string {
		var found []string
		for _, event := range w.eventsOf(name)(g) {
			times := int32(1)
			if event.Series != nil {
				times = event.Series.Count
			}
			for range times {
				found = append(found, event.Type+" "+event.Reason)
			}
		}
		return found
	}
}

func (w *world) eventsOf(name string) func(Gomega) []eventsv1.Event {
	return func(g Gomega) []eventsv1.Event {
		var events eventsv1.EventList
		g.Expect(w.Client.List(ctx, &events, client.InNamespace(w.namespace))).To(Succeed())
		var found []eventsv1.Event
		for _, event := range events.Items {
			if event.Regarding.Kind == "Foo" && event.Regarding.Name == name {
				found = append(found, event)
			}
		}
		return found
	}
}

// clear removes what the spec has made, so that no later manager has to do with it.
func (w *world) clear() {
	var foos samplev1alpha1.FooList
	Expect(w.Client.List(ctx, &foos, client.InNamespace(w.namespace))).To(Succeed())
	for i := range foos.Items {
		w.drop(&foos.Items[i])
	}
	deployments := w.deployments(Default)
	for i := range deployments {
		w.drop(&deployments[i])
	}
}

// drop deletes an object, whoever still holds it; on one that is being deleted it
// takes the last finalizer off.
func (w *world) drop(object client.Object) {
	Expect(client.IgnoreNotFound(w.Client.Delete(ctx, object))).To(Succeed())
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	Expect(client.IgnoreNotFound(w.Client.Patch(ctx, object, patch))).To(Succeed())
}

// gone says that an object of the world's namespace is there no more.
func (w *world) gone(object client.Object) func() bool {
	return func() bool {
		key := client.ObjectKeyFromObject(object)
		return apierrors.IsNotFound(w.Client.Get(ctx, key, object.DeepCopyObject().(client.Object)))
	}
}
