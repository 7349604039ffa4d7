package metrics

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// Reconciles counts the passes of a controller in this process, whichever manager
// ran it.
func Reconciles(controller string) int {
	return total("controller_runtime_reconcile_total", controller)
}

// ReconcileErrors counts the passes of a controller that ended with an error.
func ReconcileErrors(controller string) int {
	return total("controller_runtime_reconcile_errors_total", controller)
}

// Settle returns when a controller has nothing in its hands: five looks at its
// counter, an interval apart, find the same. After a minute it gives up.
func Settle(ctx context.Context, controller string, interval time.Duration) error {
	last, same := -1, 0
	err := wait.PollUntilContextTimeout(ctx, interval, time.Minute, true, func(context.Context) (bool, error) {
		now := Reconciles(controller)
		if same++; now != last {
			last, same = now, 0
		}
		return same == 4, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for controller %s to come to rest: %w", controller, err)
	}
	return nil
}

func total(name, controller string) int {
	families, err := metrics.Registry.Gather()
	if err != nil {
		panic(fmt.Sprintf("gathering the metrics of this process: %v", err)) // Only a programming error can be behind it.
	}
	total := 0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == controller {
					total += int(metric.GetCounter().GetValue())
				}
			}
		}
	}
	return total
}
