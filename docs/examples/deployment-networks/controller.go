package main

import (
	"context"
	"errors"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsinformers "k8s.io/client-go/informers/apps/v1"
	appslisters "k8s.io/client-go/listers/apps/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/client/clientset/versioned"
	networkinformers "github.com/samplecrd/samplecrd/client/informers/externalversions/samplecrd/v1"
	networklisters "github.com/samplecrd/samplecrd/client/listers/samplecrd/v1"
)

const (
	// annotation on a Deployment asks for a Network; its value is the CIDR.
	annotation = "example.com/cidr"
	workers    = 2
)

// controller reads from the informers' caches, by listers, and writes by its client.
type controller struct {
	client      versioned.Interface
	deployments appslisters.DeploymentLister
	networks    networklisters.NetworkLister
	// queue holds names, each once and with one worker at a time; not objects, which
	// may have changed by their turn.
	queue workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

func newController(ctx context.Context, client versioned.Interface,
	deployments appsinformers.TypedDeploymentInformer, networks networkinformers.TypedNetworkInformer,
) (*controller, error) {
	c := &controller{
		client: client, deployments: deployments.Lister(), networks: networks.Lister(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()),
	}
	_, deploymentsErr := deployments.TypedInformer().AddTypedEventHandler(appsinformers.DeploymentHandlerFuncs{
		AddFunc: func(deployment *appsv1.Deployment) { c.queue.Add(cache.MetaObjectToName(deployment)) },
		UpdateFunc: func(before, after *appsv1.Deployment) {
			// A rollout changes the status all the time; a resync brings what we have.
			resynced := before.ResourceVersion == after.ResourceVersion
			if resynced || before.Annotations[annotation] != after.Annotations[annotation] {
				c.queue.Add(cache.MetaObjectToName(after))
			}
		},
	})
	_, networksErr := networks.TypedInformer().AddTypedEventHandler(networkinformers.NetworkHandlerFuncs{
		UpdateFunc: func(before, after *samplecrdv1.Network) {
			if was, is := readiness(before), readiness(after); was.Status != is.Status {
				klog.FromContext(ctx).Info("Network changed its readiness", "network", klog.KObj(after),
					"was", was.Status, "is", is.Status, "reason", is.Reason, "message", is.Message)
			}
		},
		// The name that is free now is a Deployment's.
		DeleteFunc: func(network networkinformers.DeletedNetwork) { c.queue.Add(network.GetObjectName()) },
	})
	return c, errors.Join(deploymentsErr, networksErr)
}

// work returns when ctx is done and no worker is busy any more.
func (c *controller) work(ctx context.Context) {
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for ctx.Err() == nil && c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	running.Wait()
}

// next works off one name; false when there will be no more.
func (c *controller) next(ctx context.Context) bool {
	name, ended := c.queue.Get()
	if ended {
		return false
	}
	defer c.queue.Done(name)
	if err := c.ensure(ctx, name); err != nil {
		klog.FromContext(ctx).Error(err, "Will try again", "deployment", name)
		c.queue.AddRateLimited(name)
		return true
	}
	c.queue.Forget(name)
	return true
}

// ensure makes the Network of a Deployment that asks for one and has none.
func (c *controller) ensure(ctx context.Context, name cache.ObjectName) error {
	log := klog.FromContext(ctx).WithValues("deployment", name)
	deployment, err := c.deployments.Deployments(name.Namespace).Get(name.Name)
	if apierrors.IsNotFound(err) || (err == nil && deployment.DeletionTimestamp != nil) {
		return nil
	}
	if err != nil {
		return err
	}
	cidr, asked := deployment.Annotations[annotation]
	if !asked {
		return nil
	}
	network, err := c.networks.Networks(name.Namespace).Get(name.Name)
	if err == nil && !metav1.IsControlledBy(network, deployment) {
		log.Info("A Network of that name is not this Deployment's; leaving it alone")
	}
	if !apierrors.IsNotFound(err) {
		return err
	}

	network = &samplecrdv1.Network{Spec: samplecrdv1.NetworkSpec{CIDR: cidr}} // The webhooks choose the rest.
	network.Namespace, network.Name = deployment.Namespace, deployment.Name
	network.OwnerReferences = []metav1.OwnerReference{
		*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment")),
	}
	_, err = c.client.SamplecrdV1().Networks(network.Namespace).Create(ctx, network, metav1.CreateOptions{})
	if apierrors.IsInvalid(err) {
		// The same again would be refused again; another annotation brings us back.
		log.Info("The Network is refused", "annotation", annotation, "reason", err.Error())
		return nil
	}
	if err != nil {
		return err // Also AlreadyExists: by the next time the lister has caught up.
	}
	log.Info("Created a Network", "cidr", cidr)
	return nil
}

// readiness gives the condition that says whether a Network can be used.
func readiness(network *samplecrdv1.Network) metav1.Condition {
	if found := meta.FindStatusCondition(network.Status.Conditions, samplecrdv1.NetworkConditionReady); found != nil {
		return *found
	}
	return metav1.Condition{Status: metav1.ConditionUnknown}
}
