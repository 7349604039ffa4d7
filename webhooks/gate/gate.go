// Package gate is the way of every kind through admission: what did not change is
// let through, what is absent is filled in, what is wrong is refused with all its
// faults, as 422.
package gate

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Object is a pointer to an API type.
type Object interface {
	client.Object
	comparable
}

// Kind is what one kind brings. F are its facts: what the rules need to know
// besides the object. In an update old is the stored object, in a create it is
// nil.
type Kind[T Object, F any] interface {
	// SameSpec says that nothing is to be judged.
	SameSpec(a, b T) bool
	// Gather reads the facts. It is the only method that does I/O.
	Gather(ctx context.Context, object, old T) (F, error)
	// Default fills what is absent in object.
	Default(object, old T, facts F)
	// Validate judges object, and warns of what is sound but hardly meant.
	Validate(object, old T, facts F) (warnings []string, errs field.ErrorList)
}

// Gate is a defaulting and a validating webhook. Both judge: the first runs
// before the CRD's schema, so that a person reads our sentence, the second sees
// the final object. Only the second warns.
type Gate[T Object, F any] struct {
	kind   Kind[T, F]
	group  schema.GroupKind
	scheme *runtime.Scheme
}

// Register serves kind's webhooks, at the paths that controller-runtime derives
// from the kind of object.
func Register[T Object, F any](mgr ctrl.Manager, object T, kind Kind[T, F]) error {
	g, err := newGate(mgr, object, kind)
	if err != nil {
		return err
	}
	return ctrl.NewWebhookManagedBy(mgr, object).WithDefaulter(g).WithValidator(g).Complete()
}

// RegisterValidator serves kind's validating webhook alone, at path: for a
// subresource, whose kind does not tell whose it is and which has nothing to fill
// in.
func RegisterValidator[T Object, F any](mgr ctrl.Manager, object T, path string, kind Kind[T, F]) error {
	g, err := newGate(mgr, object, kind)
	if err != nil {
		return err
	}
	return ctrl.NewWebhookManagedBy(mgr, object).WithValidator(g).WithValidatorCustomPath(path).Complete()
}

func newGate[T Object, F any](mgr ctrl.Manager, object T, kind Kind[T, F]) (*Gate[T, F], error) {
	gvk, err := mgr.GetClient().GroupVersionKindFor(object)
	if err != nil {
		return nil, err
	}
	return &Gate[T, F]{kind: kind, group: gvk.GroupKind(), scheme: mgr.GetScheme()}, nil
}

// Default fills in object and refuses it if it is then still wrong.
func (g *Gate[T, F]) Default(ctx context.Context, object T) error {
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	var old T
	if len(request.OldObject.Raw) > 0 {
		// A fresh one: JSON is decoded into what is there already.
		old = reflect.New(reflect.TypeOf(object).Elem()).Interface().(T)
		if err := admission.NewDecoder(g.scheme).DecodeRaw(request.OldObject, old); err != nil {
			return apierrors.NewBadRequest(fmt.Sprintf("reading the stored object: %v", err))
		}
	}
	_, err = g.judge(ctx, object, old, true)
	return err
}

// ValidateCreate judges a new object.
func (g *Gate[T, F]) ValidateCreate(ctx context.Context, object T) (admission.Warnings, error) {
	var none T
	return g.judge(ctx, object, none, false)
}

// ValidateUpdate judges a changed object.
func (g *Gate[T, F]) ValidateUpdate(ctx context.Context, old, object T) (admission.Warnings, error) {
	return g.judge(ctx, object, old, false)
}

// ValidateDelete allows: deletion is never sent to the webhooks.
func (g *Gate[T, F]) ValidateDelete(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}

func (g *Gate[T, F]) judge(ctx context.Context, object, old T, fill bool) (admission.Warnings, error) {
	var none T
	if old != none && g.kind.SameSpec(object, old) {
		return nil, nil
	}
	facts, err := g.kind.Gather(ctx, object, old)
	if err != nil {
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("the webhook could not read what it needs, try again: %v", err))
	}
	if fill {
		g.kind.Default(object, old, facts)
	}
	warnings, errs := g.kind.Validate(object, old, facts)
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(g.group, object.GetName(), errs)
	}
	return warnings, nil
}

// OneOf refuses a value that is not among those known. Of a long one only the
// beginning is echoed: the schema, which bounds it, comes later.
func OneOf[T ~string](path *field.Path, value T, known ...T) field.ErrorList {
	if slices.Contains(known, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, Clip(value, maxEcho), known)}
}

// maxEcho bounds an unknown value in a refusal, in bytes.
const maxEcho = 64

// Clip gives the first bytes of a value, most at the most.
func Clip[T ~string](value T, most int) T {
	return value[:min(len(value), most)]
}

// Forgive leaves out the faults that the stored object has as well (same path,
// type and bad value) and that this change did not bring about, as unchanged
// tells.
func Forgive(errs, stored field.ErrorList, unchanged func(*field.Error) bool) field.ErrorList {
	type fault struct {
		path  string
		kind  field.ErrorType
		value string
	}
	key := func(err *field.Error) fault {
		return fault{err.Field, err.Type, fmt.Sprint(err.BadValue)}
	}
	known := map[fault]bool{}
	for _, err := range stored {
		known[key(err)] = true
	}
	var left field.ErrorList
	for _, err := range errs {
		if !known[key(err)] || !unchanged(err) {
			left = append(left, err)
		}
	}
	return left
}
