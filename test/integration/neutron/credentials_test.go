package neutron

import (
	"encoding/pem"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/test/builders"
	"github.com/samplecrd/samplecrd/test/matchers"
	"github.com/samplecrd/samplecrd/test/openstack"
)

// wrongPassword is not the member's, and secret all the same.
const wrongPassword = "a-password-that-nobody-has" //nolint:gosec // It is not one.

// cloudsWith gives clouds.yaml with a change to what it says of the member's cloud.
func cloudsWith(change func(cloud, auth map[string]any)) []byte {
	GinkgoHelper()
	var file map[string]map[string]map[string]any
	Expect(yaml.Unmarshal(credentials, &file)).To(Succeed())
	cloud := file["clouds"][openstack.Member]
	change(cloud, cloud["auth"].(map[string]any))
	text, err := yaml.Marshal(file)
	Expect(err).NotTo(HaveOccurred())
	return text
}

func authURL(to string) func(cloud, auth map[string]any) {
	return func(_, auth map[string]any) { auth["auth_url"] = to }
}

var _ = Describe("Credentials", func() {
	It("PR-06: that are gone keep a Network from going, until they are back", func() {
		w := running()
		network := w.ready("a", "10.1.0.0/24")
		w.removeSecret(secretName)
		w.Remove("a")
		Eventually(w.Of("a")).Should(And(matchers.BeHeld(), beUnready(samplecrdv1.NetworkReasonCredentialsMissing, ContainSubstring(secretName))))
		Consistently(w.Of("a")).WithTimeout(15 * time.Second).Should(matchers.BeHeld())
		networks, _ := made(member, network)
		Expect(networks).To(HaveLen(1))
		w.putSecret(secretName, credentials)
		Eventually(w.Gone("a")).Should(BeTrue())
		networks, subnets := made(member, network)
		Expect(networks).To(BeEmpty())
		Expect(subnets).To(BeEmpty())
	})

	It("may be an application credential", func() {
		w := running(of(secretName, openstack.ApplicationCredential))
		network := w.ready("a", "10.1.0.0/24")
		held, _ := w.real(network)
		Expect(held).To(HaveKeyWithValue("project_id", member.project))
	})

	It("that cannot be used are told of, each by its fault, and are used as soon as they are right", func() {
		w := running()
		cacert := func(text string) func(*corev1.Secret) {
			return func(secret *corev1.Secret) { secret.Data["cacert"] = []byte(text) }
		}
		bad := []struct {
			name   string
			clouds []byte
			change func(*corev1.Secret)
			said   []string
		}{
			{"password", cloudsWith(func(_, auth map[string]any) { auth["password"] = wrongPassword }), nil, []string{"refuses the credentials", "401"}},
			{"region", cloudsWith(func(cloud, _ map[string]any) { cloud["region_name"] = "Nowhere" }), nil, []string{"Nowhere"}},
			{"yaml", []byte("clouds: ["), nil, []string{"clouds.yaml", "YAML"}},
			{"empty", nil, nil, []string{"clouds.yaml", "missing"}},
			{"cloud", []byte("clouds: {elsewhere: {auth: {auth_url: http://127.0.0.1:1}}}"), nil, []string{`no cloud "openstack"`}},
			{"url", cloudsWith(func(_, auth map[string]any) { delete(auth, "auth_url") }), nil, []string{"auth_url"}},
			{"file", cloudsWith(func(cloud, _ map[string]any) { cloud["cacert"] = "/etc/hostname" }), nil, []string{"files", "cacert"}},
			{"cacert", credentials, cacert("not a certificate"), []string{"cacert", "PEM"}},
			{"project", cloudsWith(func(_, auth map[string]any) { auth["project_name"] = "other" }), nil, []string{"refuses the credentials"}},
		}
		for i, tc := range bad {
			change := tc.change
			if change == nil {
				change = func(*corev1.Secret) {}
			}
			w.putSecret(tc.name, tc.clouds, change)
			class := w.newClass(of(tc.name, openstack.Member))
			w.Network(tc.name, "10.1."+string(rune('0'+i))+".0/24", builders.OfClass(class))
		}
		for _, tc := range bad {
			Eventually(w.Of(tc.name)).Should(And(beUnready(samplecrdv1.NetworkReasonCredentialsMissing, matchers.ContainAll(tc.said)), Not(beStalled())))
		}
		for _, tc := range bad {
			w.putSecret(tc.name, credentials)
		}
		for _, tc := range bad {
			Eventually(w.Of(tc.name)).Should(matchers.BeReady())
		}
	})

	It("that change are used without a restart, also when they were right before", func() {
		w := running()
		w.ready("a", "10.1.0.0/24")
		w.putSecret(secretName, cloudsWith(func(_, auth map[string]any) { auth["password"] = wrongPassword }))
		w.Change("a", builders.Gateway("10.1.0.9"))
		Eventually(w.Of("a")).Should(beUnready(samplecrdv1.NetworkReasonCredentialsMissing, ContainSubstring("401")))
		w.putSecret(secretName, credentials)
		Eventually(w.Of("a")).Should(matchers.BeReady())
		_, subnet := w.real(w.Get("a"))
		Expect(subnet).To(HaveKeyWithValue("gateway_ip", "10.1.0.9"))
	})

	It("bring along who has signed the cloud's certificate", func() {
		var file struct {
			Clouds map[string]struct{ Auth map[string]string }
		}
		Expect(yaml.Unmarshal(credentials, &file)).To(Succeed())
		keystone, err := url.Parse(file.Clouds[openstack.Member].Auth["auth_url"])
		Expect(err).NotTo(HaveOccurred())
		server := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: keystone.Scheme, Host: keystone.Host})
		}})
		DeferCleanup(server.Close)
		clouds := cloudsWith(authURL(server.URL + "/v3"))

		w := newWorld()
		w.start()
		w.putSecret("tls", clouds)
		w.Class = w.newClass(of("tls", openstack.Member))
		w.Network("a", "10.1.0.0/24")
		Eventually(w.Of("a")).Should(beUnready(samplecrdv1.NetworkReasonCredentialsMissing, ContainSubstring("certificate"), ContainSubstring("key cacert")))
		w.putSecret("tls", clouds, func(secret *corev1.Secret) {
			secret.Data["cacert"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		})
		Eventually(w.Of("a")).Should(matchers.BeReady())
		w.Remove("a")
		Eventually(w.Gone("a")).Should(BeTrue())
	})
})
