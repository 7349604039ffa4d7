package neutron

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const (
	secretPassword   = "pa55word-not-to-be-shown"
	secretCredential = "cred3ntial-not-to-be-shown"
	goodClouds       = `
clouds:
  openstack:
    auth: {auth_url: "https://keystone.example.org/v3", username: u, password: "` + secretPassword + `", project_name: p, user_domain_name: Default, project_domain_name: Default}
    region_name: RegionTwo
    interface: internal
  appcred:
    auth_type: v3applicationcredential
    auth: {auth_url: "https://keystone.example.org/v3", application_credential_id: i, application_credential_secret: "` + secretCredential + `"}
`
)

func parseSecret(cloud string, data map[string][]byte) (credentials, error) {
	a := &account{accountKey: accountKey{"cloud", cloud}}
	return a.parse(&corev1.Secret{Data: data})
}

func TestParseClouds(t *testing.T) {
	// Of a person's shell, which has nothing to say here.
	for name, value := range map[string]string{
		"OS_CLOUD": "prod", "OS_REGION_NAME": "RegionOne", "OS_INTERFACE": "admin", "OS_AUTH_URL": "https://elsewhere.example.org", "OS_PASSWORD": "x", "OS_PROJECT_NAME": "x",
	} {
		t.Setenv(name, value)
	}
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})

	c, err := parseSecret("openstack", map[string][]byte{keyClouds: []byte(goodClouds), keyCACert: authority})
	switch {
	case err != nil:
		t.Fatal(err)
	case c.auth.IdentityEndpoint != "https://keystone.example.org/v3" || c.auth.Username != "u" || c.auth.Password != secretPassword || !c.auth.AllowReauth:
		t.Error("the credentials are others")
	case c.endpoint.Region != "RegionTwo" || c.endpoint.Availability != "internal":
		t.Errorf("the endpoint is %+v", c.endpoint)
	case c.tls.MinVersion != tls.VersionTLS12 || c.tls.RootCAs == nil || c.tls.InsecureSkipVerify:
		t.Errorf("TLS is from version %x, with authorities: %t, insecure: %t", c.tls.MinVersion, c.tls.RootCAs != nil, c.tls.InsecureSkipVerify)
	}
	if c, err := parseSecret("appcred", map[string][]byte{keyClouds: []byte(goodClouds)}); err != nil || c.endpoint.Region != "" || c.endpoint.Availability != "public" {
		t.Errorf("without a region and an interface the endpoint is %+v: %v", c.endpoint, err)
	}
	c, err = parseSecret("appcred", map[string][]byte{keyClouds: []byte(goodClouds)})
	if err != nil || c.auth.ApplicationCredentialID != "i" || c.auth.ApplicationCredentialSecret != secretCredential || c.tls.RootCAs != nil {
		t.Errorf("an application credential: %v", err)
	}
	if text := c.hide("it is " + secretCredential + "!"); text != "it is (hidden)!" {
		t.Errorf("hidden it is %q", text)
	}
}

func TestParseCloudsThatAreNone(t *testing.T) {
	with := func(from, to string) string {
		if !strings.Contains(goodClouds, from) {
			t.Fatalf("there is no %q", from)
		}
		return strings.Replace(goodClouds, from, to, 1)
	}
	for name, tc := range map[string]struct {
		cloud, text string
		authority   []byte
		// says are parts of the sentence: what is wrong and what would help.
		says []string
	}{
		"no file":                       {says: []string{"clouds.yaml is missing"}},
		"no YAML":                       {text: "clouds: {" + secretPassword, says: []string{"clouds.yaml", "no YAML"}},
		"another YAML":                  {text: "- " + secretPassword, says: []string{"clouds.yaml", "no YAML"}},
		"a scalar for clouds":           {text: "clouds: " + secretPassword, says: []string{"clouds.yaml", "no YAML"}},
		"no clouds":                     {text: "other: {}", says: []string{`no cloud "openstack"`}},
		"another cloud":                 {cloud: "prod", text: goodClouds, says: []string{`clouds.yaml has no cloud "prod"`}},
		"a cloud of nothing":            {text: "clouds: {openstack: null}", says: []string{`"openstack" has no auth.auth_url`}},
		"no URL":                        {text: with(`auth_url: "https://keystone.example.org/v3", username`, "username"), says: []string{"no auth.auth_url"}},
		"an empty URL":                  {text: with(`"https://keystone.example.org/v3", username`, `"", username`), says: []string{"auth.auth_url"}},
		"a URL that is a list":          {text: with(`"https://keystone.example.org/v3", username`, `[a], username`), says: []string{"clouds.yaml"}},
		"no URL of the web":             {text: with(`"https://keystone.example.org/v3", username`, `"file:///etc/passwd", username`), says: []string{"no URL of http or https"}},
		"a vendor profile":              {text: with("region_name:", "profile: vexxhost\n    region_name:"), says: []string{"vendor profile", "write out"}},
		"a vendor's cloud":              {text: with("region_name:", "cloud: rackspace\n    region_name:"), says: []string{"vendor profile"}},
		"a file of authorities":         {text: with("region_name:", "cacert: /etc/passwd\n    region_name:"), says: []string{"names files", "under the key cacert"}},
		"a file of a key":               {text: with("region_name:", "key: /etc/passwd\n    region_name:"), says: []string{"names files"}},
		"a file of a certificate":       {text: with("region_name:", "cert: /etc/passwd\n    region_name:"), says: []string{"names files"}},
		"authorities that are none":     {text: goodClouds, authority: []byte(secretPassword), says: []string{"cacert holds no certificate (PEM)"}},
		"a system scope that is none":   {text: with("username:", "system_scope: "+secretPassword+", username:"), says: []string{`cloud "openstack"`}},
		"a secret where a flag belongs": {text: with("region_name:", "verify: "+secretPassword+"\n    region_name:"), says: []string{"clouds.yaml"}},
		"keys in capitals":              {text: with("auth:", "Auth:"), says: []string{"openstack"}},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := tc.cloud
			if cloud == "" {
				cloud = "openstack"
			}
			data := map[string][]byte{keyCACert: tc.authority}
			if tc.text != "" {
				data[keyClouds] = []byte(tc.text)
			}
			_, err := parseSecret(cloud, data)
			if err == nil {
				t.Fatal("it is taken")
			}
			for _, part := range tc.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("it says %q, want %q", err, part)
				}
			}
			for _, secret := range []string{secretPassword[:5], secretCredential[:5], "/etc/passwd"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%q is in %q", secret, err)
				}
			}
		})
	}
}

func FuzzClouds(f *testing.F) {
	f.Add([]byte(goodClouds))
	f.Add([]byte("clouds: {openstack: {auth: {auth_url: x}}}"))
	f.Add([]byte("clouds: {openstack: {auth: {auth_url: 7, password: [1]}, region_name: {}}}"))
	f.Add([]byte("clouds: &a {openstack: *a}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parseSecret("openstack", map[string][]byte{keyClouds: text})
		if err == nil && c.tls == nil {
			t.Error("there is no TLS")
		}
		if err != nil && (len(err.Error()) > 512 || bytes.ContainsAny([]byte(err.Error()), "\n\x00")) {
			t.Errorf("it says %q", err)
		}
	})
}
