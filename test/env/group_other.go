//go:build !linux

package env

import "syscall"

// ownGroup keeps a terminal's Ctrl-C away from a child, which is ended in order
// instead.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
