package metrics

import (
	"fmt"

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
