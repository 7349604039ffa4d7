package foo

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// aged is a Deployment that x made under this name, so many seconds ago.
func aged(t *testing.T, name string, seconds int64) *appsv1.Deployment {
	t.Helper()
	d := desiredOf(t, newFoo("x", name), nil)
	d.CreationTimestamp, d.UID = metav1.NewTime(time.Unix(100_000-seconds, 0)), types.UID("uid-of-"+name)
	return d
}

func gathered(t *testing.T, r *Reconciler) *pass {
	t.Helper()
	p := &pass{foo: newFoo("x", "web")}
	if next, err := r.gather(t.Context(), p); err != nil || !next {
		t.Fatalf("next is %t: %v", next, err)
	}
	return p
}

func namesOf(deployments []*appsv1.Deployment) []string {
	var names []string
	for _, d := range deployments {
		names = append(names, d.Name)
	}
	return names
}

func TestGather(t *testing.T) {
	terminating := aged(t, "terminating", 1)
	terminating.Finalizers, terminating.DeletionTimestamp = []string{"f"}, new(metav1.Now())
	theirs, elsewhere := desiredOf(t, newFoo("y", "theirs"), nil), aged(t, "elsewhere", 1)
	elsewhere.Namespace = "elsewhere"
	t.Run("what it names, and what else it controls, the newest first", func(t *testing.T) {
		p := gathered(t, newReconciler(t, aged(t, "web", 1), aged(t, "oldest", 30), aged(t, "newer", 10), aged(t, "old", 20), terminating, theirs, elsewhere))
		if p.deployment == nil || p.deployment.Name != "web" {
			t.Errorf("got %v", p.deployment)
		}
		if got, want := namesOf(p.others), []string{"newer", "old", "oldest"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
	t.Run("a copy that somebody made of its Deployment is not one that it made", func(t *testing.T) {
		copied := aged(t, "web", 1)
		copied.Name = "web-debug"
		if p := gathered(t, newReconciler(t, aged(t, "web", 1), copied)); len(p.others) > 0 {
			t.Errorf("got %v", namesOf(p.others))
		}
	})
	t.Run("what it names, whoever's it is", func(t *testing.T) {
		p := gathered(t, newReconciler(t, desiredOf(t, newFoo("y", "web"), nil)))
		if p.deployment == nil || len(p.others) > 0 {
			t.Errorf("got %v, %v", p.deployment, p.others)
		}
	})
	t.Run("nothing", func(t *testing.T) {
		if p := gathered(t, newReconciler(t)); p.deployment != nil || len(p.others) > 0 {
			t.Errorf("got %v, %v", p.deployment, p.others)
		}
	})
	t.Run("AF-10: without a name nothing is looked for, and what is there is known", func(t *testing.T) {
		p := &pass{foo: newFoo("x", "")}
		if next, err := newReconciler(t, aged(t, "old", 1)).gather(t.Context(), p); err != nil || !next || p.deployment != nil || len(p.others) != 1 {
			t.Errorf("next is %t: %v; %v, %v", next, err, p.deployment, p.others)
		}
	})
	t.Run("what cannot be read is an error, and nothing is said", func(t *testing.T) {
		for what, faults := range map[string]interceptor.Funcs{
			"the list": {List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
				return errNoCache
			}},
			"the Deployment": {Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
				return errNoCache
			}},
		} {
			p := &pass{foo: newFoo("x", "web")}
			if next, err := newReconciler(t).intercept(faults).gather(t.Context(), p); next || !errors.Is(err, errNoCache) || p.said {
				t.Errorf("%s: next is %t, said %t: %v", what, next, p.said, err)
			}
		}
	})
}

// Ages are whole seconds, and the cache lists in no order: the status must not
// tell of one Deployment now and of another one then.
func TestGatherOrder(t *testing.T) {
	reverse := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		err := c.List(ctx, list, opts...)
		if deployments, are := list.(*appsv1.DeploymentList); are {
			slices.Reverse(deployments.Items)
		}
		return err
	}}
	objects := []client.Object{aged(t, "a", 10), aged(t, "b", 10), aged(t, "c", 10)}
	one := namesOf(gathered(t, newReconciler(t, objects...)).others)
	other := namesOf(gathered(t, newReconciler(t, objects...).intercept(reverse)).others)
	if !slices.Equal(one, other) {
		t.Errorf("got %v, and then %v", one, other)
	}
}

// A cache that is behind our own write is not believed.
func TestRead(t *testing.T) {
	key := client.ObjectKey{Namespace: "default", Name: "web"}
	stale := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
		err := c.Get(ctx, key, object, opts...)
		object.SetResourceVersion("5")
		return err
	}}
	for name, tc := range map[string]struct {
		there  bool
		wrote  string
		faults interceptor.Funcs
		want   string // the resource version; "" for none
	}{
		"the cache is believed":                       {there: true, faults: stale, want: "5"},
		"it is when it has our write":                 {there: true, wrote: "5", faults: stale, want: "5"},
		"it is not when it is behind":                 {there: true, wrote: "6", faults: stale, want: "999"},
		"nothing there is believed":                   {},
		"it is asked for when we wrote it":            {wrote: "6"},
		"what the cache has lost, and is there still": {there: true, wrote: "999", faults: gone, want: "999"},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			if tc.there {
				objects = append(objects, aged(t, "web", 1))
			}
			r := newReconciler(t, objects...).intercept(tc.faults)
			if tc.wrote != "" {
				r.deployments.Wrote(key, tc.wrote)
			}
			got, err := r.read(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			version := ""
			if got != nil {
				version = got.ResourceVersion
			}
			if version != tc.want {
				t.Errorf("got %q, want %q", version, tc.want)
			}
		})
	}
}
