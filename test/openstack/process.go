package openstack

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// marker is the variable in a server's environment, and in that of its children, that
// holds the server's folder: by it they are known, whoever started them.
const marker = "SAMPLECRD_OPENSTACK"

// Patience with a process, and with a server; generous, for a loaded machine.
const (
	endsWithin   = 15 * time.Second
	readyWithin  = 3 * time.Minute
	pollInterval = 50 * time.Millisecond
)

// command makes a program that runs as a server's user, in its folder, with nothing of
// this program's environment. It logs into the log of the server.
func (s *servers) command(ctx context.Context, server, program string, args ...string) (*exec.Cmd, error) {
	account, err := account(server)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(s.logFile(server), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, program, args...)
	command.Dir = s.path(server)
	command.Env = []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=" + command.Dir, "TMPDIR=" + command.Dir,
		marker + "=" + command.Dir,
	}
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: account}
	return command, nil
}

// run runs a program of a server to its end.
func (s *servers) run(ctx context.Context, server, program string, args ...string) error {
	command, err := s.command(ctx, server, program, args...)
	if err != nil {
		return err
	}
	defer closeLog(command)
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w; see %s", filepath.Base(program), err, s.logFile(server))
	}
	return nil
}

// start starts a server and lets go of it: it outlives this program.
func (s *servers) start(ctx context.Context, server, program string, args ...string) error {
	closeOnExec()
	command, err := s.command(context.WithoutCancel(ctx), server, program, args...)
	if err != nil {
		return err
	}
	defer closeLog(command)
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", server, err)
	}
	// Not as patient as who started it: it serves others, too.
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, command.Process.Pid, 0); err != nil {
		return fmt.Errorf("setting the priority of %s: %w", server, err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }() // If it ends first, nothing of it is left.
	if err := s.appears(server, ended); err != nil {
		return fmt.Errorf("%s ended at once: %w; see %s", server, err, s.logFile(server))
	}
	return nil
}

// appears waits until a server that was started is among the running ones: its
// environment, by which it is known, can be read only some time into its exec.
func (s *servers) appears(server string, ended <-chan error) error {
	for len(s.running(server)) == 0 {
		select {
		case err := <-ended:
			return cmp.Or(err, errors.New("without an error"))
		case <-time.After(pollInterval):
		}
	}
	return nil
}

func closeLog(command *exec.Cmd) {
	if log, ok := command.Stdout.(*os.File); ok {
		_ = log.Close()
	}
}

func (s *servers) logFile(server string) string { return s.path("log", server+".log") }

// account is the user that Debian's package made for a server.
func account(server string) (*syscall.Credential, error) {
	found, err := user.Lookup(map[string]string{"mariadb": "mysql"}[server])
	if err != nil {
		found, err = user.Lookup(server)
	}
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

// closeOnExec keeps what this program was given open, a pipe of its caller's, say, from
// servers that outlive both.
func closeOnExec() {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		if descriptor, err := strconv.Atoi(entry.Name()); err == nil && descriptor > 2 {
			syscall.CloseOnExec(descriptor)
		}
	}
}

// running gives the processes of a server, or of all of them for "".
func (s *servers) running(server string) []int {
	wanted := marker + "=" + s.path(server)
	var ids []int
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		environment, _ := os.ReadFile(filepath.Join(entry, "environ"))
		if !slices.ContainsFunc(bytes.Split(environment, []byte{0}), func(variable []byte) bool {
			return string(variable) == wanted || strings.HasPrefix(string(variable), wanted+"/")
		}) {
			continue
		}
		if id, err := strconv.Atoi(filepath.Base(entry)); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// stop kills a server, or all of them for "", and waits. What they hold is deleted
// next, or safe: MariaDB's transactions.
func (s *servers) stop(ctx context.Context, server string) error {
	for deadline := time.Now().Add(endsWithin); ; {
		rest := s.running(server)
		if len(rest) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v do not end", rest)
		}
		for _, id := range rest {
			_ = syscall.Kill(id, syscall.SIGKILL)
		}
		if err := wait(ctx); err != nil {
			return err
		}
	}
}

// await repeats check until it succeeds, the server ends or time is up.
func (s *servers) await(ctx context.Context, server string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if len(s.running(server)) == 0 {
			return fmt.Errorf("%s ended; see %s", server, s.logFile(server))
		}
		if late := wait(ctx); late != nil {
			return errors.Join(fmt.Errorf("%s is not ready: %w; see %s", server, err, s.logFile(server)), late)
		}
	}
}

func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(pollInterval):
		return nil
	}
}
