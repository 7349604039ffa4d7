package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// account is the manager's, as the API server names it.
const account = "system:serviceaccount:" + system + ":" + controller

// right is one thing that a rule allows.
type right struct{ group, resource, verb string }

// unseen are the rights that no request shows, each with the reason.
var unseen = map[right]string{
	{"samplecontroller.k8s.io", "foos/finalizers", "update"}: "asked for by OwnerReferencesPermissionEnforcement [CF-13]",
	{"samplecrd.k8s.io", "networks/finalizers", "update"}:    "asked for by OwnerReferencesPermissionEnforcement [CF-13]",
	{"", "namespaces", "get"}:                                "the webhook reads a namespace that its cache does not have yet; the API server itself waits for its own one, so that this is rare",
	{"events.k8s.io", "events", "patch"}:                     "client-go counts what is told again of the same state of an object; the manager tells of changes",
	{"apps", "deployments", "create"}:                        "server-side apply of a Deployment that is not there needs it; its verb is patch",
}

// rights are what the manager was allowed to do, and had to, since the suite began: the
// specs before this one are the whole life of the bundle.
func rights() {
	// What else comes seldom.
	It("also where a Deployment is renamed, and where the Lease is gone", func(ctx context.Context) {
		deploy(ctx)
		mustKubectl(ctx, "-n", system, "rollout", "restart", "deployment/"+controller)
		settled(ctx)
		// Made when the first manager comes, and when it was taken away.
		mustKubectl(ctx, "-n", system, "delete", "lease", lease)
		Eventually(func() int { return kubectl(ctx, "", "-n", system, "get", "lease", lease).code }).WithContext(ctx).Should(BeZero())

		namespace(ctx, "seldom")
		foo := newFoo("seldom", "old", 0)
		Expect(c.Create(ctx, foo)).To(Succeed())
		awaitFoo(ctx, foo)
		for _, name := range []string{"new", "old", "new"} {
			Expect(c.Get(ctx, client.ObjectKeyFromObject(foo), foo)).To(Succeed())
			foo.Spec.DeploymentName = name
			Expect(c.Update(ctx, foo)).To(Succeed())
			awaitFoo(ctx, foo)
			var deployments appsv1.DeploymentList
			Eventually(func() []appsv1.Deployment {
				Expect(c.List(ctx, &deployments, client.InNamespace("seldom"))).To(Succeed())
				return deployments.Items
			}).WithContext(ctx).Should(HaveLen(1))
		}
	}, NodeTimeout(5*time.Minute))

	It("under its own ServiceAccount, never forbidden anything and with no right that it does not use", func(ctx context.Context) {
		if auditLog == "" {
			Skip("E2E_AUDIT_LOG names no audit log of the API server")
		}
		used := used()
		var unused []string
		for _, allowed := range allowed(ctx) {
			_, excused := unseen[allowed]
			// An informer lists where the API server cannot stream the list as a watch.
			streamed := allowed.verb == "list" && used[right{allowed.group, allowed.resource, "watch"}]
			if !used[allowed] && !excused && !streamed {
				unused = append(unused, fmt.Sprint(allowed))
			}
		}
		Expect(unused).To(BeEmpty())
	}, NodeTimeout(2*time.Minute))

	It("and people get theirs by the cluster's own roles", func(ctx context.Context) {
		namespace(ctx, "roles")
		for _, role := range []string{"view", "edit", "admin"} {
			mustKubectl(ctx, "-n", "roles", "create", "rolebinding", role, "--clusterrole="+role, "--user="+role)
		}
		// Of what is the cluster's a RoleBinding gives nothing.
		mustKubectl(ctx, "create", "clusterrolebinding", "e2e-planner", "--clusterrole=samplecrd-class-view", "--user=planner")
		DeferCleanup(func(ctx context.Context) { mustKubectl(ctx, "delete", "clusterrolebinding", "e2e-planner") })
		for _, tc := range []struct {
			verb, resource string
			who            []string
		}{
			{"get", "networks.samplecrd.k8s.io", []string{"view", "edit", "admin"}},
			{"get", "foos.samplecontroller.k8s.io", []string{"view", "edit", "admin"}},
			{"watch", "foos.samplecontroller.k8s.io", []string{"view", "edit", "admin"}},
			{"create", "networks.samplecrd.k8s.io", []string{"edit", "admin"}},
			{"patch", "networks.samplecrd.k8s.io", []string{"edit", "admin"}},
			{"delete", "foos.samplecontroller.k8s.io", []string{"edit", "admin"}},
			{"patch", "foos.samplecontroller.k8s.io/scale", []string{"edit", "admin"}},
			{"patch", "networks.samplecrd.k8s.io/status", nil},
			{"patch", "foos.samplecontroller.k8s.io/status", nil},
			{"update", "foos.samplecontroller.k8s.io/finalizers", nil},
			{"list", "networkclasses.samplecrd.k8s.io", []string{"planner"}},
			{"create", "networkclasses.samplecrd.k8s.io", nil},
			{"patch", "networkclasses.samplecrd.k8s.io", nil},
			{"create", "network-attachment-definitions.k8s.cni.cncf.io", nil},
		} {
			for _, user := range []string{"view", "edit", "admin", "planner"} {
				want := "no"
				if slices.Contains(tc.who, user) {
					want = "yes"
				}
				// The roles are put together by a controller.
				resource, sub, _ := strings.Cut(tc.resource, "/")
				args := []string{"auth", "can-i", tc.verb, resource, "--as=" + user}
				// can-i takes a namespace's answer for what is the cluster's, too.
				if strings.HasPrefix(resource, "networkclasses.") {
					args = append(args, "--all-namespaces")
				} else {
					args = append(args, "--namespace=roles")
				}
				if sub != "" {
					args = append(args, "--subresource="+sub)
				}
				Eventually(func() string { return strings.TrimSpace(kubectl(ctx, "", args...).stdout) }).WithContext(ctx).
					Should(Equal(want), "%s may %s %s", user, tc.verb, tc.resource)
			}
		}
	}, NodeTimeout(3*time.Minute))
}

// used are the rights that the manager has made use of. It was forbidden nothing.
func used() map[right]bool {
	GinkgoHelper()
	all := map[right]bool{}
	for _, event := range audited() {
		// What admission forbids, as in a namespace that goes, is no lack of rights.
		Expect(event.Annotations).To(HaveKeyWithValue("authorization.k8s.io/decision", "allow"), "%s %s: %s", event.Verb, event.RequestURI, event.ResponseStatus.Message)
		if event.ObjectRef == nil {
			continue // Discovery.
		}
		resource := event.ObjectRef.Resource
		if event.ObjectRef.Subresource != "" {
			resource += "/" + event.ObjectRef.Subresource
		}
		all[right{event.ObjectRef.APIGroup, resource, event.Verb}] = true
	}
	return all
}

// allowed are the manager's rights, one by one.
func allowed(ctx context.Context) []right {
	GinkgoHelper()
	var rules []rbacv1.PolicyRule
	var everywhere rbacv1.ClusterRole
	Expect(c.Get(ctx, client.ObjectKey{Name: controller}, &everywhere)).To(Succeed())
	rules = append(rules, everywhere.Rules...)
	var bindings rbacv1.RoleBindingList
	Expect(c.List(ctx, &bindings, client.InNamespace(system))).To(Succeed())
	for _, binding := range bindings.Items {
		var role rbacv1.Role
		Expect(c.Get(ctx, client.ObjectKey{Namespace: system, Name: binding.RoleRef.Name}, &role)).To(Succeed())
		rules = append(rules, role.Rules...)
	}
	var all []right
	for _, rule := range rules {
		Expect(rule.NonResourceURLs).To(BeEmpty())
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					Expect([]string{group, resource, verb}).NotTo(ContainElement(ContainSubstring("*")))
					Expect(resource).NotTo(Equal("secrets"))
					all = append(all, right{group, resource, verb})
				}
			}
		}
	}
	return all
}

// audited are the manager's requests.
func audited() []auditv1.Event {
	GinkgoHelper()
	// With those that were rotated.
	files, err := filepath.Glob(strings.TrimSuffix(auditLog, ".log") + "*.log")
	Expect(err).NotTo(HaveOccurred())
	var events []auditv1.Event
	for _, name := range files {
		file, err := os.Open(name)
		Expect(err).NotTo(HaveOccurred())
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var event auditv1.Event
			Expect(json.Unmarshal(lines.Bytes(), &event)).To(Succeed())
			if event.User.Username == account && event.ResponseStatus != nil && event.StageTimestamp.After(begun) {
				events = append(events, event)
			}
		}
		Expect(errors.Join(lines.Err(), file.Close())).To(Succeed())
	}
	Expect(events).NotTo(BeEmpty())
	return events
}
