// Command pause waits until it is told to end: the sandbox of Pods, and what runs in
// the Pods of tests.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	// As the first process of a sandbox it would collect orphans; there are none,
	// since no Pod here shares its process namespace.
	<-told
}
