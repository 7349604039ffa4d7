package openstack

import "os"

// Tests is the environment variable without which no test uses the servers: who sets it to
// "required" has started them, and runs one package of tests at a time.
const Tests = "NEUTRON"

// Need gives what Clouds does, and fails the test t where there are no servers. Where
// nobody asked for such tests it skips t, with the reason; see Tests.
func Need(t interface {
	Helper()
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}) string {
	t.Helper()
	if os.Getenv(Tests) != "required" {
		t.Skipf("No test against OpenStack, since %s is not \"required\"; see `make test-neutron`", Tests)
	}
	path, err := Clouds()
	if err != nil {
		t.Fatalf("No OpenStack to test against: %v", err)
	}
	return path
}
