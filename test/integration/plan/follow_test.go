package plan

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// follow tells of every version of some objects that is stored from now on, in order,
// until the container ends. list is empty.
func follow(list client.ObjectList, told func(watch.Event), which ...client.ListOption) {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(cluster.Config, client.Options{Scheme: cluster.Scheme})
	Expect(err).NotTo(HaveOccurred())
	Expect(watcher.List(ctx, list, which...)).To(Succeed())
	// The API server ends a watch that does not keep up; this one goes on where it
	// was ended.
	stream, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return watcher.Watch(ctx, list.DeepCopyObject().(client.ObjectList), append(which, &client.ListOptions{Raw: &options})...)
		},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stream.Stop)
	go func() {
		for event := range stream.ResultChan() {
			told(event)
		}
	}()
}

// gap says that a watch told of no object: from then on it did not see everything.
func gap(event watch.Event) error {
	if _, isObject := event.Object.(client.Object); !isObject || event.Type == watch.Error {
		return fmt.Errorf("the watch broke off: %v", event.Object)
	}
	return nil
}
