package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// relative is a process that a run started, by itself or through another.
type relative struct {
	pid     int
	command string
}

// descendants lists the living children of a process, and theirs.
func descendants(pid int) []relative {
	children := map[int][]relative{}
	entries, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range entries {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // It has ended meanwhile.
		}
		// pid (name) state parent …; the name may hold anything.
		end := strings.LastIndexByte(string(text), ')')
		fields := strings.Fields(string(text)[end+1:])
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		parent, _ := strconv.Atoi(fields[1])
		if command := commandOf(child); command != "" {
			children[parent] = append(children[parent], relative{child, command})
		}
	}
	var all []relative
	for next := []int{pid}; len(next) > 0; next = next[1:] {
		for _, child := range children[next[0]] {
			all = append(all, child)
			next = append(next, child.pid)
		}
	}
	return all
}

// commandOf gives a process's command line, "" for one that has ended.
func commandOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
}

// alive gives those that still run; a number that another process has got by now
// does not count.
func alive(family []relative) []relative {
	return slices.DeleteFunc(slices.Clone(family), func(r relative) bool { return commandOf(r.pid) != r.command })
}

func names(family []relative) []string {
	var names []string
	for _, r := range family {
		name, _, _ := strings.Cut(r.command, " ")
		names = append(names, filepath.Base(name))
	}
	return names
}
