package deploy

import (
	"regexp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/samplecrd/samplecrd/test/env"
)

// difference is a line that diff would add or take away.
var difference = regexp.MustCompile(`(?m)^[+-](?:[^+-].*)?$`)

var _ = Describe("kubectl apply -k config/default", func() {
	standard := env.Path("config", "default")
	for _, way := range []struct {
		name  string
		flags []string
	}{
		{"client-side", nil},
		{"server-side", []string{"--server-side"}},
	} {
		Context(way.name, Ordered, func() {
			var (
				c     *cluster
				apply = append([]string{"apply", "-k", standard}, way.flags...)
			)
			BeforeAll(func() { c = start() })

			It("installs the bundle on a cluster that has cert-manager's kinds", func() {
				c.run(apply...)
				c.settle()
				Expect(c.versions()).To(HaveLen(len(c.objects())))
			})

			It("changes nothing the second time, nor the root that cainjector wrote [WO-07]", func() {
				injected := root()
				c.inject(injected)
				before := c.versions()
				c.run(apply...)
				Expect(c.versions()).To(Equal(before))
				Expect(c.trusted()).To(And(HaveLen(7), HaveEach(injected)))
			})

			It("leaves no difference", func() {
				c.run("diff", "-k", standard)
				result, err := c.Kubectl("", "diff", "--server-side", "-k", standard)
				Expect(err).NotTo(HaveOccurred())
				if len(way.flags) > 0 {
					Expect(result.ExitCode).To(BeZero(), result.Stdout+result.Stderr)
					return
				}
				// After a client-side apply the API server would write down anew what kubectl
				// noted of it, without the empty annotations that kubectl puts there.
				Expect(result.ExitCode).To(BeNumerically("<", 2), result.Stderr)
				Expect(difference.FindAllString(result.Stdout, -1)).To(HaveEach(MatchRegexp(`^. +(\{"apiVersion":|generation: )`)))
			})

			It("can be followed by the other way, without a conflict", func() {
				before := c.contents()
				c.run("apply", "-k", standard, "--server-side")
				Expect(c.contents()).To(Equal(before))
				c.run("apply", "-k", standard)
				Expect(c.contents()).To(Equal(before))
				c.run("diff", "-k", standard)
			})
		})
	}
})
