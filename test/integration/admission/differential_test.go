package admission_test

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// verdicts are what the gates say to one row.
type verdicts struct {
	// final is the object as the webhooks left it.
	final *unstructured.Unstructured
	// webhooks, floor and both are the answers of the webhooks, of the CRD's rules,
	// and of the API server with both gates closed.
	webhooks, floor, both answer
	// validating is the answer of the validating webhook on its own, which must not
	// rely on the other one's having judged.
	validating answer
	// floorOfFinal is the CRD's answer to final.
	floorOfFinal answer
}

var _ = Describe("Webhooks and CRD", Ordered, ContinueOnFailure, func() {
	all := slices.Concat(
		rows("Network", "creates.yaml", 120), rows("Network", "updates.yaml", 40),
		rows("Foo", "foo-creates.yaml", 40), rows("Foo", "foo-updates.yaml", 40),
		rows("NetworkClass", "class-creates.yaml", 50), rows("NetworkClass", "class-updates.yaml", 40),
	)
	results := make([]verdicts, len(all))
	olds := make([]*unstructured.Unstructured, len(all))
	objects := make([]*unstructured.Unstructured, len(all))

	// send asks the API server, without storing anything.
	send := func(i int, object *unstructured.Unstructured) answer {
		if olds[i] == nil {
			return create(object, client.DryRunAll)
		}
		return update(object, client.DryRunAll)
	}

	BeforeAll(func() {
		namespace := newNamespace()
		DeferCleanup(closeGates)
		removeWebhooks()
		removeFloor(anyFoo)
		for i, row := range all {
			switch row.kind {
			case "Foo":
				// Of its own: Foos that name one Deployment draw a warning.
				namespace = newNamespace()
			case "NetworkClass":
				namespace = ""
			}
			objects[i] = withSpec(newObject(row.kind, namespace, fmt.Sprintf("row-%d", i)), row.spec())
			if row.Old != nil {
				row.store(objects[i])
			}
			if row.Old != nil && namespace == "" {
				DeferCleanup(func() { Expect(client.IgnoreNotFound(user.Delete(ctx, objects[i].DeepCopy()))).To(Succeed()) })
			}
		}
		restoreFloor()
		for i, row := range all {
			if row.Old != nil {
				// Read with the defaults of the CRD's in force, as the API server reads it.
				olds[i] = stored(objects[i])
				objects[i] = withSpec(olds[i], row.spec())
			}
			seen := objects[i]
			if row.kind == "NetworkClass" {
				seen = withDefaults(seen)
			}
			results[i].final, results[i].webhooks = askWebhooks(seen, olds[i])
			results[i].validating = answerOf(review(validating, asStored(seen), olds[i]))
			results[i].floor = send(i, objects[i])
			results[i].floorOfFinal = send(i, results[i].final)
		}
		restoreWebhooks()
		for i := range all {
			results[i].both = send(i, objects[i])
		}
	})

	for i, row := range all {
		operation := " create: "
		if row.Old != nil {
			operation = " update: "
		}
		It(row.kind+operation+row.Name, func() {
			got := results[i]
			row.expectVerdict(got.webhooks)
			if row.Old == nil {
				row.expectVerdict(got.validating)
			}
			if row.Refused == nil {
				row.expectFilledIn(got.final)
			}
			if row.Stuck == "" {
				row.expectVerdict(got.both)
				if row.Refused == nil {
					row.expectFilledIn(got.both.object)
				}
			}
			row.expectFloor(got)
			if row.Code == 0 && row.kind != "NetworkClass" {
				row.expectPure()
			}
		})
	}
})

// askWebhooks gives the webhooks' verdict in the form of an API server's answer.
func askWebhooks(object, old *unstructured.Unstructured) (*unstructured.Unstructured, answer) {
	GinkgoHelper()
	final, response := webhooksAlone(asStored(object), old)
	sent := object.DeepCopy()
	sent.Object["spec"] = final.Object["spec"]
	return sent, answerOf(response)
}

func answerOf(response *admissionv1.AdmissionResponse) answer {
	a := answer{warnings: response.Warnings}
	if !response.Allowed {
		a.err = &apierrors.StatusError{ErrStatus: *response.Result}
	}
	return a
}
