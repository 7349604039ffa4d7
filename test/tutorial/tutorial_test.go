// Package tutorial runs what the documentation tells people to type.
package tutorial

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/samplecrd/samplecrd/test/env"
)

// step is a command and what is shown of its answer.
type step struct {
	command string
	want    []string
}

// steps reads the console blocks of a page: a command begins with a dollar sign and
// ends with its line, or with its here-document.
func steps(t *testing.T, page string) []step {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var all []step
	for _, block := range strings.Split(string(text), "\n```console\n")[1:] {
		block, _, _ = strings.Cut(block, "\n```\n")
		document := ""
		for line := range strings.SplitSeq(block, "\n") {
			command, isCommand := strings.CutPrefix(line, "$ ")
			switch {
			case document != "":
				all[len(all)-1].command += "\n" + line
				if line == document {
					document = ""
				}
			case isCommand:
				all = append(all, step{command: command})
				if begin := regexp.MustCompile(`<<'(\w+)'$`).FindStringSubmatch(command); begin != nil {
					document = begin[1]
				}
			default:
				all[len(all)-1].want = append(all[len(all)-1].want, line)
			}
		}
	}
	return all
}

// The address plan answers as its page says, command by command.
func TestAddressPlan(t *testing.T) {
	cluster, err := env.Start(env.Options{Webhooks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	}()
	stop, err := cluster.StartManager(env.ManagerOptions{Webhooks: true, Controllers: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()

	followed := steps(t, env.Path("docs", "address-plan.md"))
	if len(followed) < 20 {
		t.Fatalf("only %d commands are found", len(followed))
	}
	for _, step := range followed {
		// A loaded machine may need longer than a reader's patience.
		patient := strings.Replace(step.command, "kubectl wait ", "kubectl wait --timeout=3m ", 1)
		command := exec.Command("bash", "-c", patient)
		command.Env = []string{
			"KUBECONFIG=" + cluster.Kubeconfig, "HOME=" + t.TempDir(), "PATH=" + cluster.Assets + string(filepath.ListSeparator) + os.Getenv("PATH"),
		}
		output, err := command.CombinedOutput()
		if !matches(lines(string(output)), step.want) {
			t.Fatalf("$ %s\n%s\nwant\n%s\n(%v)", step.command, output, strings.Join(step.want, "\n"), err)
		}
	}
}

// lines are those of an output, without white space at their ends and that of all.
func lines(output string) []string {
	output = regexp.MustCompile(`(?m)[ \t]+$`).ReplaceAllString(strings.TrimSpace(output), "")
	if output == "" {
		return nil
	}
	return strings.Split(output, "\n")
}

// matches compares line by line; an ellipsis stands for anything.
func matches(got, want []string) bool {
	return slices.EqualFunc(got, want, func(line, shown string) bool {
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(shown), "…", ".*") + "$"
		return regexp.MustCompile(pattern).MatchString(line)
	})
}
