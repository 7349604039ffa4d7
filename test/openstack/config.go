package openstack

import (
	"bytes"
	"crypto/rand"
	"embed"
	"os"
	"path/filepath"
	"text/template"

	"sigs.k8s.io/yaml"
)

//go:embed templates
var templates embed.FS

// passwords are made anew with the servers.
type passwords struct {
	KeystoneDB, NeutronDB string // of MariaDB's users
	Admin, Neutron        string // of Keystone's administrator and of Neutron itself
	Member, Other         string
}

func newPasswords() passwords {
	return passwords{
		KeystoneDB: rand.Text(), NeutronDB: rand.Text(), Admin: rand.Text(), Neutron: rand.Text(), Member: rand.Text(), Other: rand.Text(),
	}
}

// settings is what the templates are filled with.
type settings struct {
	passwords
	Dir                                          string
	Host, DatabasePort, KeystoneURL, NeutronPort string
}

// files are the configuration files of each server.
var files = map[string][]string{
	"mariadb":  {"init.sql"},
	"keystone": {"keystone.conf"},
	"neutron":  {"neutron.conf", "ml2.ini"},
}

// configure makes each server's folder, readable by it alone, with its configuration.
func (s *servers) configure(secrets passwords) error {
	for server, names := range files {
		account, err := account(server)
		if err != nil {
			return err
		}
		owned := []string{s.path(server)}
		if err := os.MkdirAll(s.path(server), 0o700); err != nil {
			return err
		}
		for _, name := range names {
			text, err := s.render(name, secrets)
			if err != nil {
				return err
			}
			owned = append(owned, s.path(server, name))
			if err := os.WriteFile(s.path(server, name), text, 0o600); err != nil {
				return err
			}
		}
		for _, path := range owned {
			if err := os.Chown(path, int(account.Uid), int(account.Gid)); err != nil {
				return err
			}
		}
	}
	return os.MkdirAll(s.path("log"), 0o700)
}

func (s *servers) render(name string, secrets passwords) ([]byte, error) {
	parsed, err := template.New(name).Option("missingkey=error").ParseFS(templates, "templates/"+name)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = parsed.Execute(&text, settings{
		passwords: secrets, Dir: s.dir,
		Host: host, DatabasePort: databasePort, KeystoneURL: keystoneURL, NeutronPort: neutronPort,
	})
	return text.Bytes(), err
}

// cloudsYAML renders the credentials of all clouds.
func cloudsYAML(secrets passwords, user member) ([]byte, error) {
	cloud := func(kind string, auth map[string]string) map[string]any {
		auth["auth_url"] = keystoneURL
		return map[string]any{"auth_type": kind, "region_name": region, "identity_api_version": "3", "auth": auth}
	}
	password := func(name, password string) map[string]any {
		return cloud("password", map[string]string{
			"username": name, "password": password, "project_name": name,
			"user_domain_name": domain, "project_domain_name": domain,
		})
	}
	return yaml.Marshal(map[string]any{"clouds": map[string]any{
		Member: password(memberName, secrets.Member),
		Other:  password(otherName, secrets.Other),
		Admin:  password(adminName, secrets.Admin),
		ApplicationCredential: cloud("v3applicationcredential", map[string]string{
			"application_credential_id": user.credential, "application_credential_secret": user.secret,
		}),
	}})
}

// giveClouds puts a copy of the credentials where people look for them.
func (s *servers) giveClouds() error {
	text, err := os.ReadFile(s.path("clouds.yaml"))
	if err != nil {
		return err
	}
	path := cloudsFile(s.root)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
