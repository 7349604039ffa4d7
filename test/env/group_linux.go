package env

import "syscall"

// ownGroup keeps a terminal's Ctrl-C away from a child, which is ended in order
// instead; nor does the child outlive a parent that is killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
