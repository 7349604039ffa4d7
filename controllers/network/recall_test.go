package network

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/samplecrd/samplecrd/addressing"
)

// pages answers a list with one page after the other, decoded as a client does.
type pages struct {
	client.Reader
	texts []string
	asked []string
}

func (p *pages) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var options client.ListOptions
	options.ApplyOptions(opts)
	p.asked = append(p.asked, options.Continue)
	if len(p.asked) > len(p.texts) || options.Limit == 0 {
		return errors.New("there is no such page")
	}
	return json.Unmarshal([]byte(p.texts[len(p.asked)-1]), list)
}

// What is recorded is read page by page; what one says is not taken for another's.
func TestRecall(t *testing.T) {
	s := newSim(t, 1)
	reader := &pages{texts: []string{
		`{"metadata":{"continue":"2"},"items":[
			{"metadata":{"namespace":"shop","name":"holds","uid":"1","resourceVersion":"7"},"spec":{"networkClassName":"wide"},"status":{"subnets":[{"cidr":"10.0.0.0/24"}]}}]}`,
		`{"metadata":{},"items":[
			{"metadata":{"namespace":"shop","name":"asks","uid":"2","resourceVersion":"8"},"spec":{"networkClassName":"wide"}},
			{"metadata":{"namespace":"shop","name":"let-go","uid":"3","resourceVersion":"9","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"networkClassName":"wide"},"status":{"subnets":[{"cidr":"10.0.2.0/24"}]}},
			{"metadata":{"namespace":"shop","name":"going","uid":"4","resourceVersion":"10","deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["network.samplecrd.k8s.io/provider"]},"spec":{"networkClassName":"wide"},"status":{"subnets":[{"cidr":"10.0.3.0/24"}]}}]}`,
	}}
	s.r.live = reader
	for range 2 {
		if err := s.r.recall(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(reader.asked) != 2 || reader.asked[1] != "2" {
		t.Errorf("the pages %q were asked for", reader.asked)
	}
	want := map[types.UID]string{"1": "10.0.0.0/24", "4": "10.0.3.0/24"}
	for uid, holder := range s.r.arbiter.holders {
		if len(holder.prefixes) != 1 || holder.prefixes[0] != addressing.ParsePrefix(want[uid]) || holder.class != "wide" {
			t.Errorf("%s holds %v of class %q", uid, holder.prefixes, holder.class)
		}
	}
	if len(s.r.arbiter.holders) != len(want) {
		t.Errorf("%d are held, want %d", len(s.r.arbiter.holders), len(want))
	}
	for name, version := range map[string]string{"holds": "6", "asks": "7", "let-go": "8", "going": "9"} {
		if !s.r.own.Behind(types.NamespacedName{Namespace: "shop", Name: name}, version) {
			t.Errorf("a pass may act on an older %s", name)
		}
	}
}

func TestRecallFails(t *testing.T) {
	s := newSim(t, 1)
	s.threeClasses()
	network := s.create("shop", "wide", 0, "10.0.0.0/24")
	s.deliverAll()
	live := s.r.live
	s.r.live = &pages{}
	if _, err := s.r.Reconcile(t.Context(), network); err == nil {
		t.Error("a pass goes on without what is recorded")
	}
	s.r.live = live
	s.settle()
	if !s.winners()[network.UID] {
		t.Error("it is not done later")
	}
}
