package startup

import (
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/onsi/gomega/types"

	"github.com/samplecrd/samplecrd/test/env"
)

// process is a running binary and what it logged so far.
type process struct {
	*env.Controller
	log *gbytes.Buffer
}

func start(args ...string) *process {
	GinkgoHelper()
	p := &process{log: gbytes.NewBuffer()}
	var err error
	p.Controller, err = cluster.StartController(binary, p.log, args...)
	Expect(err).NotTo(HaveOccurred())
	return p
}

// kill ends a process that a failed spec left behind.
func (p *process) kill() {
	_ = p.Signal(syscall.SIGKILL)
	if CurrentSpecReport().Failed() {
		AddReportEntry("log of the controller", string(p.log.Contents()))
	}
}

// lines gives the lines of the log that hold text.
func (p *process) lines(text string) []string {
	var found []string
	for line := range strings.Lines(string(p.log.Contents())) {
		if strings.Contains(line, text) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

// waits gives the lines in which the binary says which kinds it waits for.
func (p *process) waits() []string { return p.lines("Waiting for the API server to serve our kinds") }

// miss matches the line that says that exactly these kinds are waited for.
func miss(kinds ...string) types.GomegaMatcher {
	return ContainSubstring("missing=%q", strings.Join(kinds, ", "))
}

func (p *process) live() bool  { return p.Probe("/healthz") }
func (p *process) ready() bool { return p.Probe("/readyz") }
