package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

const upgradeNamespace = "upgrade"

// phases are objects that end in every phase that lasts, with what says so: the reason
// of the condition Ready, when it is not True.
var phases = map[string]string{
	"network/ready":        "",
	"network/loser":        samplecrdv1.NetworkReasonOverlap,
	"network/classless":    samplecrdv1.NetworkReasonClassNotFound,
	"network/unsupported":  samplecrdv1.NetworkReasonUnsupported,
	"network/conflict":     samplecrdv1.NetworkReasonConflict,
	"network/dual-stack":   "",
	"network/not-allowed":  samplecrdv1.NetworkReasonNotAllowed,
	"foo/ready":            "",
	"foo/none":             "",
	"foo/foreign":          samplev1alpha1.FooReasonResourceExists,
	"foo/template-missing": samplev1alpha1.FooReasonTemplateNotFound,
}

// objects in the phases, and what brings them there.
const objects = `
apiVersion: samplecrd.k8s.io/v1
kind: Network
metadata: {name: ready}
spec: {cidr: 10.10.0.0/16, gateway: 10.10.0.7, dnsServers: [10.10.0.53]}
---
apiVersion: samplecrd.k8s.io/v1
kind: Network
metadata: {name: dual-stack}
spec: {cidr: 10.20.0.0/16, additionalSubnets: [{cidr: "2001:db8::/64"}]}
---
apiVersion: samplecrd.k8s.io/v1
kind: Network
metadata: {name: terminating, finalizers: [example.org/held]}
spec: {cidr: 10.60.0.0/16}
---
apiVersion: samplecrd.k8s.io/v1
kind: Network
metadata: {name: classless}
spec: {cidr: 10.30.0.0/16, networkClassName: missing}
---
apiVersion: samplecrd.k8s.io/v1
kind: Network
metadata: {name: unsupported}
spec: {cidr: 10.40.0.0/31}
---
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: conflict}
spec: {config: "{}"}
---
apiVersion: samplecrd.k8s.io/v1
kind: Network
metadata: {name: conflict}
spec: {cidr: 10.50.0.0/16}
---
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: ready}
spec: {deploymentName: ready, replicas: 2}
---
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: none}
spec: {deploymentName: none, replicas: 0}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: foreign}
spec:
  replicas: 0
  selector: {matchLabels: {app: foreign}}
  template:
    metadata: {labels: {app: foreign}}
    spec: {containers: [{name: a, image: a}]}
---
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: foreign}
spec: {deploymentName: foreign}
---
apiVersion: samplecontroller.k8s.io/v1alpha1
kind: Foo
metadata: {name: template-missing}
spec: {deploymentName: template-missing, podTemplateName: missing}
`

// upgraded specs exchange a release for what is under test.
func upgraded() {
	It("over the release before, with objects in every phase, and touches none of them", func(ctx context.Context) {
		load := os.Getenv("E2E_LOAD")
		if load == "" {
			Skip("E2E_LOAD names no command that brings an image to the nodes")
		}
		release, name := checkout(ctx)
		built := run(exec.CommandContext(ctx, "bash", "-c", load+` "$1" "$2"`, "load", name, release), "")
		Expect(built.code).To(BeZero(), built.stderr)

		namespace(ctx, upgradeNamespace)
		mustKubectl(ctx, "apply", "-k", overlayOf(release, name))
		awaitServing(ctx)
		mustKubectl(ctx, "apply", "-f", "config/samples/networkclass.yaml")
		answer := kubectl(ctx, objects, "-n", upgradeNamespace, "apply", "-f", "-")
		Expect(answer.code).To(BeZero(), answer.stderr)
		mustKubectl(ctx, "-n", upgradeNamespace, "delete", "networks.samplecrd.k8s.io", "terminating", "--wait=false")
		DeferCleanup(func(ctx context.Context) {
			mustKubectl(ctx, "-n", upgradeNamespace, "patch", "networks.samplecrd.k8s.io", "terminating", "--type=json", `-p=[{"op": "remove", "path": "/metadata/finalizers"}]`)
		})
		unjudged(ctx)
		inPhases(ctx)

		before, changes := snapshot(ctx), record(ctx)
		deploy(ctx)
		settled(ctx)
		leader(ctx)
		// Among the last that a new leader comes to are the objects that were there.
		fresh := newNetwork(upgradeNamespace, "fresh", "10.99.0.0/16")
		Expect(c.Create(ctx, fresh)).To(Succeed())
		awaitReady(ctx, upgradeNamespace, "network.samplecrd.k8s.io/fresh")
		Eventually(func() float64 { return reconciled(ctx)["controller_runtime_reconcile_total"] }).WithContext(ctx).
			Should(BeNumerically(">=", everyObject(ctx)))
		inPhases(ctx)
		Expect(changes()).To(BeEmpty())
		Expect(snapshot(ctx)).To(Equal(before))
		AddReportEntry(fmt.Sprintf("upgraded from %s with %d objects", name, len(before)), ReportEntryVisibilityAlways)
	}, NodeTimeout(20*time.Minute))
}

// checkout gives a folder with the release that test/cluster/release names, its binary
// built, and the name of its image.
func checkout(ctx context.Context) (dir, image string) {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(root, "test", "cluster", "release"))
	Expect(err).NotTo(HaveOccurred())
	tag, commit, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	dir = GinkgoT().TempDir()
	for _, command := range []string{
		`git archive "$2" | tar -x -C "$3"`,
		`cd "$3" && CGO_ENABLED=0 go build -ldflags "-s -w -X main.version=$1 -X main.commit=${2:0:12}" -o bin/samplecrd-controller .`,
	} {
		answer := run(exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", command, "checkout", tag, commit, dir), "")
		Expect(answer.code).To(BeZero(), "%s is built from history, which this checkout may lack (git fetch --unshallow): %s", tag, answer.stderr)
	}
	return dir, "samplecrd-controller:" + tag
}

// unjudged makes Networks that admission would refuse, as those that were there before
// what refuses them, while no webhook is asked.
func unjudged(ctx context.Context) {
	GinkgoHelper()
	answer := kubectl(ctx, `
apiVersion: samplecrd.k8s.io/v1
kind: NetworkClass
metadata: {name: for-nobody}
spec: {provider: Multus, multus: {type: Bridge}, namespaceSelector: {matchLabels: {nobody: has-it}}}
`, "apply", "-f", "-")
	Expect(answer.code).To(BeZero(), answer.stderr)
	DeferCleanup(func(ctx context.Context) { mustKubectl(ctx, "delete", "networkclass", "for-nobody", "--wait=false") })
	mustKubectl(ctx, "delete", "validatingwebhookconfigurations,mutatingwebhookconfigurations", controller)
	for _, network := range []struct{ name, cidr, class string }{
		{"loser", "10.10.1.0/24", "standard"},
		{"not-allowed", "10.70.0.0/16", "for-nobody"},
	} {
		made := newNetwork(upgradeNamespace, network.name, network.cidr)
		made.Spec.NetworkClassName = network.class
		Expect(c.Create(ctx, made)).To(Succeed())
	}
}

// inPhases waits until each object is in its phase.
func inPhases(ctx context.Context) {
	GinkgoHelper()
	for object, reason := range phases {
		kind, name, _ := strings.Cut(object, "/")
		Eventually(func(g Gomega) {
			var conditions []metav1.Condition
			key := client.ObjectKey{Namespace: upgradeNamespace, Name: name}
			if kind == "foo" {
				var foo samplev1alpha1.Foo
				g.Expect(c.Get(ctx, key, &foo)).To(Succeed())
				conditions = foo.Status.Conditions
			} else {
				var network samplecrdv1.Network
				g.Expect(c.Get(ctx, key, &network)).To(Succeed())
				conditions = network.Status.Conditions
			}
			ready := meta.FindStatusCondition(conditions, "Ready")
			g.Expect(ready).NotTo(BeNil())
			if reason == "" {
				g.Expect(ready.Status).To(Equal(metav1.ConditionTrue), ready.Message)
			} else {
				g.Expect(ready.Reason).To(Equal(reason), ready.Message)
			}
		}).WithContext(ctx).Should(Succeed(), object)
	}
}

// everyObject is how many objects the controllers look at.
func everyObject(ctx context.Context) int {
	GinkgoHelper()
	all := 0
	for _, list := range []client.ObjectList{&samplecrdv1.NetworkList{}, &samplecrdv1.NetworkClassList{}, &samplev1alpha1.FooList{}} {
		Expect(c.List(ctx, list)).To(Succeed())
		all += meta.LenList(list)
	}
	return all
}

// kinds are those whose objects an upgrade must leave alone.
func kinds() []client.ObjectList {
	nads := &unstructured.UnstructuredList{}
	nads.SetAPIVersion("k8s.cni.cncf.io/v1")
	nads.SetKind("NetworkAttachmentDefinitionList")
	return []client.ObjectList{&samplecrdv1.NetworkList{}, &samplev1alpha1.FooList{}, &appsv1.DeploymentList{}, nads}
}

// snapshot gives the resource version of every object: whatever is written changes it.
func snapshot(ctx context.Context) map[string]string {
	GinkgoHelper()
	versions := map[string]string{}
	for _, list := range kinds() {
		Expect(c.List(ctx, list, client.InNamespace(upgradeNamespace))).To(Succeed())
		Expect(meta.EachListItem(list, func(object runtime.Object) error {
			found, err := meta.Accessor(object)
			if err == nil && found.GetName() != "fresh" {
				versions[fmt.Sprintf("%T %s", object, found.GetName())] = found.GetResourceVersion()
			}
			return err
		})).To(Succeed())
	}
	return versions
}

// record watches every object; what it returns gives what happened since.
func record(ctx context.Context) func() []string {
	GinkgoHelper()
	watching, err := client.NewWithWatch(config, client.Options{Scheme: c.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	var mutex sync.Mutex
	happened := map[string]bool{}
	for _, list := range kinds() {
		Expect(c.List(ctx, list, client.InNamespace(upgradeNamespace))).To(Succeed())
		since := &client.ListOptions{Namespace: upgradeNamespace, Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
		stream, err := watching.Watch(ctx, list, since)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(stream.Stop)
		go func() {
			for event := range stream.ResultChan() {
				found, err := meta.Accessor(event.Object)
				if event.Type == watch.Bookmark || err == nil && found.GetName() == "fresh" {
					continue
				}
				mutex.Lock()
				happened[fmt.Sprintf("%s %T %v", event.Type, event.Object, event.Object)] = true
				mutex.Unlock()
			}
		}()
	}
	return func() []string {
		mutex.Lock()
		defer mutex.Unlock()
		return slices.Sorted(maps.Keys(happened))
	}
}
