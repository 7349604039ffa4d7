// Package openstack runs the real OpenStack servers that tests need: Neutron, Keystone
// and a MariaDB for both, from Debian's packages, on loopback. One set of them fits on
// a machine. All they write is in one folder, and Down leaves nothing behind.
package openstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Where the servers listen: unusual ports, below those that systems give to clients.
const (
	host         = "127.0.0.1"
	databasePort = "13306"
	keystonePort = "15000"
	neutronPort  = "19696"

	keystoneURL = "http://" + host + ":" + keystonePort + "/v3"
	neutronURL  = "http://" + host + ":" + neutronPort
)

// The clouds in the file that Clouds names, each by password but ApplicationCredential.
const (
	// Member is an ordinary member of a project without quotas of networks, subnets
	// and ports.
	Member = "openstack"
	// ApplicationCredential is the same user, by an application credential.
	ApplicationCredential = "appcred"
	// Other is an ordinary member of another project, with Neutron's own quotas.
	Other = "other"
	// Admin is the administrator, in a project of its own.
	Admin = "admin"
)

// Clouds gives the path of the clouds.yaml with which the servers are reached. When
// they are not up, the error says so and what would help: the reason of a test that is
// skipped. It costs two connections on loopback.
func Clouds() (string, error) {
	root, err := checkout()
	if err != nil {
		return "", err
	}
	path := cloudsFile(root)
	if _, err := os.Stat(path); err != nil {
		return "", errors.New("the OpenStack servers are not up; start them with `make neutron-up`")
	}
	for _, port := range []string{keystonePort, neutronPort} {
		connection, err := net.DialTimeout("tcp", net.JoinHostPort(host, port), 5*time.Second)
		if err != nil {
			return "", fmt.Errorf("the OpenStack servers do not answer; start them with `make neutron-up`: %w", err)
		}
		_ = connection.Close()
	}
	return path, nil
}

// Up starts the servers, or finds that they are up, and tells progress to log. What a
// killed predecessor left is removed first, with all it held.
func Up(ctx context.Context, log io.Writer) error {
	return locked(log, func(s *servers) error { return s.up(ctx) })
}

// Down ends the servers, also another checkout's and those of which only parts are
// left, and removes all of them but the packages.
func Down(ctx context.Context, log io.Writer) error {
	return locked(log, func(s *servers) error { return s.down(ctx) })
}

// StopNeutron kills Neutron alone. Its port refuses connections when it returns.
func StopNeutron(ctx context.Context) error {
	return locked(io.Discard, func(s *servers) error { return s.stop(ctx, "neutron") })
}

// StartNeutron starts Neutron, if it does not run, and returns when it answers.
func StartNeutron(ctx context.Context) error {
	return locked(io.Discard, func(s *servers) error {
		if s.owner() == "" {
			return errors.New("there are no OpenStack servers; start them with `make neutron-up`")
		}
		return s.startNeutron(ctx)
	})
}

// servers is where everything of them is.
type servers struct {
	root  string // of the repository
	dir   string // all state; one for the machine, since the ports are
	log   io.Writer
	begun time.Time
}

// locked lets one process at a time change the servers.
func locked(log io.Writer, change func(*servers) error) error {
	if os.Geteuid() != 0 {
		return errors.New("the OpenStack servers run as users of their own, which needs root; run me as root")
	}
	root, err := checkout()
	if err != nil {
		return err
	}
	s := &servers{root: root, dir: "/var/lib/samplecrd-openstack", log: log, begun: time.Now()}
	unlock, err := lock(s.dir)
	if err != nil {
		return err
	}
	defer unlock()
	return change(s)
}

// lock takes the lock file in dir, which it makes. The system releases it when the
// process ends, however it ends. A file that its holder removed is no lock any more.
func lock(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, "lock")
	for {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return nil, err
		}
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
			return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
		}
		mine, err := file.Stat()
		current, gone := os.Stat(path)
		if err == nil && gone == nil && os.SameFile(mine, current) {
			return func() { _ = file.Close() }, nil
		}
		_ = file.Close()
	}
}

// checkout is the root of the repository that the working folder is in.
func checkout() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := folder; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "test", "openstack", "openstack.go")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is in no checkout of this repository", folder)
		}
	}
}

// cloudsFile is where a checkout has the credentials, for people and tests.
func cloudsFile(root string) string {
	return filepath.Join(root, ".run", "openstack", "clouds.yaml")
}

// owner is the checkout whose servers these are, running or not; "" for nobody's.
func (s *servers) owner() string {
	root, err := os.ReadFile(s.path("root"))
	if err != nil {
		return ""
	}
	return string(root)
}

// path is a path in the state.
func (s *servers) path(elements ...string) string {
	return filepath.Join(append([]string{s.dir}, elements...)...)
}

// say tells what is being done, and when.
func (s *servers) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.log, "neutron: %4.0fs %s\n", time.Since(s.begun).Seconds(), fmt.Sprintf(format, args...))
}
