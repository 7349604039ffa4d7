package providers_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/samplecrd/samplecrd/providers"
)

// pods gives the names of that many, the last first.
func pods(count int) []string {
	var all []string
	for i := count - 1; i >= 0; i-- {
		all = append(all, fmt.Sprintf("pod-%02d", i))
	}
	return all
}

func drains(prefix string, users ...string) providers.Draining {
	return providers.Draining{Prefix: netip.MustParsePrefix(prefix), Users: providers.Users{Named: users}}
}

func TestUsers(t *testing.T) {
	ten := strings.Join([]string{"pod-00", "pod-01", "pod-02", "pod-03", "pod-04", "pod-05", "pod-06", "pod-07", "pod-08", "pod-09"}, ", ")
	for name, tc := range map[string]struct {
		users     providers.Users
		want      string
		wantShown int
		wantMore  bool
	}{
		"nobody":                     {providers.Users{}, "", 0, false},
		"one":                        {providers.Users{Named: pods(1)}, "pod-00", 1, false},
		"several, sorted":            {providers.Users{Named: pods(3)}, "pod-00, pod-01, pod-02", 3, false},
		"one that is there twice":    {providers.Users{Named: []string{"pod-01", "pod-00", "pod-01"}}, "pod-00, pod-01", 2, false},
		"ten":                        {providers.Users{Named: pods(10)}, ten, 10, false},
		"eleven, ten of them named":  {providers.Users{Named: pods(11)}, ten + " and others", 10, true},
		"ten and some without names": {providers.Users{Named: pods(10), Others: true}, ten + " and others", 10, true},
		"one and some without names": {providers.Users{Named: pods(1), Others: true}, "pod-00 and others", 1, true},
		"none but those without":     {providers.Users{Others: true}, "others, who may not be named here", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			given := slices.Clone(tc.users.Named)
			// The same users give the same sentence: a message never flaps.
			if got := tc.users.String(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if shown, more := tc.users.Shown(); len(shown) != tc.wantShown || more != tc.wantMore {
				t.Errorf("%q are shown, more is %t", shown, more)
			}
			if want := len(tc.want) > 0; tc.users.Any() != want {
				t.Errorf("somebody is there: %t, want %t", !want, want)
			}
			if !slices.Equal(given, tc.users.Named) {
				t.Error("the caller's list was changed")
			}
		})
	}
}

// A name goes into a status, which takes 253 characters.
func TestUsersWithLongNames(t *testing.T) {
	for name, user := range map[string]string{
		"of letters of one byte": strings.Repeat("x", 1000),
		"of longer ones":         "x" + strings.Repeat("世", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			users := providers.Users{Named: []string{user}}
			if shown, _ := users.Shown(); len(shown[0]) > 253 || !utf8.ValidString(shown[0]) || !strings.HasSuffix(shown[0], "…") {
				t.Errorf("%d bytes: %q", len(shown[0]), shown[0])
			}
			if users.Named[0] != user {
				t.Error("the caller's list was changed")
			}
		})
	}
}

func TestDrained(t *testing.T) {
	one, other := drains("10.1.0.0/24", "pod b", "pod a"), drains("10.0.0.0/24", "pod c")
	const want = "10.0.0.0/24 is still used by pod c; 10.1.0.0/24 is still used by pod a, pod b"
	for _, all := range [][]providers.Draining{{one, other}, {other, one}} {
		if got := providers.Drained(all); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestUsageIsBounded(t *testing.T) {
	var all []providers.Draining
	var long []string
	for _, pod := range pods(10) {
		long = append(long, pod+strings.Repeat("x", 240))
	}
	for i := range 15 {
		all = append(all, drains(fmt.Sprintf("10.%d.0.0/16", i), long...))
	}
	for name, text := range map[string]string{
		"Drained": providers.Drained(all), "InTheWay": providers.InTheWay(all...).Message, "InUse": providers.InUse(all[0].Users).Message,
	} {
		if len(text) > 1200 || !strings.HasSuffix(text, "…") {
			t.Errorf("%s: %d bytes: %s", name, len(text), text)
		}
	}
}
