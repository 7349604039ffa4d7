package client

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	applyfoo "github.com/samplecrd/samplecrd/client/applyconfiguration/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/client/clientset/versioned/fake"
	"github.com/samplecrd/samplecrd/client/informers/externalversions"
)

// fakes are the constructors of the fake clientset: with field managers, as an API
// server has them, and without.
var fakes = map[string]func(...runtime.Object) *fake.Clientset{
	"NewClientset":       fake.NewClientset,
	"NewSimpleClientset": fake.NewSimpleClientset,
}

func TestFakeKeepsObjects(t *testing.T) {
	for name, newFake := range fakes {
		t.Run(name, func(t *testing.T) {
			clients := newFake(draftClass("standard"))
			if _, err := clients.SamplecrdV1().NetworkClasses().Get(t.Context(), "standard", metav1.GetOptions{}); err != nil {
				t.Errorf("getting what the fake was made with: %v", err)
			}
			foos := clients.SamplecontrollerV1alpha1().Foos("default")
			created, err := foos.Create(t.Context(), draftFoo("example-foo", "web"), metav1.CreateOptions{})
			if err != nil {
				t.Fatalf("creating a Foo: %v", err)
			}
			created.Spec.Replicas = new(int32(3))
			if _, err := foos.Update(t.Context(), created, metav1.UpdateOptions{}); err != nil {
				t.Fatalf("updating it: %v", err)
			}
			list, err := clients.SamplecontrollerV1alpha1().Foos(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) != 1 || *list.Items[0].Spec.Replicas != 3 {
				t.Errorf("listing Foos gives %+v, %v, want the one with 3 replicas", list, err)
			}
			tracked, err := clients.Tracker().Get(samplev1alpha1.SchemeGroupVersion.WithResource("foos"), "default", "example-foo")
			if err != nil || tracked.(*samplev1alpha1.Foo).Spec.DeploymentName != "web" {
				t.Errorf("the tracker gives %+v, %v", tracked, err)
			}
			if err := foos.Delete(t.Context(), "example-foo", metav1.DeleteOptions{}); err != nil {
				t.Errorf("deleting it: %v", err)
			}
			if _, err := foos.Get(t.Context(), "example-foo", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("getting what was deleted gives %v, want NotFound", err)
			}
		})
	}
}

func TestFakeFeedsInformers(t *testing.T) {
	for name, newFake := range fakes {
		t.Run(name, func(t *testing.T) {
			clients := newFake()
			factory := externalversions.NewSharedInformerFactory(clients, 0)
			lister := factory.Samplecrd().V1().Networks().Lister()
			factory.StartWithContext(t.Context())
			if err := factory.WaitForCacheSyncWithContext(t.Context()).AsError(); err != nil {
				t.Fatal(err)
			}
			networks := clients.SamplecrdV1().Networks("default")
			if _, err := networks.Create(t.Context(), draftNetwork("example-network", "10.0.0.0/24"), metav1.CreateOptions{}); err != nil {
				t.Fatalf("creating a Network: %v", err)
			}
			eventually(t, "the lister knows the Network", func() bool {
				all, err := lister.List(labels.Everything())
				return err == nil && len(all) == 1 && all[0].Spec.CIDR == "10.0.0.0/24"
			})
			if err := networks.Delete(t.Context(), "example-network", metav1.DeleteOptions{}); err != nil {
				t.Fatalf("deleting the Network: %v", err)
			}
			eventually(t, "the lister knows that the Network is gone", func() bool {
				_, err := lister.Networks("default").Get("example-network")
				return apierrors.IsNotFound(err)
			})
		})
	}
}

func TestFakeAppliesLikeAnAPIServer(t *testing.T) {
	foos := fake.NewClientset().SamplecontrollerV1alpha1().Foos("default")
	replicas := func(count int32) *applyfoo.FooApplyConfiguration {
		return applyfoo.Foo("example-foo", "default").WithSpec(applyfoo.FooSpec().WithDeploymentName("web").WithReplicas(count))
	}
	if _, err := foos.Apply(t.Context(), replicas(2), team); err != nil {
		t.Fatalf("applying a Foo that does not exist: %v", err)
	}
	if _, err := foos.Apply(t.Context(), replicas(3), platform); !apierrors.IsConflict(err) {
		t.Errorf("applying another manager's field gives %v, want a conflict", err)
	}
	foo, err := foos.Apply(t.Context(), replicas(3), forced)
	if err != nil || *foo.Spec.Replicas != 3 {
		t.Errorf("forcing it gives %+v, %v", foo, err)
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return holds(), nil }); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
