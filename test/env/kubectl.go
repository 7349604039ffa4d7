package env

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Result is what a person sees of a kubectl call.
type Result struct {
	Stdout, Stderr string
	ExitCode       int
}

// Kubectl runs the kubectl that matches the API server, with an administrator's
// rights. stdin may be empty. It returns an error only if kubectl did not run.
func (e *Env) Kubectl(stdin string, args ...string) (Result, error) {
	command := exec.Command(filepath.Join(e.Assets, "kubectl"), args...)
	// HOME: the discovery cache is kept apart from other API servers'. PATH: kubectl
	// diff calls diff.
	command.Env = []string{"KUBECONFIG=" + e.Kubeconfig, "HOME=" + e.dir, "PATH=" + os.Getenv("PATH")}
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Result{}, err
	}
	return Result{Stdout: stdout.String(), Stderr: stderr.String(), ExitCode: command.ProcessState.ExitCode()}, nil
}
