package neutron

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/url"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
	"gopkg.in/yaml.v2"
	corev1 "k8s.io/api/core/v1"
)

// The keys of a credentials Secret.
const (
	keyClouds = "clouds.yaml"
	keyCACert = "cacert"
)

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
	// By the decoder that gophercloud reads it with: another one may see another file.
	var file clouds.Clouds
	if err := yaml.Unmarshal(text, &file); err != nil {
		return credentials{}, fmt.Errorf("the key %s is no YAML with clouds: and a map of clouds in it", keyClouds)
	}
	cloud, there := file.Clouds[a.cloud]
	switch {
	case !there:
		return credentials{}, fmt.Errorf("%s has no cloud %q", keyClouds, a.cloud)
	case cloud.AuthInfo == nil || cloud.AuthInfo.AuthURL == "":
		return credentials{}, fmt.Errorf("cloud %q has no auth.auth_url", a.cloud)
	case cloud.Profile != "" || cloud.Cloud != "":
		return credentials{}, fmt.Errorf("cloud %q has a vendor profile; write out what it stands for", a.cloud)
	case cloud.CACertFile != "" || cloud.ClientCertFile != "" || cloud.ClientKeyFile != "":
		return credentials{}, fmt.Errorf("cloud %q names files; put the certificates of who signed the cloud's (PEM) under the key %s instead", a.cloud, keyCACert)
	}
	var c credentials
	var err error
	// Nothing is to be added by the environment and the files of the manager.
	c.auth, c.endpoint, c.tls, err = clouds.Parse(clouds.WithCloudName(a.cloud), clouds.WithCloudsYAML(bytes.NewReader(text)),
		clouds.WithRegion(cloud.RegionName), clouds.WithEndpointType(cmp.Or(cloud.EndpointType, cloud.Interface)))
	if err != nil {
		return credentials{}, fmt.Errorf("cloud %q: %s", a.cloud, clean(err.Error()))
	}
	if at, err := url.Parse(c.auth.IdentityEndpoint); err != nil || (at.Scheme != "http" && at.Scheme != "https") || at.Host == "" {
		return credentials{}, fmt.Errorf("cloud %q: auth.auth_url is no URL of http or https", a.cloud)
	}
	// A token gets no other.
	c.auth.AllowReauth = c.auth.TokenID == ""
	c.tls = &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.tls.InsecureSkipVerify} //nolint:gosec // Who writes verify: false means it.
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
	return hide(text, c.auth.Password, c.auth.ApplicationCredentialSecret, c.auth.TokenID)
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
