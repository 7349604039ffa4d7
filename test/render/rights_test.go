package render

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// rights lists what rules allow, as "verb resource.group".
func rights(rules []rbacv1.PolicyRule) sets.Set[string] {
	all := sets.New[string]()
	for _, rule := range rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all.Insert(verb + " " + resource + "." + group)
				}
			}
		}
	}
	return all
}

func TestManagerHasNoMoreRightsThanItNeeds(t *testing.T) {
	bundle := standard(t)
	everywhere := named[*rbacv1.ClusterRole](t, bundle, controller).Rules
	for _, role := range All[*rbacv1.Role](bundle) {
		if role.Namespace != "samplecrd-system" {
			t.Errorf("Role %s is of namespace %s", role.Name, role.Namespace)
		}
	}
	for name, forbidden := range map[string]func(rbacv1.PolicyRule) bool{
		"nothing is a wildcard": func(rule rbacv1.PolicyRule) bool {
			return slices.Contains(slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs), "*") || len(rule.NonResourceURLs) > 0
		},
		"no Secret is read":                                  touches("", "secrets"),
		"no ConfigMap is read":                               touches("", "configmaps"),
		"no Pod is read":                                     touches("", "pods"),
		"Leases are the own namespace's":                     touches("coordination.k8s.io", "leases"),
		"Certificates are the own namespace's":               touches("cert-manager.io", "certificates"),
		"webhook configurations are cainjector's":            touches("admissionregistration.k8s.io", "validatingwebhookconfigurations", "mutatingwebhookconfigurations"),
		"CRDs are whose who installs":                        touches("apiextensions.k8s.io", "customresourcedefinitions"),
		"no right is given away":                             touches("rbac.authorization.k8s.io", "roles", "rolebindings", "clusterroles", "clusterrolebindings"),
		"Networks and classes are users' to make and delete": may(touches("samplecrd.k8s.io", "networks", "networkclasses"), "create", "update", "delete", "deletecollection"),
		"of Foos only the status is written":                 may(touches("samplecontroller.k8s.io", "foos"), "create", "update", "patch", "delete", "deletecollection"),
	} {
		t.Run(name, func(t *testing.T) {
			for _, rule := range everywhere {
				if forbidden(rule) {
					t.Errorf("%v", rule)
				}
			}
		})
	}
}

func touches(group string, resources ...string) func(rbacv1.PolicyRule) bool {
	return func(rule rbacv1.PolicyRule) bool {
		return slices.Contains(rule.APIGroups, group) &&
			slices.ContainsFunc(rule.Resources, func(resource string) bool { return slices.Contains(resources, resource) })
	}
}

// may says that a rule allows one of the verbs on what ours says.
func may(ours func(rbacv1.PolicyRule) bool, verbs ...string) func(rbacv1.PolicyRule) bool {
	return func(rule rbacv1.PolicyRule) bool {
		return ours(rule) && slices.ContainsFunc(rule.Verbs, func(verb string) bool { return slices.Contains(verbs, verb) })
	}
}

func TestRightsAreBoundToTheManagerAlone(t *testing.T) {
	bundle := standard(t)
	subjects := []rbacv1.Subject{}
	for _, binding := range All[*rbacv1.ClusterRoleBinding](bundle) {
		named[*rbacv1.ClusterRole](t, bundle, binding.RoleRef.Name)
		subjects = append(subjects, binding.Subjects...)
	}
	for _, binding := range All[*rbacv1.RoleBinding](bundle) {
		named[*rbacv1.Role](t, bundle, binding.RoleRef.Name)
		subjects = append(subjects, binding.Subjects...)
	}
	if len(subjects) != 3 {
		t.Errorf("bound to %v", subjects)
	}
	for _, subject := range subjects {
		if subject != (rbacv1.Subject{Kind: "ServiceAccount", Name: controller, Namespace: "samplecrd-system"}) {
			t.Errorf("bound to %v", subject)
		}
	}
}

// What the cluster's own roles get; the sum is done by a controller of the cluster.
func TestUsersRights(t *testing.T) {
	const network, class, foo, scale = "networks.samplecrd.k8s.io", "networkclasses.samplecrd.k8s.io", "foos.samplecontroller.k8s.io", "foos/scale.samplecontroller.k8s.io"
	read, write := []string{"get", "list", "watch"}, []string{"create", "update", "patch", "delete", "deletecollection"}
	view := sets.New("get "+scale, "list "+scale, "watch "+scale)
	for _, verb := range read {
		view.Insert(verb+" "+network, verb+" "+class, verb+" "+foo)
	}
	edit := view.Clone().Insert("update "+scale, "patch "+scale)
	for _, verb := range write {
		edit.Insert(verb+" "+network, verb+" "+foo)
	}
	bundle := standard(t)
	for role, want := range map[string]sets.Set[string]{"view": view, "edit": edit, "admin": edit} {
		t.Run(role, func(t *testing.T) {
			got := sets.New[string]()
			for _, part := range All[*rbacv1.ClusterRole](bundle) {
				if part.Labels["rbac.authorization.k8s.io/aggregate-to-"+role] == "true" {
					got = got.Union(rights(part.Rules))
				}
			}
			if !got.Equal(want) {
				t.Errorf("too much: %v; missing: %v", sets.List(got.Difference(want)), sets.List(want.Difference(got)))
			}
		})
	}
}
