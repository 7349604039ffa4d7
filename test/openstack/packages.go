package openstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// What is run of Debian's packages, and the packages.
const (
	installDB   = "/usr/bin/mariadb-install-db"
	mariadbd    = "/usr/sbin/mariadbd"
	keystone    = "/usr/bin/keystone-manage"
	keystoneApp = "/usr/bin/keystone-wsgi-public"
	uwsgi       = "/usr/bin/uwsgi_python3"
	neutronDB   = "/usr/bin/neutron-db-manage"
	neutron     = "/usr/bin/neutron-server"
)

var packages = []string{"mariadb-server", "keystone", "neutron-server"}

// install installs what is missing of the packages. It stays when the servers go.
func (s *servers) install(ctx context.Context) error {
	if len(missing()) == 0 {
		return nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("%s are missing and there is no apt-get: the servers come from Debian's packages %s",
			strings.Join(missing(), ", "), strings.Join(packages, ", "))
	}
	s.say("installing %s", strings.Join(packages, ", "))
	for _, args := range [][]string{
		{"update"},
		append([]string{"install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"}, packages...),
	} {
		command := exec.CommandContext(ctx, "apt-get", args...)
		command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w: %s", args[0], err, out)
		}
	}
	if rest := missing(); len(rest) > 0 {
		return errors.New("the packages brought no " + strings.Join(rest, ", "))
	}
	return nil
}

func missing() []string {
	var all []string
	for _, program := range []string{installDB, mariadbd, keystone, keystoneApp, uwsgi, neutronDB, neutron} {
		if _, err := os.Stat(program); err != nil {
			all = append(all, program)
		}
	}
	return all
}
