package network

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/samplecrd/samplecrd/addressing"
	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// judgeCluster says what of plan overlaps the cluster's own ranges, where the class
// forbids it; unread, if not "", that there may be more since they are not all known.
func (r *Reconciler) judgeCluster(plan addressing.Plan, class *samplecrdv1.NetworkClass) (errs field.ErrorList, unread string) {
	if class.Spec.ClusterRanges != samplecrdv1.ClusterRangesForbid {
		return nil, ""
	}
	// Asked first: what is complete now is so when it is judged by.
	var missing []string
	for _, kind := range r.cluster.Unread() {
		missing = append(missing, "every "+string(kind))
	}
	if len(missing) > 0 {
		unread = fmt.Sprintf("Waits until %s of the cluster is known, since NetworkClass %q forbids them", strings.Join(missing, " and "), class.Name)
	}
	return r.cluster.Judge(plan), unread
}

// ranges brings back the Networks that a change of the cluster's ranges concerns.
func (r *Reconciler) ranges() source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.cluster.OnChange(func(changed []netip.Prefix) {
			for _, name := range r.concerned(ctx, changed) {
				queue.Add(reconcile.Request{NamespacedName: name})
			}
		})
		return nil
	})
}

// concerned gives the Networks that may be refused for a part of what changed; all
// whose class forbids such when changed is nil.
func (r *Reconciler) concerned(ctx context.Context, changed []netip.Prefix) []types.NamespacedName {
	var classes samplecrdv1.NetworkClassList
	if err := r.client.List(ctx, &classes, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing NetworkClasses")
		return nil
	}
	var names []types.NamespacedName
	for i := range classes.Items {
		if classes.Items[i].Spec.ClusterRanges != samplecrdv1.ClusterRangesForbid {
			continue
		}
		var networks samplecrdv1.NetworkList
		if err := r.client.List(ctx, &networks, client.MatchingFields{samplecrdv1.FieldNetworkClassName: classes.Items[i].Name}, client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Listing Networks")
			continue
		}
		for j := range networks.Items {
			if changed == nil || overlapAny(addressing.Asked(&networks.Items[j].Spec), changed) {
				names = append(names, client.ObjectKeyFromObject(&networks.Items[j]))
			}
		}
	}
	return names
}

func overlapAny(prefixes, others []netip.Prefix) bool {
	return slices.ContainsFunc(prefixes, func(prefix netip.Prefix) bool { return slices.ContainsFunc(others, prefix.Overlaps) })
}
