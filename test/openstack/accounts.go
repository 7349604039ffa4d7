package openstack

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2"
	gopher "github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/endpoints"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/projects"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/roles"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/services"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/users"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
)

const (
	region = "RegionOne"
	domain = "Default"

	adminName   = "admin" // user and project
	memberName  = "samplecrd"
	otherName   = "other"
	serviceName = "neutron"
)

// member is the user that tests are, with the id and secret of its application
// credential.
type member struct{ id, project, credential, secret string }

// login authenticates a user of one of the projects named like it.
func login(ctx context.Context, user, project, password string) (*gophercloud.ProviderClient, error) {
	provider, err := gopher.AuthenticatedClient(ctx, gophercloud.AuthOptions{
		IdentityEndpoint: keystoneURL, Username: user, Password: password, TenantName: project, DomainName: domain,
	})
	if err != nil {
		return nil, fmt.Errorf("authenticating %s: %w", user, err)
	}
	return provider, nil
}

// fillKeystone gives the bootstrapped Keystone its catalog, projects and users, and
// makes the member's application credential.
func fillKeystone(ctx context.Context, secrets passwords) (member, error) {
	none := member{}
	provider, err := login(ctx, adminName, adminName, secrets.Admin)
	if err != nil {
		return none, err
	}
	client, err := gopher.NewIdentityV3(provider, gophercloud.EndpointOpts{Region: region})
	if err != nil {
		return none, err
	}
	if err := catalog(ctx, client); err != nil {
		return none, err
	}
	if _, err := addUser(ctx, client, serviceName, "service", secrets.Neutron, "admin"); err != nil {
		return none, err
	}
	if _, err := addUser(ctx, client, otherName, otherName, secrets.Other, "member"); err != nil {
		return none, err
	}
	user, err := addUser(ctx, client, memberName, memberName, secrets.Member, "member")
	if err != nil {
		return none, err
	}
	if provider, err = login(ctx, memberName, memberName, secrets.Member); err != nil {
		return none, err
	}
	if client, err = gopher.NewIdentityV3(provider, gophercloud.EndpointOpts{Region: region}); err != nil {
		return none, err
	}
	made, err := applicationcredentials.Create(ctx, client, user.id, applicationcredentials.CreateOpts{Name: memberName}).Extract()
	if err != nil {
		return none, fmt.Errorf("making the application credential: %w", err)
	}
	user.credential, user.secret = made.ID, made.Secret
	return user, nil
}

// catalog enters Neutron; Keystone has entered itself.
func catalog(ctx context.Context, client *gophercloud.ServiceClient) error {
	service, err := services.Create(ctx, client, services.CreateOpts{Type: "network", Extra: map[string]any{"name": serviceName}}).Extract()
	if err != nil {
		return fmt.Errorf("making the network service: %w", err)
	}
	for _, kind := range []gophercloud.Availability{
		gophercloud.AvailabilityPublic, gophercloud.AvailabilityInternal, gophercloud.AvailabilityAdmin,
	} {
		if _, err := endpoints.Create(ctx, client, endpoints.CreateOpts{
			Availability: kind, Name: serviceName, Region: region, ServiceID: service.ID, URL: neutronURL,
		}).Extract(); err != nil {
			return fmt.Errorf("making the network endpoint: %w", err)
		}
	}
	return nil
}

// addUser makes a user with one role in a new project, and gives their ids.
func addUser(ctx context.Context, client *gophercloud.ServiceClient, name, project, password, role string) (member, error) {
	fail := func(err error) (member, error) { return member{}, fmt.Errorf("making the user %s: %w", name, err) }
	home, err := projects.Create(ctx, client, projects.CreateOpts{Name: project, DomainID: "default"}).Extract()
	if err != nil {
		return fail(err)
	}
	user, err := users.Create(ctx, client, users.CreateOpts{Name: name, DomainID: "default", Password: password}).Extract()
	if err != nil {
		return fail(err)
	}
	pages, err := roles.List(client, roles.ListOpts{Name: role}).AllPages(ctx)
	if err != nil {
		return fail(err)
	}
	found, err := roles.ExtractRoles(pages)
	if err != nil || len(found) != 1 {
		return fail(fmt.Errorf("%d roles %s: %w", len(found), role, err))
	}
	if err := roles.Assign(ctx, client, found[0].ID, roles.AssignOpts{UserID: user.ID, ProjectID: home.ID}).ExtractErr(); err != nil {
		return fail(err)
	}
	return member{id: user.ID, project: home.ID}, nil
}

// liftQuotas lets the member make as many networks, subnets and ports as wanted.
func liftQuotas(ctx context.Context, secrets passwords, project string) error {
	provider, err := login(ctx, adminName, adminName, secrets.Admin)
	if err != nil {
		return err
	}
	client, err := gopher.NewNetworkV2(provider, gophercloud.EndpointOpts{Region: region})
	if err != nil {
		return err
	}
	if _, err := quotas.Update(ctx, client, project, quotas.UpdateOpts{Network: new(-1), Subnet: new(-1), Port: new(-1)}).Extract(); err != nil {
		return fmt.Errorf("lifting the quotas: %w", err)
	}
	return nil
}
