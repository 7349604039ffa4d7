package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// awaitInterval is the pause between two looks at what the API server serves.
const awaitInterval = time.Second

// AwaitKinds returns when the API server serves every kind that Setup needs, or
// with ctx's error. Whenever what is missing changes it says so, once.
func AwaitKinds(ctx context.Context, client discovery.DiscoveryInterface) error {
	log := ctrl.LoggerFrom(ctx)
	said := ""
	return wait.PollUntilContextCancel(ctx, awaitInterval, true, func(context.Context) (bool, error) {
		missing, err := missingKinds(client)
		state := strings.Join(missing, ", ")
		if err != nil {
			state = err.Error()
		}
		if state != "" && state != said {
			log.Info("Waiting for the API server to serve our kinds; apply the CRDs in config/crd", "missing", state)
		}
		said = state
		return state == "", nil
	})
}

// missingKinds lists the resources of ours that are not served.
func missingKinds(client discovery.DiscoveryInterface) ([]string, error) {
	served, err := client.ServerResourcesForGroupVersion(samplecrdv1.SchemeGroupVersion.String())
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("asking the API server for %s: %w", samplecrdv1.SchemeGroupVersion, err)
	}
	missing := []string{"networks", "networkclasses"}
	if served != nil {
		for _, resource := range served.APIResources {
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == resource.Name })
		}
	}
	for i := range missing {
		missing[i] += "." + samplecrdv1.GroupName
	}
	return missing, nil
}
