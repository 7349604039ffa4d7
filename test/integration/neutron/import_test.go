package neutron

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/builders"
	"github.com/samplecrd/samplecrd/test/matchers"
)

// stranger makes a network by hand, with a subnet.
func (w *world) stranger(name, cidr, gateway string) (network, subnet object) {
	GinkgoHelper()
	network = member.create("networks", object{"name": w.Namespace + "/" + name})
	subnet = member.create("subnets", object{"network_id": network.id(), "ip_version": 4, "cidr": cidr, "gateway_ip": gateway, "name": name + "-subnet"})
	return network, subnet
}

func allowed(class *samplecrdv1.NetworkClass) { class.Spec.Import = samplecrdv1.ImportAllowed }

var _ = Describe("A network that is there already", func() {
	It("is taken over where the class allows it, and stays when the Network goes", func() {
		w := running()
		held, subnet := w.stranger("made-by-hand", "10.60.0.0/24", "10.60.0.1")
		err := cluster.Client.Create(ctx, w.Draft("a", "10.60.0.0/24", importing(held.id())))
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
		Expect(err).To(MatchError(And(ContainSubstring("spec.importID"), ContainSubstring("import: Allowed"))))

		var class samplecrdv1.NetworkClass
		Expect(cluster.Client.Get(ctx, types.NamespacedName{Name: w.Class}, &class)).To(Succeed())
		before := class.DeepCopy()
		allowed(&class)
		Expect(cluster.Client.Patch(ctx, &class, client.MergeFrom(before))).To(Succeed())
		calls := w.tape.mark()
		Eventually(func() error { return cluster.Client.Create(ctx, w.Draft("a", "10.60.0.0/24", importing(held.id()))) }).Should(Succeed())
		Eventually(w.Of("a")).Should(matchers.BeReady())
		network := w.Get("a")
		Expect(network.Spec.DeletionPolicy).To(HaveValue(Equal(samplecrdv1.DeletionRetain)))
		Expect(network.Status.ProviderID).To(HaveValue(Equal(held.id())))
		Expect(w.tape.writes(calls)).To(ConsistOf("PUT networks/{id} 200", "PUT subnets/{id} 200"))
		heldNow, subnetNow := w.real(network)
		Expect(differing(held, heldNow)).To(ConsistOf("description", "subnets"))
		Expect(differing(subnet, subnetNow)).To(Equal([]string{"description"}))

		w.Remove("a")
		Eventually(w.Gone("a")).Should(BeTrue())
		Expect(differing(held, member.find("networks", "id", held.id())[0])).To(ConsistOf("subnets"))
		Expect(differing(subnet, member.find("subnets", "id", subnet.id())[0])).To(BeEmpty())
	})

	It("is not taken over while it is not as asked, and is when that is put right", func() {
		w := running(allowed)
		held, subnet := w.stranger("made-by-hand", "10.60.0.0/24", "10.60.0.9")
		w.Network("a", "10.60.0.0/24", importing(held.id()), builders.Gateway("10.60.0.1"))
		Eventually(w.Of("a")).Should(And(beUnready(samplecrdv1.NetworkReasonConflict, ContainSubstring("10.60.0.9")), beStalled()))
		Expect(w.tape.writes(0)).To(BeEmpty())
		w.Change("a", builders.Gateway("10.60.0.9"))
		Eventually(w.Of("a")).Should(And(matchers.BeReady(), Not(beStalled())))
		_, subnetNow := w.real(w.Get("a"))
		Expect(differing(subnet, subnetNow)).To(Equal([]string{"description"}))
	})

	It("is another Network's, which nobody is told of", func() {
		w := running(allowed)
		first := w.ready("first", "10.60.0.0/24")
		held, _ := w.real(first)
		// A tenant in a namespace of their own.
		tenant := *w
		tenant.Namespace = builders.NewPlace(cluster.Client, "neutron-").Namespace
		DeferCleanup(func() { member.tidy(tenant.Namespace + "/") })
		DeferCleanup(tenant.clearNetworks)
		tenant.Network("second", "10.60.0.0/24", importing(held.id()))
		Eventually(tenant.Of("second")).Should(And(beUnready(samplecrdv1.NetworkReasonConflict, ContainSubstring(held.id())), beStalled()))
		for _, condition := range tenant.Get("second").Status.Conditions {
			Expect(condition.Message).NotTo(Or(ContainSubstring(w.Namespace), ContainSubstring(string(first.UID)), ContainSubstring("first")))
		}
		Expect(w.Of("first")(Default)).To(matchers.BeReady())

		missing := other.create("networks", object{"name": w.Namespace + "/theirs"})
		tenant.Network("third", "10.61.0.0/24", importing(missing.id()))
		Eventually(tenant.Of("third")).Should(beUnready(samplecrdv1.NetworkReasonConflict, ContainSubstring("There is no network "+missing.id())))
	})
})
