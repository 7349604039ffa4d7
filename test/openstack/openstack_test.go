package openstack

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"
)

func TestRender(t *testing.T) {
	s := &servers{dir: "/folder"}
	secrets := newPasswords()
	for name, want := range map[string][]string{
		"init.sql":      {"keystone@'127.0.0.1' IDENTIFIED BY '" + secrets.KeystoneDB + "'", "neutron@'127.0.0.1' IDENTIFIED BY '" + secrets.NeutronDB + "'"},
		"keystone.conf": {"keystone:" + secrets.KeystoneDB + "@127.0.0.1:13306/keystone\n", "= /folder/keystone/fernet-keys\n", "[fernet_receipts]\nkey_repository = /folder/"},
		"neutron.conf": {
			"neutron:" + secrets.NeutronDB + "@127.0.0.1:13306/neutron\n", "\npassword = " + secrets.Neutron + "\n",
			"auth_url = http://127.0.0.1:15000/v3\n", "bind_host = 127.0.0.1\nbind_port = 19696\n", "setproctitle = off\n",
		},
		"ml2.ini": {"network_vlan_ranges = physnet1:100:199\n"},
	} {
		t.Run(name+" holds what its server needs", func(t *testing.T) {
			text, err := s.render(name, secrets)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range want {
				if !strings.Contains(string(text), line) {
					t.Errorf("no %q in\n%s", line, text)
				}
			}
		})
	}
}

func TestCloudsYAML(t *testing.T) {
	secrets := newPasswords()
	text, err := cloudsYAML(secrets, member{credential: "id", secret: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "clouds.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for cloud, want := range map[string]struct{ user, password, project, credential string }{
		Member:                {user: "samplecrd", password: secrets.Member, project: "samplecrd"},
		Other:                 {user: "other", password: secrets.Other, project: "other"},
		Admin:                 {user: "admin", password: secrets.Admin, project: "admin"},
		ApplicationCredential: {credential: "id"},
	} {
		t.Run("gophercloud reads the cloud "+cloud, func(t *testing.T) {
			auth, endpoint, _, err := clouds.Parse(clouds.WithLocations(path), clouds.WithCloudName(cloud))
			if err != nil {
				t.Fatal(err)
			}
			if auth.IdentityEndpoint != keystoneURL || endpoint.Region != "RegionOne" {
				t.Errorf("Keystone at %q in the region %q", auth.IdentityEndpoint, endpoint.Region)
			}
			if auth.Username != want.user || auth.Password != want.password || auth.ApplicationCredentialID != want.credential {
				t.Errorf("user %q, password %q, application credential %q", auth.Username, auth.Password, auth.ApplicationCredentialID)
			}
			if want.project != "" && (auth.Scope == nil || auth.Scope.ProjectName != want.project) && auth.TenantName != want.project {
				t.Errorf("project %q, scope %v", auth.TenantName, auth.Scope)
			}
		})
	}
}

func TestLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "servers")
	unlock, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan func(), 1)
	go func() {
		second, err := lock(dir)
		if err != nil {
			t.Error(err)
		}
		taken <- second
	}()
	select {
	case <-taken:
		t.Fatal("two hold the lock")
	case <-time.After(100 * time.Millisecond):
	}
	// As down does: who waited for the removed file must make a new one.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	unlock()
	defer (<-taken)()
	if _, err := os.Stat(filepath.Join(dir, "lock")); err != nil {
		t.Error("the second holds a file that is no more:", err)
	}
}

// verdict is a test that Need ends.
type verdict struct{ said string }

func (*verdict) Helper() {}

func (v *verdict) Fatalf(format string, args ...any) {
	v.said = "fails: " + fmt.Sprintf(format, args...)
	panic(v)
}

func (v *verdict) Skipf(format string, args ...any) {
	v.said = "is skipped: " + fmt.Sprintf(format, args...)
	panic(v)
}

func TestNeed(t *testing.T) {
	elsewhere := t.TempDir() // Where there is no checkout, and so no servers.
	for wish, want := range map[string]string{
		"":         `is skipped: No test against OpenStack, since NEUTRON is not "required"; see ` + "`make test-neutron`",
		"off":      "is skipped: No test against OpenStack",
		"required": "fails: No OpenStack to test against: " + elsewhere,
	} {
		t.Run(fmt.Sprintf("asked for by %q", wish), func(t *testing.T) {
			t.Chdir(elsewhere)
			t.Setenv(Tests, wish)
			v := &verdict{}
			func() {
				defer func() { _ = recover() }()
				t.Errorf("it goes on with %q", Need(v))
			}()
			if !strings.HasPrefix(v.said, want) {
				t.Errorf("the test %s", v.said)
			}
		})
	}
}

func TestProcesses(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip("skipped: processes are found by /proc, which this system has not")
	}
	s := &servers{dir: t.TempDir()}
	started := child(t, s, "neutron")
	stranger := &servers{dir: t.TempDir()}
	child(t, stranger, "neutron")
	if found := s.running("neutron"); len(found) != 1 || found[0] != started {
		t.Errorf("found %v, not %d alone", found, started)
	}
	if found := s.running("keystone"); len(found) != 0 {
		t.Errorf("found %v of a server that does not run", found)
	}
	if err := s.stop(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if found := s.running(""); len(found) != 0 {
		t.Errorf("%v run on", found)
	}
	if found := stranger.running("neutron"); len(found) != 1 {
		t.Error("a process of others was killed")
	}
}

// TestAppears looks at a process in the moment it is started, when /proc does not show
// its environment yet, and at one that ends in that moment.
func TestAppears(t *testing.T) {
	for range 50 {
		s := &servers{dir: t.TempDir()}
		id := child(t, s, "keystone")
		if found := s.running("keystone"); len(found) != 1 || found[0] != id {
			t.Fatalf("found %v, not %d, which runs", found, id)
		}
	}
	ended := make(chan error, 1)
	ended <- nil
	if err := (&servers{dir: t.TempDir()}).appears("keystone", ended); err == nil {
		t.Error("a process that ended appears")
	}
}

// child starts a process that is marked as one of a server.
func child(t *testing.T, s *servers, server string) int {
	t.Helper()
	command := exec.Command("sleep", "600")
	command.Env = []string{marker + "=" + s.path(server)}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = command.Process.Kill()
		for range ended { // Until it is closed.
		}
	})
	if err := s.appears(server, ended); err != nil {
		t.Fatal(err)
	}
	return command.Process.Pid
}
