package openstack

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	gopher "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/config"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
)

// Client is a person with Neutron, by a cloud of a clouds.yaml. It gives up on a call
// that takes longer than any should, so that a test fails that could hang.
func Client(ctx context.Context, file []byte, cloud string) (*gophercloud.ServiceClient, error) {
	auth, endpoint, _, err := clouds.Parse(clouds.WithCloudName(cloud), clouds.WithCloudsYAML(bytes.NewReader(file)))
	if err != nil {
		return nil, err
	}
	auth.AllowReauth = true
	provider, err := config.NewProviderClient(ctx, auth, config.WithHTTPClient(http.Client{Timeout: time.Minute}))
	if err != nil {
		return nil, err
	}
	return gopher.NewNetworkV2(provider, endpoint)
}
