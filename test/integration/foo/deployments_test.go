package foo

import (
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
)

// deployment reads a Deployment that has to exist.
func (w *world) deployment(name string) *appsv1.Deployment {
	GinkgoHelper()
	return w.deploymentOf(name)(Default)
}

// deploymentOf is deployment for Eventually and Consistently.
func (w *world) deploymentOf(name string) func(Gomega) *appsv1.Deployment {
	return func(g Gomega) *appsv1.Deployment {
		deployment := &appsv1.Deployment{}
		g.Expect(w.Client.Get(ctx, w.key(name), deployment)).To(Succeed())
		return deployment
	}
}

func (w *world) deployments(g Gomega) []appsv1.Deployment {
	var deployments appsv1.DeploymentList
	g.Expect(w.Client.List(ctx, &deployments, client.InNamespace(w.namespace))).To(Succeed())
	return deployments.Items
}

// raw gives all that is stored of a Deployment, as text.
func (w *world) raw(name string) string {
	GinkgoHelper()
	deployment := &unstructured.Unstructured{}
	deployment.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	Expect(w.Client.Get(ctx, w.key(name), deployment)).To(Succeed())
	text, err := deployment.MarshalJSON()
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func labelsOf(deployment *appsv1.Deployment) labels.Set {
	return deployment.Spec.Template.Labels
}

// names gives the names of the Deployments that are there.
func (w *world) names(g Gomega) []string {
	names := []string{}
	for _, deployment := range w.deployments(g) {
		names = append(names, deployment.Name)
	}
	return names
}

// made waits until a Foo has made a Deployment, and gives it.
func (w *world) made(foo *samplev1alpha1.Foo, name string) *appsv1.Deployment {
	GinkgoHelper()
	Eventually(w.deploymentOf(name)).Should(beOf(foo))
	return w.deployment(name)
}

// beOf is true of a Deployment that a Foo controls.
func beOf(foo *samplev1alpha1.Foo) OmegaMatcher {
	return WithTransform(func(deployment *appsv1.Deployment) bool {
		return metav1.IsControlledBy(deployment, foo)
	}, BeTrue())
}

// changeDeployment patches a Deployment, as a person would.
func (w *world) changeDeployment(name string, change func(*appsv1.Deployment)) *appsv1.Deployment {
	GinkgoHelper()
	deployment := w.deployment(name)
	before := deployment.DeepCopy()
	change(deployment)
	Expect(w.Client.Patch(ctx, deployment, client.StrategicMergeFrom(before))).To(Succeed())
	return deployment
}

// removeDeployment deletes the Deployment that is there, and no other.
func (w *world) removeDeployment(name string) {
	GinkgoHelper()
	deployment := w.deployment(name)
	Expect(w.Client.Delete(ctx, deployment, client.Preconditions{UID: &deployment.UID})).To(Succeed())
}

// foreign makes a Deployment as a person does, with kubectl.
func (w *world) foreign(name string) *appsv1.Deployment {
	GinkgoHelper()
	w.kubectl("create", "deployment", name, "--image=registry.example/web", "--replicas=3")
	return w.deployment(name)
}

// report plays the Deployment controller, once: the status says what seen makes of
// one in which all is done.
func (w *world) report(name string, seen ...func(*appsv1.DeploymentStatus)) {
	GinkgoHelper()
	Eventually(func() error {
		deployment := w.deployment(name)
		deployment.Status = done(deployment)
		for _, change := range seen {
			change(&deployment.Status)
		}
		return w.Client.Status().Update(ctx, deployment)
	}).Should(Succeed())
}

// done is the status of a Deployment all of whose Pods are available.
func done(deployment *appsv1.Deployment) appsv1.DeploymentStatus {
	number := *deployment.Spec.Replicas
	return appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation,
		Replicas:           number, UpdatedReplicas: number, ReadyReplicas: number, AvailableReplicas: number,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"},
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		},
	}
}

// play makes every Deployment of the namespace available as soon as it is there or
// has changed, until the spec ends or stop is called.
func (w *world) play() (stop func()) {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(w.Config, client.Options{Scheme: w.Scheme})
	Expect(err).NotTo(HaveOccurred())
	stream, err := watcher.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(w.namespace))
	Expect(err).NotTo(HaveOccurred())
	ended := make(chan struct{})
	go func() {
		defer GinkgoRecover()
		defer close(ended)
		for event := range stream.ResultChan() {
			deployment, isDeployment := event.Object.(*appsv1.Deployment)
			if !isDeployment || event.Type == watch.Deleted || deployment.Status.ObservedGeneration == deployment.Generation {
				continue
			}
			deployment.Status = done(deployment)
			// Who loses a race is told of what won it.
			err := w.Client.Status().Update(ctx, deployment)
			if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
				Expect(err).NotTo(HaveOccurred())
			}
		}
	}()
	stop = sync.OnceFunc(func() {
		stream.Stop()
		<-ended
	})
	DeferCleanup(stop)
	return stop
}
