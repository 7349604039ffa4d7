package openstack

import "os"

// Tests is the environment variable that says whether tests use the servers: "off" skips
// those that do, "required" has them fail where there are none. Otherwise they run where
// there are servers, and are skipped elsewhere.
const Tests = "NEUTRON"

// Need gives what Clouds does. Without servers, or where they are not to be used, it
// skips the test t with the reason, or fails it; see Tests.
func Need(t interface {
	Helper()
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
}) string {
	t.Helper()
	wish := os.Getenv(Tests)
	if wish == "off" {
		t.Skipf("No test against OpenStack, since %s is off; see `make test-neutron`", Tests)
	}
	path, err := Clouds()
	if err != nil && wish == "required" {
		t.Fatalf("No OpenStack to test against: %v", err)
	}
	if err != nil {
		t.Skipf("No OpenStack to test against: %v", err)
	}
	return path
}
