package openstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/pagination"
)

// up makes the servers, or finds that they are there.
func (s *servers) up(ctx context.Context) error {
	if owner := s.owner(); owner != "" && owner != s.root && len(s.running("")) > 0 {
		return fmt.Errorf("the OpenStack servers of %s run; one set is all that fits on a machine. End it first: make neutron-down", owner)
	}
	if err := s.install(ctx); err != nil {
		return err
	}
	if err := s.healthy(ctx); err != nil {
		// What a killed predecessor left would be in the way.
		if err := s.clear(ctx); err != nil {
			return fmt.Errorf("clearing what was left: %w", err)
		}
		if err := s.create(ctx); err != nil {
			return err
		}
	}
	if err := s.giveClouds(); err != nil {
		return err
	}
	s.say("up; the credentials are in %s", cloudsFile(s.root))
	return nil
}

// healthy says whether the servers are this checkout's and serve its member.
func (s *servers) healthy(ctx context.Context) error {
	if s.owner() != s.root {
		return errors.New("another checkout's")
	}
	text, err := os.ReadFile(s.path("clouds.yaml"))
	if err != nil {
		return err
	}
	client, err := Client(ctx, text, Member)
	if err != nil {
		return err
	}
	return networks.List(client, networks.ListOpts{Limit: 1}).EachPage(ctx, func(context.Context, pagination.Page) (bool, error) { return false, nil })
}

func (s *servers) create(ctx context.Context) error {
	if err := free(databasePort, keystonePort, neutronPort); err != nil {
		return err
	}
	secrets := newPasswords()
	if err := errors.Join(os.WriteFile(s.path("root"), []byte(s.root), 0o600), s.configure(secrets)); err != nil {
		return err
	}
	if err := s.createDatabase(ctx); err != nil {
		return err
	}
	if err := s.createKeystone(ctx, secrets); err != nil {
		return err
	}
	s.say("filling Keystone")
	user, err := fillKeystone(ctx, secrets)
	if err != nil {
		return err
	}
	s.say("making Neutron's tables")
	if err := s.run(ctx, "neutron", neutronDB, append(s.neutronConfig(), "upgrade", "heads")...); err != nil {
		return err
	}
	if err := s.startNeutron(ctx); err != nil {
		return err
	}
	if err := liftQuotas(ctx, secrets, user.project); err != nil {
		return err
	}
	text, err := cloudsYAML(secrets, user)
	if err != nil {
		return err
	}
	return os.WriteFile(s.path("clouds.yaml"), text, 0o600)
}

// free says whether nobody else has the ports.
func free(ports ...string) error {
	for _, port := range ports {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, port))
		if err != nil {
			return fmt.Errorf("port %s, which is for the OpenStack servers, is another program's: %w", port, err)
		}
		_ = listener.Close()
	}
	return nil
}

func (s *servers) createDatabase(ctx context.Context) error {
	s.say("starting MariaDB")
	data := "--datadir=" + s.path("mariadb", "data")
	if err := s.run(ctx, "mariadb", installDB, "--no-defaults", data, "--skip-test-db", "--auth-root-authentication-method=socket"); err != nil {
		return err
	}
	// What is lost when the machine stops was only for tests: nothing waits for a disk.
	if err := s.start(ctx, "mariadb", mariadbd, "--no-defaults", data, "--init-file="+s.path("mariadb", "init.sql"),
		"--bind-address="+host, "--port="+databasePort, "--socket="+s.path("mariadb", "socket"), "--pid-file="+s.path("mariadb", "pid"),
		"--skip-name-resolve", "--max-connections=300", "--skip-log-bin", "--sync-binlog=0", "--performance-schema=off",
		"--innodb-flush-log-at-trx-commit=2", "--innodb-doublewrite=0", "--innodb-flush-method=nosync", "--innodb-buffer-pool-size=128M"); err != nil {
		return err
	}
	return s.await(ctx, "mariadb", func(ctx context.Context) error {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, databasePort))
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

func (s *servers) createKeystone(ctx context.Context, secrets passwords) error {
	s.say("making Keystone's tables")
	configured := "--config-file=" + s.path("keystone", "keystone.conf")
	for _, args := range [][]string{
		{"db_sync"},
		{"fernet_setup"},
		{"credential_setup"},
		{"bootstrap", "--bootstrap-password", secrets.Admin, "--bootstrap-region-id", region,
			"--bootstrap-public-url", keystoneURL, "--bootstrap-internal-url", keystoneURL, "--bootstrap-admin-url", keystoneURL},
	} {
		if err := s.run(ctx, "keystone", keystone, append([]string{configured}, args...)...); err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
	}
	s.say("starting Keystone")
	// It closes each connection; a client must know, or its next request may be lost.
	if err := s.start(ctx, "keystone", uwsgi, "--http-socket="+net.JoinHostPort(host, keystonePort), "--wsgi-file="+keystoneApp,
		"--processes=1", "--enable-threads", "--need-app", "--buffer-size=65535", "--listen=100", "--disable-logging",
		"--add-header=Connection: close", "--pyargv="+configured); err != nil {
		return err
	}
	return s.await(ctx, "keystone", answers(keystoneURL))
}

// startNeutron starts Neutron, if it does not run, and waits until it answers.
func (s *servers) startNeutron(ctx context.Context) error {
	if len(s.running("neutron")) == 0 {
		s.say("starting Neutron")
		if err := s.start(ctx, "neutron", neutron, s.neutronConfig()...); err != nil {
			return err
		}
	}
	return s.await(ctx, "neutron", answers(neutronURL))
}

func (s *servers) neutronConfig() []string {
	return []string{"--config-file=" + s.path("neutron", "neutron.conf"), "--config-file=" + s.path("neutron", "ml2.ini")}
}

// answers asks for a URL that needs no authentication.
func answers(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	}
}

// down ends the servers and removes everything of them. Where there are none it does
// nothing.
func (s *servers) down(ctx context.Context) error {
	owner := s.owner()
	if err := s.clear(ctx); err != nil {
		return err
	}
	if owner != "" {
		if err := os.RemoveAll(filepath.Dir(cloudsFile(owner))); err != nil {
			return err
		}
		s.say("down")
	}
	return os.RemoveAll(s.dir)
}

// clear ends the servers and empties their folder, but for the lock.
func (s *servers) clear(ctx context.Context) error {
	if err := s.stop(ctx, ""); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.dir)
	for _, entry := range entries {
		if entry.Name() != "lock" {
			err = errors.Join(err, os.RemoveAll(s.path(entry.Name())))
		}
	}
	return err
}
