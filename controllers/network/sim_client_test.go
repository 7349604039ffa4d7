package network

import (
	"context"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
)

// fused is a client whose process ends at a chosen write.
func (s *sim) fused() client.Client {
	write := func(do func() error) error {
		s.meanwhile()
		fault := errEnded
		switch {
		case s.stumbles:
			s.stumbles, fault = false, errStumbled
		case s.writesLeft < 0:
			return do()
		case s.writesLeft > 0:
			s.writesLeft--
			return do()
		}
		if s.arrives {
			s.arrives = false
			_ = do()
		}
		return fault
	}
	return interceptor.NewClient(s.store.(client.WithWatch), interceptor.Funcs{
		Patch: func(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return write(func() error { return inner.Patch(ctx, object, patch, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, inner client.Client, name string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return write(func() error { return inner.SubResource(name).Patch(ctx, object, patch, opts...) })
		},
	})
}

// meanwhile lets others act, and the cache learn of it, in the middle of a pass.
func (s *sim) meanwhile() {
	s.t.Helper()
	if !s.busy {
		return
	}
	if keys := slices.Collect(maps.Keys(s.latest)); s.random.IntN(8) == 0 {
		s.remove(s.pick(keys))
	}
	for len(s.pending) > 0 && s.random.IntN(2) == 0 {
		s.deliver(s.pick(slices.Collect(maps.Keys(s.pending))))
	}
}

// lagging reads what the cache shows.
type lagging struct {
	client.Client
	sim *sim
}

func (c *lagging) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	switch into := object.(type) {
	case *samplecrdv1.Network:
		if network := c.sim.shown[key]; network != nil {
			network.DeepCopyInto(into)
			return nil
		}
	case *samplecrdv1.NetworkClass:
		if class := c.sim.classes[key.Name]; class != nil {
			class.DeepCopyInto(into)
			return nil
		}
	}
	return apierrors.NewNotFound(samplecrdv1.SchemeGroupVersion.WithResource("x").GroupResource(), key.Name)
}

func (c *lagging) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if classes, isClasses := list.(*samplecrdv1.NetworkClassList); isClasses {
		for _, class := range c.sim.classes {
			classes.Items = append(classes.Items, *class.DeepCopy())
		}
	}
	return nil
}
