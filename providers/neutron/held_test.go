package neutron

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	samplecrdv1 "github.com/samplecrd/samplecrd/apis/samplecrd/v1"
	"github.com/samplecrd/samplecrd/providers"
)

// asking gives a session whose requests are answered by answer.
func asking(t testing.TB, answer http.HandlerFunc) *session {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return &session{ServiceClient: &gophercloud.ServiceClient{
		ProviderClient: &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: limited{http.DefaultTransport}}},
		Endpoint:       server.URL + "/", ResourceBase: server.URL + "/v2.0/",
	}}
}

func TestParseWire(t *testing.T) {
	good := `{"id": "s", "cidr": "10.0.0.0/24", "gateway_ip": "10.0.0.1", "allocation_pools": [{"start": "10.0.0.2", "end": "10.0.0.9"}],
		"dns_nameservers": ["192.0.2.53"], "host_routes": [{"destination": "172.16.0.0/12", "nexthop": "10.0.0.9"}], "enable_dhcp": true, "revision_number": 3}`
	for name, tc := range map[string]struct {
		from, to string
		bad      bool
	}{
		"all of it":                      {},
		"no gateway":                     {from: `"10.0.0.1"`, to: `null`},
		"an empty gateway":               {from: `"10.0.0.1"`, to: `""`},
		"no id":                          {from: `"id": "s"`, to: `"id": ""`, bad: true},
		"no CIDR":                        {from: `"10.0.0.0/24"`, to: `""`, bad: true},
		"a CIDR that is none":            {from: `"10.0.0.0/24"`, to: `"10.0.0.0/33"`, bad: true},
		"a gateway that is none":         {from: `"10.0.0.1"`, to: `"10.0.0.256"`, bad: true},
		"a pool from back to front":      {from: `"10.0.0.2"`, to: `"10.0.0.99"`, bad: true},
		"a pool of two families":         {from: `"10.0.0.2"`, to: `"::1"`, bad: true},
		"a DNS server that is none":      {from: `"192.0.2.53"`, to: `"dns"`, bad: true},
		"a destination that is none":     {from: `"172.16.0.0/12"`, to: `"everything"`, bad: true},
		"a next hop that is none":        {from: `"nexthop": "10.0.0.9"`, to: `"nexthop": ""`, bad: true},
		"pools, servers and routes null": {from: `[{"start": "10.0.0.2", "end": "10.0.0.9"}]`, to: `null`},
	} {
		t.Run(name, func(t *testing.T) {
			var w wire
			if err := json.Unmarshal([]byte(strings.Replace(good, tc.from, tc.to, 1)), &w); err != nil {
				t.Fatal(err)
			}
			_, err := w.parse()
			if (err != nil) != tc.bad || err != nil && !isBroken(err) {
				t.Errorf("it gives %v", err)
			}
		})
	}
}

func TestListFollowsTheLinksByWhatTheyAsk(t *testing.T) {
	var asked []string
	s := asking(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Host+r.URL.Path+"?"+r.URL.Query().Get("marker"))
		switch r.URL.Query().Get("marker") {
		case "":
			_, _ = io.WriteString(w, `{"networks": [{"id": "a"}], "networks_links": [{"rel": "previous", "href": "x"}, {"rel": "next", "href": "http://elsewhere.example.org/steal?marker=a"}]}`)
		case "a":
			_, _ = io.WriteString(w, `{"networks": [{"id": "b"}, {"id": "c"}], "networks_links": [{"rel": "next", "href": "?marker=c"}]}`)
		default:
			_, _ = io.WriteString(w, `{"networks": []}`)
		}
	})
	all, err := s.networksBy(t.Context(), "project_id", "p")
	if err != nil || len(all) != 3 {
		t.Fatalf("it gives %v and %v", all, err)
	}
	host := strings.TrimSuffix(strings.TrimPrefix(s.Endpoint, "http://"), "/")
	if want := []string{host + "/v2.0/networks?", host + "/v2.0/networks?a", host + "/v2.0/networks?c"}; !reflect.DeepEqual(asked, want) {
		t.Errorf("it has asked %v, want %v", asked, want)
	}
}

// TestListOfWhatIsNone: a list that was not understood is not an empty one, or all would
// be made a second time.
func TestListOfWhatIsNone(t *testing.T) {
	for name, body := range map[string]string{
		"nothing": "", "a page": "<html>", "another kind": `{"subnets": []}`, "null": `{"networks": null}`, "no list": `{"networks": {}}`,
		"a list": `[]`, "an error with code 200": `{"NeutronError": {"type": "X", "message": "y"}}`, "half of one": `{"networks": [{"id": "a"}`,
		"numbers": `{"networks": [1, 2]}`, "a number too big": `{"networks": [{"id": "a", "mtu": 1e99}]}`, "an id that is none": `{"networks": [{"id": 7}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := asking(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
			all, err := s.networksBy(t.Context(), "project_id", "p")
			if err == nil {
				t.Fatalf("it gives %v", all)
			}
			if failure := translate(err, strings.TrimSpace); failure.Reason != samplecrdv1.NetworkReasonBackendUnavailable || failure.Retry != providers.RetrySoon {
				t.Errorf("it is %+v", failure)
			}
		})
	}
}

// TestListThatChangesBetweenItsPages: the object after which the next page begins is gone,
// of which Neutron's networks and ports say 404, and its subnets begin anew.
func TestListThatChangesBetweenItsPages(t *testing.T) {
	for name, again := range map[string]func(http.ResponseWriter){
		"404": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, neutronBody("NetworkNotFound", "Network b could not be found."))
		},
		"from the beginning": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"networks": [{"id": "a"}, {"id": "c"}]}`)
		},
		"an empty page that leads on": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"networks": [], "networks_links": [{"rel": "next", "href": "?marker=z"}]}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := asking(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("marker") != "" {
					again(w)
					return
				}
				_, _ = io.WriteString(w, `{"networks": [{"id": "a"}, {"id": "b"}], "networks_links": [{"rel": "next", "href": "?marker=b"}]}`)
			})
			all, err := s.networksBy(t.Context(), "project_id", "p")
			if err == nil {
				t.Fatalf("it gives %v", all)
			}
			checkFails(t, translate(err, strings.TrimSpace), samplecrdv1.NetworkReasonBackendUnavailable, providers.RetrySoon, "its pages do not go together")
		})
	}
}

// TestAStrangersOddSubnet keeps nobody from looking at what is ours.
func TestAStrangersOddSubnet(t *testing.T) {
	p := New(Options{})
	p.cluster = "c"
	s := asking(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "networks") {
			_, _ = io.WriteString(w, `{"networks": [{"id": "n", "description": "`+mark("c", uidA)+`"}, {"id": "stranger"}]}`)
			return
		}
		_, _ = io.WriteString(w, `{"subnets": [{"id": "s", "network_id": "n", "cidr": "10.0.0.0/24"}, {"id": "odd", "network_id": "stranger", "cidr": "any"}]}`)
	})
	all, err := p.listed(t.Context(), s, "p")
	if err != nil || len(all) != 1 || len(all[uidA]) != 1 || len(all[uidA][0].subnets) != 1 {
		t.Errorf("it lists %+v: %v", all, err)
	}
}

// TestAnswerWithoutEnd: an answer is read so far and no further.
func TestAnswerWithoutEnd(t *testing.T) {
	s := asking(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"networks": [{"id": "a"}]`)
		spaces := bytes.Repeat([]byte{' '}, 1<<20)
		for range maxAnswer>>20 + 1 {
			_, _ = w.Write(spaces)
		}
		_, _ = io.WriteString(w, `}`)
	})
	_, err := s.networksBy(t.Context(), "project_id", "p")
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); !tooLarge {
		t.Errorf("an answer of more than %d bytes: %v", maxAnswer, err)
	}
}

func TestListThatNeverEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	calls := 0
	s := asking(t, func(w http.ResponseWriter, r *http.Request) {
		calls++
		other := map[string]string{"a": "b"}[r.URL.Query().Get("marker")]
		_, _ = io.WriteString(w, `{"networks": [{"id": "a"}], "networks_links": [{"rel": "next", "href": "?marker=`+cmp.Or(other, "a")+`"}]}`)
	})
	_, err := s.networksBy(ctx, "project_id", "p")
	if errors.Is(err, context.DeadlineExceeded) || calls > 10_000 {
		t.Errorf("after %d pages that lead to each other: %v", calls, err)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"networks": [{"id": "a", "mtu": 1500, "revision_number": 1}], "networks_links": [{"rel": "next", "href": "?marker=a"}]}`,
		`{"subnets": [{"id": "s", "cidr": "10.0.0.0/24", "gateway_ip": null, "allocation_pools": [{"start": "::1", "end": "::2"}]}]}`,
		`{"ports": [{"id": "p", "fixed_ips": [{"subnet_id": "s"}]}]}`, `{"networks": null}`, `[]`, `null`, "\xff", `{"networks_links": 7}`,
		`{"NeutronError": {"type": "OverQuota", "message": "x", "detail": ""}}`, `{"NeutronError": "x"}`, `{"error": {"message": "x"}}`, `{"error": "x"}`,
		`{"networks": [{"id": "a"}], "networks_links": [{"rel": "next", "href": "%zz"}, {"rel": "next", "href": "?a=%zz"}]}`,
	} {
		f.Add([]byte(seed))
	}
	var body []byte
	pages := 0
	s := asking(f, func(w http.ResponseWriter, _ *http.Request) {
		if pages++; pages > 3 {
			w.WriteHeader(http.StatusTeapot)
		}
		_, _ = w.Write(body)
	})
	f.Fuzz(func(t *testing.T, answer []byte) {
		body, pages = answer, 0
		_, _ = s.networksBy(t.Context(), "project_id", "p")
		pages = 0
		subnets, err := s.subnetsOn(t.Context(), "n")
		pages = 0
		_, _ = s.portsOf(t.Context(), "n")
		for _, s := range subnets {
			if err == nil && (!s.Prefix.IsValid() || s.id == "") {
				t.Errorf("it gives the subnet %+v", s)
			}
		}
		failure := translate(answered(http.StatusConflict, string(answer)), strings.TrimSpace)
		if failure == nil || len(failure.Message) > 512 || strings.ContainsAny(failure.Message, "\n\r\x00") {
			t.Errorf("it says %+v", failure)
		}
	})
}
