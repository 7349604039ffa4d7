package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// patience is how long a process may take to end before it is killed.
const patience = 15 * time.Second

// start starts a component in the network namespace and lets go of it: it outlives
// this program.
func (c *cluster) start(component component) error {
	log, err := os.OpenFile(c.path("log", component.name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	command := inside(filepath.Join(c.bin, component.name), component.args...)
	// containerd finds its shim and runc, kube-proxy nft. Of what else this program's
	// environment holds nothing is theirs.
	command.Env = []string{"PATH=" + c.bin + ":" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "HOME=" + c.dir}
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", component.name, err)
	}
	id := command.Process.Pid
	begun, err := beginning(id)
	if err != nil {
		return fmt.Errorf("%s ended at once; see %s: %w", component.name, log.Name(), err)
	}
	return os.WriteFile(c.pidFile(component.name), fmt.Appendf(nil, "%d %s\n", id, begun), 0o600)
}

// closeOnExec keeps what this program was given open, a lock or a pipe of its caller's,
// say, from processes that outlive both.
func closeOnExec() {
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		if descriptor, err := strconv.Atoi(entry.Name()); err == nil && descriptor > 2 {
			syscall.CloseOnExec(descriptor)
		}
	}
}

func (c *cluster) pidFile(name string) string { return c.path(name + ".pid") }

// running gives a component's process, or 0. An id that another process has by now,
// since the machine was started anew, say, is not ours.
func (c *cluster) running(name string) int {
	text, err := os.ReadFile(c.pidFile(name))
	if err != nil {
		return 0
	}
	id, begun, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	number, err := strconv.Atoi(id)
	if err != nil {
		return 0
	}
	if now, err := beginning(number); err != nil || now != begun {
		return 0
	}
	return number
}

// beginning is when a process began, in ticks since the machine did: with its id it
// names the process for good. A process that has ended has none (proc(5), stat).
func beginning(id int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", id))
	if err != nil {
		return "", err
	}
	// The second field, the program in brackets, may hold anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	// What is left begins with the third, the state; the 22nd is the beginning.
	const state, starttime = 0, 19
	if len(fields) <= starttime || fields[state] == "Z" {
		return "", errors.New("has ended")
	}
	return fields[starttime], nil
}

// stop ends a component and waits.
func (c *cluster) stop(name string) error {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		id := c.running(name)
		if id == 0 {
			break
		}
		if err := syscall.Kill(id, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("ending %s: %w", name, err)
		}
		for deadline := time.Now().Add(patience); c.running(name) != 0 && time.Now().Before(deadline); {
			time.Sleep(50 * time.Millisecond)
		}
	}
	if c.running(name) != 0 {
		return fmt.Errorf("%s does not end", name)
	}
	return nil
}
