package foo

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/samplecrd/samplecrd/test/env"
)

// proxy stands between a manager and the API server. It sees every call that
// changes something, and says what becomes of it.
type proxy struct {
	mu     sync.Mutex
	seen   []string
	handle func(c call) error
}

// call is one that changes something.
type call struct {
	// text is what is done to what: "apply web", "status example-foo", "delete web".
	text string
	// object is what is applied; nil in other calls.
	object runtime.ApplyConfiguration
	send   func() error
}

// runs is a manager that speaks to the API server through the proxy.
func (p *proxy) runs() env.ManagerOptions {
	return env.ManagerOptions{Controllers: true, Client: p.client}
}

// on has handle decide about every call from now on; it sends those that are to
// reach the API server.
func (p *proxy) on(handle func(c call) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handle = handle
}

// before has do happen when such a call is under way for the first time: after the
// look that led to it, and before it reaches the API server.
func (p *proxy) before(text string, do func(c call)) {
	var once sync.Once
	p.on(func(c call) error {
		if c.text == text {
			once.Do(func() { do(c) })
		}
		return c.send()
	})
}

// calls gives the calls so far that begin with prefix.
func (p *proxy) calls(prefix string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []string
	for _, text := range p.seen {
		if strings.HasPrefix(text, prefix) {
			found = append(found, text)
		}
	}
	return found
}

// count is the number of such calls so far, for Eventually and Consistently.
func (p *proxy) count(prefix string) func() int {
	return func() int { return len(p.calls(prefix)) }
}

func (p *proxy) change(text string, object runtime.ApplyConfiguration, send func() error) error {
	p.mu.Lock()
	p.seen = append(p.seen, text)
	handle := p.handle
	p.mu.Unlock()
	if handle == nil {
		return send()
	}
	return handle(call{text, object, send})
}

func (p *proxy) client(config *rest.Config, options client.Options) (client.Client, error) {
	inner, err := client.NewWithWatch(config, options)
	if err != nil {
		return nil, err
	}
	return interceptor.NewClient(inner, interceptor.Funcs{
		Apply: func(ctx context.Context, inner client.WithWatch, object runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			name := *object.(interface{ GetName() *string }).GetName()
			return p.change("apply "+name, object, func() error { return inner.Apply(ctx, object, opts...) })
		},
		Delete: func(ctx context.Context, inner client.WithWatch, object client.Object, opts ...client.DeleteOption) error {
			return p.change("delete "+object.GetName(), nil, func() error { return inner.Delete(ctx, object, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, inner client.Client, subResource string, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return p.change(subResource+" "+object.GetName(), nil, func() error {
				return inner.SubResource(subResource).Patch(ctx, object, patch, opts...)
			})
		},
		// The Foo controller changes nothing in any other way.
		Create: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.CreateOption) error {
			return p.unexpected("create", object)
		},
		Update: func(_ context.Context, _ client.WithWatch, object client.Object, _ ...client.UpdateOption) error {
			return p.unexpected("update", object)
		},
		Patch: func(_ context.Context, _ client.WithWatch, object client.Object, _ client.Patch, _ ...client.PatchOption) error {
			return p.unexpected("patch", object)
		},
	}), nil
}

func (p *proxy) unexpected(verb string, object client.Object) error {
	return p.change(verb+" "+object.GetName(), nil, func() error {
		return fmt.Errorf("the proxy knows of no %s", verb)
	})
}
