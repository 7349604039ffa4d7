package env

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Controller is a samplecrd-controller that runs as a process of its own.
type Controller struct {
	// Probes is the URL under which /healthz and /readyz are served.
	Probes string

	command *exec.Cmd
	ended   chan error
}

// StartController runs the binary at path against the control plane, logging to
// log. It does not wait for readiness. It stops without draining, unless args say
// otherwise: the last of two flags counts.
func (e *Env) StartController(path string, log io.Writer, args ...string) (*Controller, error) {
	probes, err := freeAddress()
	if err != nil {
		return nil, err
	}
	c := &Controller{Probes: "http://" + probes, ended: make(chan error, 1)}
	c.command = exec.Command(path, append([]string{
		"--kubeconfig=" + e.Kubeconfig,
		"--metrics-bind-address=0",
		"--health-probe-bind-address=" + probes,
		"--shutdown-delay=0s",
		fmt.Sprintf("--webhook-port=%d", e.Webhooks.LocalServingPort),
		"--webhook-cert-dir=" + e.Webhooks.LocalServingCertDir,
	}, args...)...)
	c.command.Stdout, c.command.Stderr = log, log
	c.command.SysProcAttr = ownGroup()
	if err := c.command.Start(); err != nil {
		return nil, fmt.Errorf("starting the controller: %w", err)
	}
	go func() { c.ended <- c.command.Wait() }()
	return c, nil
}

// Ended yields once, when the process ends by itself or is stopped.
func (c *Controller) Ended() <-chan error { return c.ended }

// Signal sends a signal to the process.
func (c *Controller) Signal(signal syscall.Signal) error { return c.command.Process.Signal(signal) }

// Stop ends the process as a person would, and waits.
func (c *Controller) Stop() error {
	if err := c.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case err := <-c.ended:
		return err
	case <-time.After(patience):
		return errors.Join(errors.New("the controller did not stop"), c.command.Process.Kill())
	}
}

// Probe asks a probe once and says whether it succeeds.
func (c *Controller) Probe(path string) bool {
	response, err := http.Get(c.Probes + path)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode == http.StatusOK
}

// AwaitReady returns when the controller is ready.
func (c *Controller) AwaitReady(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(context.Context) (bool, error) {
		select {
		case err := <-c.ended:
			c.ended <- err
			return false, fmt.Errorf("the controller ended: %w", err)
		default:
			return c.Probe("/readyz"), nil
		}
	})
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String(), nil
}
