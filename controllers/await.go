package controllers

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
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

// ours are the resources that have to be served.
var ours = []schema.GroupVersionResource{
	samplecrdv1.SchemeGroupVersion.WithResource("networks"),
	samplecrdv1.SchemeGroupVersion.WithResource("networkclasses"),
	samplev1alpha1.SchemeGroupVersion.WithResource("foos"),
}

// missingKinds lists the resources of ours that are not served.
func missingKinds(client discovery.DiscoveryInterface) ([]string, error) {
	served, asked := map[schema.GroupVersionResource]bool{}, map[schema.GroupVersion]bool{}
	for _, resource := range ours {
		version := resource.GroupVersion()
		if asked[version] {
			continue
		}
		asked[version] = true
		list, err := client.ServerResourcesForGroupVersion(version.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("asking the API server for %s: %w", version, err)
		}
		for _, resource := range list.APIResources {
			served[version.WithResource(resource.Name)] = true
		}
	}
	var missing []string
	for _, resource := range ours {
		if !served[resource] {
			missing = append(missing, resource.GroupResource().String())
		}
	}
	return missing, nil
}
