package neutron

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// The keys of a credentials Secret.
const (
	keyClouds = "clouds.yaml"
	keyCACert = "cacert"
)

// section is what clouds.yaml says of a cloud, as far as it is looked at before
// gophercloud reads it.
type section struct {
	Auth                              map[string]any
	Profile, Cloud, CACert, Cert, Key any
}

// credentials are what a Secret says.
type credentials struct {
	auth     gophercloud.AuthOptions
	endpoint gophercloud.EndpointOpts
	tls      *tls.Config
}

// parse reads clouds.yaml. What it says of files is refused: they would be the
// manager's own.
func (a *account) parse(secret *corev1.Secret) (credentials, error) {
	text := secret.Data[keyClouds]
	if len(text) == 0 {
		return credentials{}, fmt.Errorf("the key %s is missing", keyClouds)
	}
	var file struct{ Clouds map[string]section }
	if err := yaml.Unmarshal(text, &file); err != nil {
		return credentials{}, fmt.Errorf("the key %s is no YAML of that kind", keyClouds)
	}
	cloud, there := file.Clouds[a.cloud]
	switch {
	case !there:
		return credentials{}, fmt.Errorf("%s has no cloud %q", keyClouds, a.cloud)
	case cloud.Auth["auth_url"] == nil:
		return credentials{}, fmt.Errorf("cloud %q has no auth.auth_url", a.cloud)
	case cloud.Profile != nil || cloud.Cloud != nil:
		return credentials{}, fmt.Errorf("cloud %q has a vendor profile; write out what it stands for", a.cloud)
	case cloud.CACert != nil || cloud.Cert != nil || cloud.Key != nil:
		return credentials{}, fmt.Errorf("cloud %q names files; put the certificates of who signed the cloud's (PEM) under the key %s instead", a.cloud, keyCACert)
	}
	var c credentials
	var err error
	c.auth, c.endpoint, c.tls, err = clouds.Parse(clouds.WithCloudName(a.cloud), clouds.WithCloudsYAML(strings.NewReader(string(text))))
	if err != nil {
		return credentials{}, fmt.Errorf("cloud %q: %s", a.cloud, clean(c.hide(err.Error())))
	}
	c.auth.AllowReauth = true
	c.tls.MinVersion = tls.VersionTLS12
	if authorities := secret.Data[keyCACert]; len(authorities) > 0 {
		c.tls.RootCAs = x509.NewCertPool()
		if !c.tls.RootCAs.AppendCertsFromPEM(authorities) {
			return credentials{}, fmt.Errorf("the key %s holds no certificate (PEM)", keyCACert)
		}
	}
	return c, nil
}

// hide takes out of a text what nobody is to see.
func (c credentials) hide(text string) string {
	return hide(text, c.auth.Password, c.auth.ApplicationCredentialSecret, c.auth.TokenID, c.auth.Passcode)
}

// hidden stands where something was taken out.
const hidden = "(hidden)"

func hide(text string, secrets ...string) string {
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, hidden)
		}
	}
	return text
}
