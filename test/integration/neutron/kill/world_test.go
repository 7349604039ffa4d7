package kill

import (
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/env"
	"github.com/samplecrd/samplecrd/test/openstack"
)

// The names of what every world has.
const (
	system     = "samplecrd-system"
	className  = "cloud"
	secretName = "cloud"
)

// world is a cluster with a manager, one process after the other, and with an account on
// Neutron, the same for all worlds.
type world struct {
	*env.Env
	name    string
	cluster types.UID
	// namespace is where the Networks are: by its name those on Neutron are known that
	// bear no mark.
	namespace string
	proxy     *proxy
	log       *gbytes.Buffer
	manager   *process
	// crowd is how many Networks live there.
	crowd int
}

// process is a running binary.
type process struct {
	*env.Controller
	killed atomic.Bool
	// gone is closed when it has ended, and err is how it did.
	gone chan struct{}
	err  error
}

// newWorlds gives so many worlds, each with a manager at work, until the test ends.
func newWorlds(count int) []*world {
	GinkgoHelper()
	all := make([]*world, count)
	var starts sync.WaitGroup
	for i := range all {
		all[i] = &world{name: string(rune('A' + i)), log: gbytes.NewBuffer(), crowd: crowd}
		starts.Go(func() {
			defer GinkgoRecover()
			var err error
			all[i].Env, err = env.Start(env.Options{WithoutNAD: true})
			Expect(err).NotTo(HaveOccurred())
		})
	}
	starts.Wait()
	for _, w := range all {
		if w.Env != nil {
			DeferCleanup(func() { Expect(w.Stop()).To(Succeed()) })
		}
	}
	for _, w := range all {
		Expect(w.Env).NotTo(BeNil(), "world %s did not begin", w.name)
		w.furnish()
		w.start()
		DeferCleanup(w.end)
	}
	return all
}

// furnish makes what the manager's Networks need.
func (w *world) furnish() {
	GinkgoHelper()
	var url string
	w.proxy, url = newProxy(cloud.member.Endpoint)
	kube := &corev1.Namespace{}
	Eventually(func() error { return w.Client.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, kube) }).Should(Succeed())
	w.cluster = kube.UID
	w.namespace = "kill-" + string(w.cluster)[:8]
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}},
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: secretName},
			Data:       map[string][]byte{"clouds.yaml": cloud.detour("kill-"+string(w.cluster), url)},
		},
		&samplecrdv1.NetworkClass{
			ObjectMeta: metav1.ObjectMeta{Name: className},
			Spec: samplecrdv1.NetworkClassSpec{
				Provider: samplecrdv1.ProviderNeutron,
				// No sweep is to mend what a new process has overlooked.
				Neutron: &samplecrdv1.NeutronSpec{CredentialsSecretName: secretName, Cloud: openstack.Member, DriftIntervalSeconds: new(int32(86400))},
			},
		},
	} {
		Expect(w.Client.Create(ctx, object)).To(Succeed())
	}
}

// start starts a manager. Without a certificate it serves no webhooks, and there are
// none.
func (w *world) start() {
	GinkgoHelper()
	started, err := w.StartController(binary, w.log, "--leader-election-namespace="+system, "--webhook-cert-dir="+filepath.Join(filepath.Dir(binary), "none"))
	Expect(err).NotTo(HaveOccurred())
	p := &process{Controller: started, gone: make(chan struct{})}
	go func() {
		p.err = <-started.Ended()
		close(p.gone)
	}()
	w.manager = p
	w.proxy.mu.Lock()
	defer w.proxy.mu.Unlock()
	w.proxy.kill = p.kill
}

// kill ends the process without a warning, and returns when it is dead.
func (p *process) kill() {
	p.killed.Store(true)
	_ = p.Signal(syscall.SIGKILL)
	<-p.gone
}

// revive starts a manager if the last one was killed.
func (w *world) revive() {
	GinkgoHelper()
	select {
	case <-w.manager.gone:
	default:
		return
	}
	if !w.manager.killed.Load() {
		StopTrying("The manager ended by itself").Wrap(w.manager.err).Now()
	}
	w.start()
}

// end leaves nothing of the world on Neutron.
func (w *world) end() {
	w.manager.kill()
	if CurrentSpecReport().Failed() {
		AddReportEntry("log of the managers of world "+w.name, string(w.log.Contents()))
	}
	Eventually(func() (int, error) { return cloud.remove(ctx, w) }).Should(BeZero())
}

// say tells of a life, at once.
func say(format string, args ...any) { _, _ = fmt.Fprintf(GinkgoWriter, format+"\n", args...) }
