package controller

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/matchers"
)

// refusedCreates counts the NetworkAttachmentDefinitions that the API server
// refused to create.
func refusedCreates(g Gomega, w *world) int {
	total := 0
	for key, count := range writes(g, w.Env) {
		if strings.HasPrefix(key, "POST network-attachment-definitions 403") {
			total += count
		}
	}
	return total
}

var _ = Describe("In a namespace that is being deleted", func() {
	It("CN-10: nothing is created again and again, and the Networks can go", func() {
		const networks = 50
		w := onMultus()
		w.many(networks)
		before, failures, passes := refusedCreates(Default, w), reconcileErrors(), reconciles()

		Expect(w.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}})).To(Succeed())
		Eventually(func() bool {
			probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "probe"}}
			return apierrors.HasStatusCause(w.Client.Create(ctx, probe, client.DryRunAll), corev1.NamespaceTerminatingCause)
		}).Should(BeTrue())
		// The children vanish first.
		Expect(w.Client.DeleteAllOf(ctx, newNAD("", ""), client.InNamespace(w.Namespace))).To(Succeed())

		Eventually(func(g Gomega) {
			all, err := w.List()
			g.Expect(err).NotTo(HaveOccurred())
			for i := range all {
				g.Expect(&all[i]).To(matchers.HaveCondition(programmed, metav1.ConditionFalse, samplecrdv1.NetworkReasonBackendUnavailable))
			}
		}).Should(Succeed())
		settled()
		attempts := refusedCreates(Default, w) - before
		Expect(attempts).To(And(BeNumerically(">=", networks), BeNumerically("<=", 3*networks)))
		Expect(reconciles() - passes).To(BeNumerically("<=", 6*networks))
		Consistently(func(g Gomega) int { return refusedCreates(g, w) - before }).WithTimeout(3 * time.Second).Should(Equal(attempts))
		Expect(reconcileErrors()).To(Equal(failures), "nothing to retry with back-off")

		Expect(w.Client.DeleteAllOf(ctx, &samplecrdv1.Network{}, client.InNamespace(w.Namespace))).To(Succeed())
		Eventually(w.List).Should(BeEmpty())
		Expect(reconcileErrors()).To(Equal(failures))
	})
})
