// Command neutron runs the OpenStack servers of tests; see test/openstack. From the
// repository, as root:
//
//	go run ./test/openstack/neutron up    # idempotent; credentials: .run/openstack/clouds.yaml
//	go run ./test/openstack/neutron down
//
// stop-neutron and start-neutron are for trying an outage by hand.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/samplecrd/samplecrd/test/openstack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // A second signal ends the process at once.
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "neutron:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 1 {
		switch args[0] {
		case "up":
			return openstack.Up(ctx, os.Stderr)
		case "down":
			return openstack.Down(ctx, os.Stderr)
		case "stop-neutron":
			return openstack.StopNeutron(ctx)
		case "start-neutron":
			return openstack.StartNeutron(ctx)
		}
	}
	return errors.New("usage: neutron up | down | stop-neutron | start-neutron")
}
