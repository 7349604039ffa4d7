package certs

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Server is controller-runtime's webhook server. It begins when there is a pair, knows
// the pair that it serves with, and can be drained before it ends.
type Server struct {
	webhook.Server

	pair     *pair
	clock    clock.Clock
	log      logr.Logger
	draining atomic.Bool
}

// Start serves from when there is a pair until ctx ends. A pair that is missing delays
// it and is no error.
func (s *Server) Start(ctx context.Context) error {
	go wait.UntilWithContext(ctx, s.pair.look, lookAgain)
	select {
	case <-s.pair.found:
		return s.Server.Start(ctx)
	case <-ctx.Done():
		return nil
	}
}

// Register serves hook at path. While the server drains, every answer asks to close
// its connection: API servers keep theirs open, and would go on sending to a server
// that is no endpoint any more (kubernetes/kubernetes issue 127335).
func (s *Server) Register(path string, hook http.Handler) {
	s.Server.Register(path, http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if s.draining.Load() {
			response.Header().Set("Connection", "close")
		}
		hook.ServeHTTP(response, request)
	}))
}

// Ready is a check that succeeds while the server answers, with a pair that is valid
// now, and has not begun to drain. The error says what is wrong.
func (s *Server) Ready(request *http.Request) error {
	if s.draining.Load() {
		return errors.New("the webhook server is about to stop")
	}
	if err := s.pair.valid(); err != nil {
		return err
	}
	return s.StartedChecker()(request)
}

// Drain gives a context that ends delay after ctx does, for whatever serves and
// reconciles. In between the server is not ready, answers all the same, and has its
// connections closed, so that endpoints and API servers leave it before it stops.
// A delay of 0 is none.
func (s *Server) Drain(ctx context.Context, delay time.Duration) context.Context {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		defer stop()
		s.draining.Store(true)
		s.log.Info("Draining: not ready any more, still serving", "delay", delay)
		<-s.clock.After(delay)
	})
	return serving
}

// Metrics tells how long the pair is still valid.
func (s *Server) Metrics() prometheus.Collector { return s.pair }
