// Package workertest provides tests with the real speechworker.
package workertest

import (
	"fmt"
	"os"

	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// Build returns speechworker, for TestMain. remove deletes what was built for this test binary.
func Build() (program bintest.Program, remove func(), err error) {
	return bintest.Build("speechworker")
}

// Main is the TestMain of packages that need the binary: it sets program, runs the tests and fails if they leak
// goroutines. beside are programs that lie beside it.
func Main(m goleak.TestingM, program *bintest.Program, beside []string, leaks ...goleak.Option) {
	built, remove, err := bintest.Build(append([]string{"speechworker"}, beside...)...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	*program = built
	goleak.VerifyTestMain(m, append(leaks, goleak.Cleanup(func(code int) {
		remove()
		os.Exit(code)
	}))...)
}

// Command returns the command that starts the binary as a speech engine.
func Command(program bintest.Program) workers.Command { return Mode(program, "engine") }

// Flite returns the command that starts the binary as the second engine, for American English.
func Flite(program bintest.Program) workers.Command { return Mode(program, "flite") }

// Mode returns the command that starts the binary in one of its modes.
func Mode(program bintest.Program, mode string) workers.Command {
	return workers.Command{Path: program.Path(), Args: []string{mode}}
}
