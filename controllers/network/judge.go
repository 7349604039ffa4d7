package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/controllers/conditions"
)

// judgement is what the rules say of a Network and its class, whatever others hold.
type judgement struct {
	plan addressing.Plan
	// reason is why it cannot be accepted, a reason of the condition Accepted; ""
	// when it can.
	reason, message string
	// today says why one like it would be refused today, which has been accepted
	// before; "" when it would not be.
	today string
	// unsure says that today may say too little: not all is known to judge by.
	unsure bool
}

// judge applies the rules that look at one Network and its class alone.
func (r *Reconciler) judge(ctx context.Context, network *samplecrdv1.Network, class *samplecrdv1.NetworkClass) (judgement, error) {
	backend := r.backends[class.Spec.Provider]
	if backend == nil {
		return judgement{reason: samplecrdv1.NetworkReasonUnsupported, message: fmt.Sprintf("This build has no provider %q", class.Spec.Provider)}, nil
	}
	plan, errs := addressing.Parse(&network.Spec, field.NewPath("spec"))
	if len(errs) > 0 {
		return judgement{reason: samplecrdv1.NetworkReasonInvalid, message: conditions.Faults(errs)}, nil
	}
	if forbidden := backend.Limits(&class.Spec).Forbids(plan); len(forbidden) > 0 {
		return judgement{reason: samplecrdv1.NetworkReasonUnsupported, message: conditions.Message(strings.Join(forbidden, "; "))}, nil
	}
	// What is wrong with the class is for the class to say.
	policy, _ := addressing.ParsePolicy(class)
	tenant, err := r.tenant(ctx, network.Namespace, policy.NeedsLabels())
	if err != nil {
		return judgement{}, err
	}
	ofCluster, unread := r.judgeCluster(plan, class)
	recorded := addressing.Recorded(&network.Status)
	fresh, known := sinceAccepted(append(policy.Judge(plan, tenant), ofCluster...), plan, recorded)
	switch {
	case len(fresh) > 0:
		return judgement{reason: samplecrdv1.NetworkReasonNotAllowed, message: conditions.Faults(addressing.Discreet(fresh))}, nil
	case unread != "" && !subset(plan.Prefixes(), recorded):
		return judgement{reason: samplecrdv1.NetworkReasonPending, message: unread}, nil
	}
	return judgement{plan: plan, today: conditions.Faults(known), unsure: unread != ""}, nil
}

// sinceAccepted tells the faults of what is asked anew from those of what has been
// accepted before: a policy that is tightened never stops what runs.
func sinceAccepted(faults field.ErrorList, plan addressing.Plan, recorded []netip.Prefix) (fresh, known field.ErrorList) {
	accepted := map[string]bool{}
	for _, subnet := range plan.Subnets {
		accepted[subnet.Path.Child("cidr").String()] = slices.Contains(recorded, subnet.Prefix)
	}
	for _, fault := range faults {
		ofSubnet, isSubnet := accepted[fault.Field]
		switch {
		case !ofSubnet && (isSubnet || len(recorded) == 0):
			fresh = append(fresh, fault)
		case fault.Origin != addressing.RuleClassStays: // The class says so itself.
			known = append(known, fault)
		}
	}
	return fresh, known
}

// tenant reads what a class may ask of a namespace.
func (r *Reconciler) tenant(ctx context.Context, namespace string, labels bool) (addressing.Tenant, error) {
	tenant := addressing.Tenant{Namespace: namespace}
	if !labels {
		return tenant, nil
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.client.Get(ctx, types.NamespacedName{Name: namespace}, object); err != nil {
		return tenant, fmt.Errorf("reading the namespace's labels: %w", err)
	}
	tenant.Labels = object.Labels
	return tenant, nil
}
