package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// as gives a client with the rights of a ServiceAccount.
func as(namespace, account string) client.Client {
	GinkgoHelper()
	theirs := rest.CopyConfig(config)
	theirs.Impersonate.UserName = fmt.Sprintf("system:serviceaccount:%s:%s", namespace, account)
	impersonated, err := client.New(theirs, client.Options{Scheme: c.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	return impersonated
}

// mayOwn shows that the manager's right to foos/finalizers is needed and is there. The
// plugin OwnerReferencesPermissionEnforcement asks for it when an owner is to stay until
// the Deployment is gone; without the plugin everybody may.
func mayOwn(ctx context.Context) {
	owner := foo(ctx, walkNamespace, "example-foo")
	var owned appsv1.Deployment
	Expect(c.Get(ctx, client.ObjectKeyFromObject(&owner), &owned)).To(Succeed())
	Expect(owned.OwnerReferences).To(ConsistOf(metav1.OwnerReference{
		APIVersion: samplev1alpha1.SchemeGroupVersion.String(), Kind: "Foo", Name: owner.Name, UID: owner.UID,
		Controller: new(true), BlockOwnerDeletion: new(true),
	}))

	deployer(ctx)
	another := func(blocks bool) *appsv1.Deployment {
		reference := owned.OwnerReferences[0]
		reference.BlockOwnerDeletion = &blocks
		return &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: walkNamespace, Name: "another", OwnerReferences: []metav1.OwnerReference{reference}},
			Spec:       appsv1.DeploymentSpec{Selector: owned.Spec.Selector, Template: owned.Spec.Template},
		}
	}
	// The rights of a new Role may take a moment to count.
	theirs := as(walkNamespace, "deployer")
	Eventually(func() error { return theirs.Create(ctx, another(false), client.DryRunAll) }).WithContext(ctx).Should(Succeed())
	err := theirs.Create(ctx, another(true), client.DryRunAll)
	if err == nil && auditLog == "" {
		Skip("this API server runs without the plugin OwnerReferencesPermissionEnforcement")
	}
	Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%v", err)
	Expect(err).To(MatchError(ContainSubstring("cannot set blockOwnerDeletion")))
	Expect(as(system, controller).Create(ctx, another(true), client.DryRunAll)).To(Succeed())

	nad, _ := attachment(ctx, walkNamespace, "example-network")
	Expect(nad.GetOwnerReferences()).To(ConsistOf(HaveField("BlockOwnerDeletion", HaveValue(BeTrue()))))
	copied := nad.DeepCopy()
	copied.SetName("another")
	copied.SetResourceVersion("")
	copied.SetUID("")
	Expect(as(system, controller).Create(ctx, copied, client.DryRunAll)).To(Succeed())
}

// deployer makes a ServiceAccount that may do anything with Deployments, and nothing
// with what they belong to.
func deployer(ctx context.Context) {
	GinkgoHelper()
	meta := metav1.ObjectMeta{Namespace: walkNamespace, Name: "deployer"}
	for _, object := range []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"*"}}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: meta.Namespace, Name: meta.Name}},
		},
	} {
		Expect(c.Create(ctx, object)).To(Succeed())
	}
}
