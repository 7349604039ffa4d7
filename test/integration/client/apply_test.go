package client

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	applyfoo "github.com/samplecrd/samplecrd/client/applyconfiguration/samplecontroller/v1alpha1"
	applynetwork "github.com/samplecrd/samplecrd/client/applyconfiguration/samplecrd/v1"
	typedfoo "github.com/samplecrd/samplecrd/client/clientset/versioned/typed/samplecontroller/v1alpha1"
	typednetwork "github.com/samplecrd/samplecrd/client/clientset/versioned/typed/samplecrd/v1"
)

// The field managers of these specs.
var (
	team     = metav1.ApplyOptions{FieldManager: "team"}
	platform = metav1.ApplyOptions{FieldManager: "platform"}
	forced   = metav1.ApplyOptions{FieldManager: "platform", Force: true}
)

var _ = Describe("an apply configuration of a Network", func() {
	var (
		namespace string
		networks  typednetwork.NetworkInterface
	)

	// of is a Network as the team wants it.
	of := func(cidr string) *applynetwork.NetworkApplyConfiguration {
		return applynetwork.Network("example-network", namespace).WithLabels(map[string]string{"team": "blue"}).
			WithSpec(applynetwork.NetworkSpec().WithCIDR(cidr).WithMTU(1400).WithDNSServers("192.0.2.1", "192.0.2.2"))
	}
	mtu := func(bytes int32) *applynetwork.NetworkApplyConfiguration {
		return applynetwork.Network("example-network", namespace).WithSpec(applynetwork.NetworkSpec().WithMTU(bytes))
	}

	BeforeEach(func() {
		namespace = newNamespace()
		networks = ours.SamplecrdV1().Networks(namespace)
	})

	It("creates, changes, and takes back what is no longer applied", func() {
		network := must(networks.Apply(ctx, of("10.0.0.0/24"), team))
		Expect(network.Labels).To(Equal(map[string]string{"team": "blue"}))
		Expect(network.Spec.MTU).To(HaveValue(BeEquivalentTo(1400)))
		Expect(network.Spec.DNSServers).To(Equal([]string{"192.0.2.1", "192.0.2.2"}))
		Expect(network.Spec.Gateway).To(Equal("10.0.0.1"), "the webhook's choice")
		Expect(managers(network)).To(ContainElement("team Apply"))

		// The first change of any kind also stores the default of the status.
		same := must(networks.Apply(ctx, of("10.0.0.0/24"), team))
		again := must(networks.Apply(ctx, of("10.0.0.0/24"), team))
		Expect(again.ResourceVersion).To(Equal(same.ResourceVersion), "nothing changed, nothing is written")

		moved := must(networks.Apply(ctx, applynetwork.Network("example-network", namespace).
			WithSpec(applynetwork.NetworkSpec().WithCIDR("10.1.0.0/24")), team))
		Expect(moved.UID).To(Equal(network.UID))
		Expect(moved.Spec.CIDR).To(Equal("10.1.0.0/24"))
		Expect(moved.Spec.Gateway).To(Equal("10.1.0.1"), "chosen anew, nobody asked for the old one")
		Expect(moved.Labels).To(BeEmpty())
		Expect(moved.Spec.MTU).To(BeNil())
		Expect(moved.Spec.DNSServers).To(BeEmpty())
	})

	It("tells of a conflict with another manager, who can force it", func() {
		must(networks.Apply(ctx, of("10.0.0.0/24"), team))
		_, err := networks.Apply(ctx, mtu(9000), platform)
		Expect(err).To(beConflictOver(".spec.mtu", "team"))

		network := must(networks.Apply(ctx, mtu(9000), forced))
		Expect(network.Spec.MTU).To(HaveValue(BeEquivalentTo(9000)))
		Expect(network.Spec.CIDR).To(Equal("10.0.0.0/24"), "the team's still")
		_, err = networks.Apply(ctx, of("10.0.0.0/24"), team)
		Expect(err).To(beConflictOver(".spec.mtu", "platform"))
	})

	It("can be read back, changed and applied again", func() {
		must(networks.Apply(ctx, of("10.0.0.0/24"), team))
		network := must(networks.Apply(ctx, mtu(9000), forced))
		mine := must(applynetwork.ExtractNetwork(network, "team"))
		Expect(mine).To(Equal(applynetwork.Network("example-network", namespace).WithLabels(map[string]string{"team": "blue"}).
			WithSpec(applynetwork.NetworkSpec().WithCIDR("10.0.0.0/24").WithDNSServers("192.0.2.1", "192.0.2.2"))),
			"without the platform's MTU and the webhook's gateway")
		mine.Spec.WithDNSServers("192.0.2.3")
		network = must(networks.Apply(ctx, mine, team))
		Expect(network.Spec.DNSServers).To(Equal([]string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}))
		Expect(network.Spec.MTU).To(HaveValue(BeEquivalentTo(9000)))
	})

	It("carries owners, finalizers and nested values", func() {
		owner := must(networks.Create(ctx, draftNetwork("owner", "10.9.0.0/24"), metav1.CreateOptions{}))
		network := must(networks.Apply(ctx, applynetwork.Network("example-network", namespace).
			WithFinalizers("example.com/hold").
			WithOwnerReferences(applymetav1.OwnerReference().WithAPIVersion("samplecrd.k8s.io/v1").WithKind("Network").
				WithName(owner.Name).WithUID(owner.UID)).
			WithSpec(applynetwork.NetworkSpec().WithCIDR("10.0.0.0/24").
				WithAllocationPools(applynetwork.AddressRange().WithStart("10.0.0.10").WithEnd("10.0.0.20")).
				WithRoutes(applynetwork.Route().WithDestination("10.8.0.0/16").WithNextHop("10.0.0.2")).
				WithAdditionalSubnets(applynetwork.SubnetSpec().WithCIDR("2001:db8::/64"))), team))
		DeferCleanup(func() { must(networks.Apply(ctx, of("10.0.0.0/24"), team)) }) // Without the finalizer.
		Expect(network.Finalizers).To(ConsistOf("example.com/hold"))
		Expect(network.OwnerReferences).To(ConsistOf(HaveField("UID", owner.UID)))
		Expect(network.Spec.AllocationPools).To(ConsistOf(samplecrdv1.AddressRange{Start: "10.0.0.10", End: "10.0.0.20"}))
		Expect(network.Spec.Routes).To(ConsistOf(samplecrdv1.Route{Destination: "10.8.0.0/16", NextHop: "10.0.0.2"}))
		Expect(network.Spec.AdditionalSubnets).To(ConsistOf(HaveField("CIDR", "2001:db8::/64")))
	})

	It("applies the status alone, a condition for each manager", func() {
		created := must(networks.Apply(ctx, of("10.0.0.0/24"), team))
		status := func(condition string) *applynetwork.NetworkApplyConfiguration {
			return applynetwork.Network("example-network", namespace).WithStatus(applynetwork.NetworkStatus().
				WithConditions(applymetav1.Condition().WithType(condition).WithStatus(metav1.ConditionTrue).
					WithReason("Test").WithMessage("").WithLastTransitionTime(metav1.Unix(1_700_000_000, 0))))
		}
		must(networks.ApplyStatus(ctx, status("Ready"), team))
		network := must(networks.ApplyStatus(ctx, status("Checked").WithSpec(applynetwork.NetworkSpec().WithMTU(9000)), platform))
		Expect(meta.IsStatusConditionTrue(network.Status.Conditions, "Ready")).To(BeTrue())
		Expect(meta.IsStatusConditionTrue(network.Status.Conditions, "Checked")).To(BeTrue())
		Expect(network.Spec).To(Equal(created.Spec))
		Expect(network.Generation).To(Equal(created.Generation))
	})

	It("is refused as anything else would be", func() {
		_, err := networks.Apply(ctx, applynetwork.Network("example-network", namespace).
			WithSpec(applynetwork.NetworkSpec().WithCIDR("10.0.0.0/24").WithGateway("10.0.1.1")), team)
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
	})
})

var _ = Describe("an apply configuration of a NetworkClass", func() {
	It("has no namespace", func() {
		name := newNamespace() + "-class"
		classes := ours.SamplecrdV1().NetworkClasses()
		class := must(classes.Apply(ctx, applynetwork.NetworkClass(name).WithSpec(applynetwork.NetworkClassSpec().
			WithProvider(samplecrdv1.ProviderMultus).
			WithMultus(applynetwork.MultusSpec().WithType(samplecrdv1.MultusBridge).WithVLANID(7))), team))
		DeferCleanup(func() { Expect(classes.Delete(ctx, name, metav1.DeleteOptions{})).To(Succeed()) })
		Expect(class.Spec.Multus.VLANID).To(HaveValue(BeEquivalentTo(7)))
		Expect(managers(class)).To(ContainElement("team Apply"))
	})
})

var _ = Describe("an apply configuration of a Foo", func() {
	var (
		namespace string
		foos      typedfoo.FooInterface
	)

	replicas := func(count int32) *applyfoo.FooApplyConfiguration {
		return applyfoo.Foo("example-foo", namespace).WithSpec(applyfoo.FooSpec().WithDeploymentName("web").WithReplicas(count))
	}

	BeforeEach(func() {
		namespace = newNamespace()
		foos = ours.SamplecontrollerV1alpha1().Foos(namespace)
	})

	It("creates, tells of a conflict, and can force it", func() {
		foo := must(foos.Apply(ctx, replicas(2), team))
		Expect(foo.Spec).To(Equal(samplev1alpha1.FooSpec{DeploymentName: "web", Replicas: new(int32(2))}))
		Expect(managers(foo)).To(ContainElement("team Apply"))

		_, err := foos.Apply(ctx, replicas(3), platform)
		Expect(err).To(beConflictOver(".spec.replicas", "team"))
		Expect(must(foos.Apply(ctx, replicas(3), forced)).Spec.Replicas).To(HaveValue(BeEquivalentTo(3)))
	})

	It("leaves replicas that it does not apply to an autoscaler", func() {
		without := applyfoo.Foo("example-foo", namespace).WithSpec(applyfoo.FooSpec().WithDeploymentName("web"))
		must(foos.Apply(ctx, without, team))
		scale := must(foos.GetScale(ctx, "example-foo", metav1.GetOptions{}))
		scale.Spec.Replicas = 5
		must(foos.UpdateScale(ctx, "example-foo", scale, metav1.UpdateOptions{FieldManager: "autoscaler"}))
		Expect(must(foos.Apply(ctx, without, team)).Spec.Replicas).To(HaveValue(BeEquivalentTo(5)))
	})

	It("applies the status alone", func() {
		must(foos.Apply(ctx, replicas(2), team))
		foo := must(foos.ApplyStatus(ctx, applyfoo.Foo("example-foo", namespace).
			WithStatus(applyfoo.FooStatus().WithAvailableReplicas(0).WithSelector("app=web")), platform))
		Expect(must(applyfoo.ExtractFooStatus(foo, "platform")).Status.Selector).To(HaveValue(Equal("app=web")))
		Expect(must(applyfoo.ExtractFoo(foo, "team")).Spec.Replicas).To(HaveValue(BeEquivalentTo(2)))
		Expect(foo.Status.AvailableReplicas).To(HaveValue(BeEquivalentTo(0)), "0 is shown")
		Expect(foo.Status.Selector).To(HaveValue(Equal("app=web")))
		Expect(foo.Spec.Replicas).To(HaveValue(BeEquivalentTo(2)))
	})
})

// managers gives an object's field managers as "team Apply".
func managers(object metav1.Object) []string {
	var all []string
	for _, entry := range object.GetManagedFields() {
		all = append(all, entry.Manager+" "+string(entry.Operation))
	}
	return all
}

// beConflictOver is true of an error that says who holds a field.
func beConflictOver(field, manager string) types.GomegaMatcher {
	return And(
		WithTransform(apierrors.IsConflict, BeTrue()),
		WithTransform(causes, ContainElement(cause(field, metav1.CauseTypeFieldManagerConflict, manager))))
}
