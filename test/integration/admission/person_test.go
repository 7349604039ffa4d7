package admission_test

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/samplecrd/samplecrd/test/env"
)

var _ = Describe("With kubectl a person sees", func() {
	It("one fault in one line, with what would be right", func() {
		result := kubectl(manifest(newNamespace(), "x", `{cidr: 10.0.0.0/24, gateway: 10.0.1.1}`), "apply", "-f", "-")
		Expect(result.ExitCode).To(Equal(1))
		Expect(result.Stdout).To(BeEmpty())
		Expect(result.Stderr).To(Equal(`The Network "x" is invalid: spec.gateway: Invalid value: "10.0.1.1": ` +
			"not inside 10.0.0.0/24; use an address from 10.0.0.1 to 10.0.0.254\n"))
	})

	It("all faults of an object in one answer", func() {
		for _, verb := range []string{"apply", "create"} {
			result := kubectl(manifest(newNamespace(), "x", `{cidr: 10.0.0.0/24, gateway: 10.9.9.9, dnsServers: [dns.example.com], mtu: 20}`), verb, "-f", "-")
			Expect(result.ExitCode).To(Equal(1))
			Expect(result.Stderr).To(HavePrefix(`The Network "x" is invalid: `))
			Expect(lines(result.Stderr, "* ")).To(ConsistOf(
				HavePrefix(`* spec.gateway: Invalid value: "10.9.9.9": not inside 10.0.0.0/24`),
				HavePrefix(`* spec.dnsServers[0]: Invalid value: "dns.example.com": `),
				HavePrefix(`* spec.mtu: Invalid value: 20: must be from 68 to 9216`),
			))
		}
	})

	It("the field of a wrong JSON type", func() {
		result := kubectl(manifest(newNamespace(), "x", `{cidr: 10.0.0.0/24, mtu: wide}`), "apply", "-f", "-")
		Expect(result.ExitCode).To(Equal(1))
		Expect(result.Stderr).To(And(ContainSubstring("spec.mtu"), Not(ContainSubstring("InternalError"))))
	})

	It("what was stored, in columns", func() {
		namespace := newNamespace()
		expectAccepted(create(network(namespace, "x", `{cidr: 10.0.0.0/24}`)))
		result := kubectl("", "get", "snet", "-n", namespace)
		Expect(strings.Fields(lines(result.Stdout, "NAME")[0])).To(Equal([]string{"NAME", "CIDR", "GATEWAY", "CLASS", "READY", "AGE"}))
		Expect(strings.Fields(lines(result.Stdout, "x ")[0])[:3]).To(Equal([]string{"x", "10.0.0.0/24", "10.0.0.1"}))
		Expect(kubectl("", "get", "samplecrd", "-n", namespace).Stdout).To(ContainSubstring("10.0.0.0/24"))
		Expect(kubectl("", "explain", "network.spec.gateway").Stdout).To(ContainSubstring("first usable address"))
	})

	It("the original example created unchanged, and its update with a warning", func() {
		namespace := newNamespace()
		result := kubectl("", "create", "-n", namespace, "-f", filepath.Join("testdata", "seed", "example-network.yaml"))
		Expect(result.ExitCode).To(BeZero())
		Expect(result.Stderr).NotTo(ContainSubstring("Warning"))
		kept := stored(newObject("Network", namespace, "example-network"))
		Expect(kept.Object["spec"]).To(Equal(map[string]any{"cidr": "192.168.0.0/16", "gateway": "192.168.0.1"}))

		result = kubectl("", "apply", "-n", namespace, "-f", filepath.Join("testdata", "seed", "example-network-updated.yaml"))
		Expect(result.ExitCode).To(BeZero())
		Expect(lines(result.Stderr, "Warning: spec.cidr")).To(ConsistOf(ContainSubstring("192.168.0.0/16")))
		kept = stored(newObject("Network", namespace, "example-network"))
		Expect(kept.Object["spec"]).To(Equal(map[string]any{"cidr": "192.168.1.0/16", "gateway": "192.168.1.1"}))
	})
})

var _ = Describe("The samples", Ordered, ContinueOnFailure, func() {
	BeforeAll(func() {
		for file, class := range map[string]string{"networkclass.yaml": "standard", "networkclass-neutron.yaml": "openstack"} {
			DeferCleanup(dropClass, class)
			Expect(kubectl("", "apply", "-f", env.Path("config", "samples", file)).ExitCode).To(BeZero())
			awaitClass(class)
		}
	})

	for _, file := range manifests("config", "samples") {
		It(filepath.Base(file)+" is admitted", func() {
			result := kubectl("", "apply", "-n", newNamespace(), "-f", file)
			Expect(result.ExitCode).To(BeZero())
			switch filepath.Base(file) {
			case "example-network-updated.yaml":
				Expect(result.Stderr).To(ContainSubstring("192.168.0.0/16"))
			case "foo-with-template.yaml":
				// The webhooks may not have seen the PodTemplate yet, which comes first.
				Expect(result.Stderr).To(Or(BeEmpty(), Equal("Warning: spec.podTemplateName: PodTemplate web not found; the Foo waits until there is one\n")))
			default:
				Expect(result.Stderr).To(BeEmpty())
			}
		})
	}

	It("are admitted together", func() {
		result := kubectl("", "apply", "-n", newNamespace(), "-f", env.Path("config", "samples"))
		Expect(result.ExitCode).To(BeZero())
	})

	for _, file := range manifests("config", "samples", "invalid") {
		It(filepath.Base(file)+" is refused as its header says", func() {
			text, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			const header = "# refused: "
			want := lines(string(text), header)
			Expect(want).NotTo(BeEmpty(), "the file says what it is refused with")

			namespace := newNamespace()
			result := kubectl("", "apply", "-n", namespace, "-f", file)
			Expect(result.ExitCode).To(Equal(1))
			for _, line := range want {
				Expect(result.Stderr).To(ContainSubstring(strings.TrimPrefix(line, header)))
			}
			// kubectl lists the causes only when there are several.
			Expect(max(1, len(lines(result.Stderr, "* ")))).To(Equal(len(want)), "no other fault is reported")
			object := &unstructured.Unstructured{}
			Expect(yaml.Unmarshal(text, object)).To(Succeed())
			if object.GetKind() != "NetworkClass" {
				object.SetNamespace(namespace)
			}
			Expect(exists(object)).To(BeFalse())
		})
	}
})

// manifests lists the YAML files of a folder of the repository.
func manifests(folder ...string) []string {
	files, err := filepath.Glob(env.Path(append(folder, "*.yaml")...))
	if err != nil || len(files) == 0 {
		panic("no manifests in " + filepath.Join(folder...))
	}
	return files
}

// lines gives the lines of text that begin with prefix.
func lines(text, prefix string) []string {
	var found []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, prefix) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}
