// Package metrics reads what the API server and the controllers of this process
// count, for tests of how much work something is.
package metrics

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// Requests says how many requests the API server answered, each kind by its
// method or verb, resource and code: "PATCH networks/status 200".
type Requests map[string]int

var (
	requestLine = regexp.MustCompile(`^apiserver_request_total\{(.*)\} (\S+)$`)
	labelPair   = regexp.MustCompile(`(\w+)="([^"]*)"`)
)

// reading are the verbs that change nothing.
var reading = []string{"GET", "LIST", "WATCH", "CONNECT", "HEAD", "PROXY"}

// Writes counts the requests that change something, since the API server began.
// Leases, Events and dry runs are left out.
func Writes(ctx context.Context, config *rest.Config) (Requests, error) {
	return read(ctx, config, func(label map[string]string) bool {
		return !slices.Contains(reading, label["verb"]) &&
			label["resource"] != "leases" && label["resource"] != "events" && label["dry_run"] == ""
	})
}

// Events counts the writes of Events.
func Events(ctx context.Context, config *rest.Config) (Requests, error) {
	return read(ctx, config, func(label map[string]string) bool {
		return !slices.Contains(reading, label["verb"]) && label["resource"] == "events"
	})
}

// Reads counts the requests that read objects of these resources: "GET foos 200".
// A watch is counted when it ends.
func Reads(ctx context.Context, config *rest.Config, resources ...string) (Requests, error) {
	return read(ctx, config, func(label map[string]string) bool {
		return slices.Contains(reading, label["verb"]) && slices.Contains(resources, label["resource"])
	})
}

// Since gives what came after before was taken.
func (r Requests) Since(before Requests) Requests {
	since := maps.Clone(r)
	for key, count := range before {
		since[key] -= count
	}
	maps.DeleteFunc(since, func(_ string, count int) bool { return count == 0 })
	return since
}

// Total is the number of all of them.
func (r Requests) Total() int {
	total := 0
	for _, count := range r {
		total += count
	}
	return total
}

func read(ctx context.Context, config *rest.Config, wanted func(label map[string]string) bool) (Requests, error) {
	direct, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	text, err := direct.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	counts, seen := Requests{}, false
	for line := range strings.Lines(string(text)) {
		found := requestLine.FindStringSubmatch(strings.TrimSpace(line))
		if found == nil {
			continue
		}
		seen = true
		label := map[string]string{}
		for _, pair := range labelPair.FindAllStringSubmatch(found[1], -1) {
			label[pair[1]] = pair[2]
		}
		if !wanted(label) {
			continue
		}
		count, err := strconv.ParseFloat(found[2], 64)
		if err != nil {
			return nil, fmt.Errorf("reading the API server's metrics: %w", err)
		}
		resource := label["resource"]
		if label["subresource"] != "" {
			resource += "/" + label["subresource"]
		}
		counts[label["verb"]+" "+resource+" "+label["code"]] += int(count)
	}
	if !seen {
		return nil, errors.New("the API server's metrics have another form now")
	}
	return counts, nil
}
