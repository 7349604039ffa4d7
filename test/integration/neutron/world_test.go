package neutron

import (
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
	"github.com/samplecrd/samplecrd/providers/neutron"
	"github.com/samplecrd/samplecrd/test/builders"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/faults"
	"github.com/samplecrd/samplecrd/test/openstack"
)

// secretName is the Secret of all clouds.
const secretName = "clouds"

// world is what one spec sees: a namespace, which is the manager's own too, with the
// Secret of all clouds, and the one manager that runs.
type world struct {
	builders.Place
	// provider is that of the manager that runs.
	provider *neutron.Provider
	tape     *tape
	faults   *faults.Transport
	// stop ends the manager, once.
	stop    func()
	classes []string
}

// newWorld makes all but manager and class. Everything goes with the spec.
func newWorld() *world {
	GinkgoHelper()
	w := &world{Place: builders.NewPlace(cluster.Client, "neutron-"), tape: &tape{}, faults: faults.New(nil), stop: func() {}}
	w.putSecret(secretName, credentials)
	DeferCleanup(func() {
		for _, e := range []*eye{member, other} {
			e.tidy(w.Namespace + "/")
		}
	})
	DeferCleanup(func() { w.stop() })
	DeferCleanup(w.clearClasses)
	DeferCleanup(w.clearNetworks)
	return w
}

// running is a world with a manager, and a class of the member's cloud.
func running(changes ...func(*samplecrdv1.NetworkClass)) *world {
	GinkgoHelper()
	w := newWorld()
	w.start()
	w.Class = w.newClass(changes...)
	return w
}

// start runs a manager with all that the binary has.
func (w *world) start(changes ...func(*env.ManagerOptions)) {
	GinkgoHelper()
	options := env.ManagerOptions{Controllers: true, Webhooks: true, Backends: w.backends}
	for _, change := range changes {
		change(&options)
	}
	stop, err := cluster.StartManager(options)
	Expect(err).NotTo(HaveOccurred())
	w.stop = sync.OnceFunc(func() { Expect(stop()).To(Succeed()) })
}

func (w *world) backends(mgr ctrl.Manager) map[samplecrdv1.ProviderType]providers.Provider {
	w.provider = neutron.New(neutron.Options{
		Live: mgr.GetAPIReader(), Cached: mgr.GetClient(), Namespace: w.Namespace, Settle: 2 * time.Second,
		Transport: func(inner httpTransport) httpTransport { return w.tape.over(w.faults.Over(inner)) },
	})
	Expect(mgr.Add(w.provider)).To(Succeed())
	backends := env.Multus(mgr)
	backends[samplecrdv1.ProviderNeutron] = w.provider
	return backends
}

// putSecret makes a Secret with that clouds.yaml, or changes it.
func (w *world) putSecret(name string, clouds []byte, changes ...func(*corev1.Secret)) {
	GinkgoHelper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	_, err := controllerutil.CreateOrUpdate(ctx, cluster.Client, secret, func() error {
		secret.Data = map[string][]byte{"clouds.yaml": clouds}
		for _, change := range changes {
			change(secret)
		}
		return nil
	})
	Expect(err).NotTo(HaveOccurred())
}

func (w *world) removeSecret(name string) {
	GinkgoHelper()
	Expect(cluster.Client.Delete(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}})).To(Succeed())
}

// newClass makes a class that goes with the spec, and waits until the manager knows it.
// It is not swept but once, unless changes say so.
func (w *world) newClass(changes ...func(*samplecrdv1.NetworkClass)) string {
	GinkgoHelper()
	class := &samplecrdv1.NetworkClass{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "neutron-"},
		Spec: samplecrdv1.NetworkClassSpec{
			Provider: samplecrdv1.ProviderNeutron,
			Neutron: &samplecrdv1.NeutronSpec{
				CredentialsSecretName: secretName, Cloud: openstack.Member, DriftIntervalSeconds: new(int32(24 * 60 * 60)),
			},
		},
	}
	for _, change := range changes {
		change(class)
	}
	Expect(cluster.Client.Create(ctx, class)).To(Succeed())
	w.classes = append(w.classes, class.Name)
	Eventually(func(g Gomega) bool {
		g.Expect(cluster.Client.Get(ctx, client.ObjectKeyFromObject(class), class)).To(Succeed())
		return meta.IsStatusConditionTrue(class.Status.Conditions, samplecrdv1.NetworkClassConditionReady)
	}).Should(BeTrue())
	return class.Name
}

// swept has the project looked through every ten seconds.
func swept(class *samplecrdv1.NetworkClass) {
	class.Spec.Neutron.DriftIntervalSeconds = new(int32(10))
}

func of(secret, cloud string) func(*samplecrdv1.NetworkClass) {
	return func(class *samplecrdv1.NetworkClass) {
		class.Spec.Neutron.CredentialsSecretName, class.Spec.Neutron.Cloud = secret, cloud
	}
}

// clearNetworks removes the Networks, as the manager that runs by now would. Those that
// do not go are torn away, so that the next spec has its peace.
func (w *world) clearNetworks() {
	w.faults.Clear()
	w.putSecret(secretName, credentials)
	for _, network := range member.find("networks", "fields", "id", "fields", "name", "project_id", member.project) {
		if name := network.text("name"); len(name) > len(w.Namespace) && name[:len(w.Namespace)] == w.Namespace {
			member.removePorts(network.id())
		}
	}
	Expect(cluster.Client.DeleteAllOf(ctx, &samplecrdv1.Network{}, client.InNamespace(w.Namespace))).To(Succeed())
	gone := InterceptGomegaFailure(func() { Eventually(w.List).WithTimeout(5 * time.Minute).Should(BeEmpty()) })
	if gone == nil {
		return
	}
	w.stop()
	left, err := w.List()
	Expect(err).NotTo(HaveOccurred())
	for i := range left {
		torn := left[i].DeepCopy()
		torn.Finalizers = nil
		Expect(client.IgnoreNotFound(cluster.Client.Patch(ctx, torn, client.MergeFrom(&left[i])))).To(Succeed())
	}
	Fail("Networks do not go: " + gone.Error())
}

func (w *world) clearClasses() {
	for _, name := range w.classes {
		class := &samplecrdv1.NetworkClass{ObjectMeta: metav1.ObjectMeta{Name: name}}
		Expect(client.IgnoreNotFound(cluster.Client.Delete(ctx, class))).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(cluster.Client.Get(ctx, types.NamespacedName{Name: name}, class))
		}).Should(BeTrue())
	}
}
