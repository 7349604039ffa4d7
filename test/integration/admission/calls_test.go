package admission_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	samplev1alpha1 "github.com/samplecrd/samplecrd/apis/samplecontroller/v1alpha1"
	"github.com/samplecrd/samplecrd/test/env"
)

// recorder keeps the warnings of the API server's answers.
type recorder struct {
	mutex sync.Mutex
	texts []string
}

func (r *recorder) HandleWarningHeader(_ int, _ string, text string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.texts = append(r.texts, text)
}

func (r *recorder) take() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	texts := r.texts
	r.texts = nil
	return texts
}

// answer is what a client gets for one request.
type answer struct {
	object   *unstructured.Unstructured
	warnings []string
	err      error
}

func ask(object *unstructured.Unstructured, request func(*unstructured.Unstructured) error) answer {
	sent := object.DeepCopy()
	warnings.take()
	err := request(sent)
	return answer{object: sent, warnings: warnings.take(), err: err}
}

func create(object *unstructured.Unstructured, opts ...client.CreateOption) answer {
	return ask(object, func(sent *unstructured.Unstructured) error { return user.Create(ctx, sent, opts...) })
}

func update(object *unstructured.Unstructured, opts ...client.UpdateOption) answer {
	return ask(object, func(sent *unstructured.Unstructured) error { return user.Update(ctx, sent, opts...) })
}

func mergePatch(object *unstructured.Unstructured, body string, opts ...client.PatchOption) answer {
	return ask(object, func(sent *unstructured.Unstructured) error {
		return user.Patch(ctx, sent, client.RawPatch(types.MergePatchType, []byte(body)), opts...)
	})
}

// post sends a new object in the caller's own bytes.
func post(path, body string) (response *http.Response, text string) {
	GinkgoHelper()
	caller, err := rest.HTTPClientFor(control.Config)
	Expect(err).NotTo(HaveOccurred())
	response, err = caller.Post(strings.TrimSuffix(control.Config.Host, "/")+path, "application/json", strings.NewReader(body))
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return response, string(read)
}

// stored reads object anew.
func stored(object *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	read := newObject(object.GetKind(), object.GetNamespace(), object.GetName())
	Expect(user.Get(ctx, client.ObjectKeyFromObject(object), read)).To(Succeed())
	return read
}

// exists says whether object is stored.
func exists(object *unstructured.Unstructured) bool {
	GinkgoHelper()
	err := user.Get(ctx, client.ObjectKeyFromObject(object), newObject(object.GetKind(), object.GetNamespace(), object.GetName()))
	Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
	return err == nil
}

func newObject(kind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("samplecrd.k8s.io/v1")
	if kind == "Foo" {
		object.SetAPIVersion("samplecontroller.k8s.io/v1alpha1")
	}
	object.SetKind(kind)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// network builds a Network whose spec is written as YAML.
func network(namespace, name, spec string) *unstructured.Unstructured {
	return withSpec(newObject("Network", namespace, name), spec)
}

// foo builds a Foo whose spec is written as YAML.
func foo(namespace, name, spec string) *unstructured.Unstructured {
	return withSpec(newObject("Foo", namespace, name), spec)
}

// withSpec gives a copy of object with another spec, written as YAML.
func withSpec(object *unstructured.Unstructured, spec string) *unstructured.Unstructured {
	GinkgoHelper()
	return withField(object, "spec", spec)
}

// replicasOf gives spec.replicas of a Foo, nil when there are none.
func replicasOf(object *unstructured.Unstructured) *int32 {
	GinkgoHelper()
	text, err := object.MarshalJSON()
	Expect(err).NotTo(HaveOccurred())
	var typed samplev1alpha1.Foo
	Expect(json.Unmarshal(text, &typed)).To(Succeed())
	return typed.Spec.Replicas
}

func newNamespace() string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "admission-"}}
	Expect(user.Create(ctx, namespace)).To(Succeed())
	return namespace.Name
}

// specOf gives a string field of object's spec, "" when it is absent.
func specOf(object *unstructured.Unstructured, name string) string {
	GinkgoHelper()
	text, _, err := unstructured.NestedString(object.Object, "spec", name)
	Expect(err).NotTo(HaveOccurred())
	return text
}

// causes gives the causes of a refusal.
func causes(err error) []metav1.StatusCause {
	status, is := err.(apierrors.APIStatus)
	if !is || status.Status().Details == nil {
		return nil
	}
	return status.Status().Details.Causes
}

// fields gives the paths of causes.
func fields(all []metav1.StatusCause) []string {
	paths := make([]string, len(all))
	for i, cause := range all {
		paths[i] = cause.Field
	}
	return paths
}

// expectRefusal demands 422 Invalid with one cause, on path, whose message holds
// every one of says.
func expectRefusal(a answer, path string, says ...string) {
	GinkgoHelper()
	expectCause(a, metav1.CauseTypeFieldValueInvalid, path, says...)
}

func expectCause(a answer, reason metav1.CauseType, path string, says ...string) {
	GinkgoHelper()
	Expect(apierrors.IsInvalid(a.err)).To(BeTrue(), "refused as Invalid: %v", a.err)
	Expect(a.err.(apierrors.APIStatus).Status().Code).To(BeEquivalentTo(http.StatusUnprocessableEntity))
	found := causes(a.err)
	Expect(fields(found)).To(Equal([]string{path}), "%v", a.err)
	Expect(found[0].Type).To(Equal(reason))
	for _, text := range says {
		Expect(found[0].Message).To(ContainSubstring(text))
	}
}

// expectAccepted demands success and exactly one warning per entry of warned,
// which holds that text.
func expectAccepted(a answer, warned ...string) {
	GinkgoHelper()
	Expect(a.err).NotTo(HaveOccurred())
	expectWarnings(a.warnings, warned...)
}

// expectLetThrough demands success in spite of a fault that was stored before. The
// API server itself may warn of what its schema lets pass for that reason.
func expectLetThrough(a answer) {
	GinkgoHelper()
	Expect(a.err).NotTo(HaveOccurred())
}

func expectWarnings(texts []string, want ...string) {
	GinkgoHelper()
	Expect(texts).To(HaveLen(len(want)), "%q", texts)
	for i, text := range want {
		Expect(texts[i]).To(ContainSubstring(text))
	}
}

// kubectl runs the real one.
func kubectl(stdin string, args ...string) env.Result {
	GinkgoHelper()
	result, err := control.Kubectl(stdin, args...)
	Expect(err).NotTo(HaveOccurred())
	GinkgoWriter.Printf("kubectl %q: exit code %d\n%s%s", args, result.ExitCode, result.Stdout, result.Stderr)
	return result
}

// verdict is what a case expects of a create.
type verdict struct {
	// refused is the path of the only cause; "" when the Network is accepted.
	refused string
	// says is what the refusal's message holds besides the value.
	says []string
	// gateway is the one that is stored.
	gateway string
	// warns is what each warning holds.
	warns []string
}

func refused(path string, says ...string) verdict { return verdict{refused: path, says: says} }

func accepted(gateway string, warns ...string) verdict {
	return verdict{gateway: gateway, warns: warns}
}

// judged creates a Network with spec in a namespace of its own and compares.
func judged(spec string, want verdict) {
	GinkgoHelper()
	subject := network(newNamespace(), "subject", spec)
	a := create(subject)
	if want.refused != "" {
		value := specOf(subject, want.refused[len("spec."):])
		expectRefusal(a, want.refused, append(want.says, strconv.Quote(value))...)
		Expect(a.warnings).To(BeEmpty())
		Expect(exists(subject)).To(BeFalse(), "nothing is stored")
		return
	}
	expectAccepted(a, want.warns...)
	kept := stored(subject)
	Expect(specOf(kept, "cidr")).To(Equal(specOf(subject, "cidr")), "the CIDR is never rewritten")
	Expect(specOf(kept, "gateway")).To(Equal(want.gateway))
}

// withField gives a copy of object with another field at its top, written as YAML.
func withField(object *unstructured.Unstructured, name, text string) *unstructured.Unstructured {
	GinkgoHelper()
	written, err := yaml.YAMLToJSON([]byte(text))
	Expect(err).NotTo(HaveOccurred(), text)
	var value any
	// Which reads whole numbers as what they are, as a client does.
	Expect(utiljson.Unmarshal(written, &value)).To(Succeed(), text)
	changed := object.DeepCopy()
	changed.Object[name] = value
	return changed
}

// manifest writes a Network as a file for kubectl.
func manifest(namespace, name, spec string) string {
	return file("samplecrd.k8s.io/v1", "Network", namespace, name, spec)
}

// fooManifest writes a Foo as a file for kubectl.
func fooManifest(namespace, name, spec string) string {
	return file("samplecontroller.k8s.io/v1alpha1", "Foo", namespace, name, spec)
}

func file(version, kind, namespace, name, spec string) string {
	return fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {namespace: %s, name: %s}\nspec: %s\n", version, kind, namespace, name, spec)
}
