// Package workertest gives tests the real speechworker.
package workertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/workers"
)

// Build builds speechworker from source into a temporary folder, for TestMain: once per test binary.
func Build() (path string, remove func(), err error) {
	folder, err := os.MkdirTemp("", "speechworker")
	if err != nil {
		return "", nil, fmt.Errorf("making a folder for speechworker: %w", err)
	}
	remove = func() { _ = os.RemoveAll(folder) }
	path = filepath.Join(folder, "speechworker")
	build := exec.Command("go", "build", "-o", path, "github.com/recital-tts/recital/cmd/speechworker")
	build.Env = append(os.Environ(), "CGO_ENABLED=1")
	if output, err := build.CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("building speechworker: %w\n%s", err, output)
	}
	return path, remove, nil
}

// Main is the TestMain of packages that need the binary: it builds it, says where it is, runs the tests and fails when they
// leave goroutines behind.
func Main(m goleak.TestingM, path *string, leaks ...goleak.Option) {
	built, remove, err := Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	*path = built
	goleak.VerifyTestMain(m, append(leaks, goleak.Cleanup(func(code int) {
		remove()
		os.Exit(code)
	}))...)
}

// Command starts the binary as a speech engine.
func Command(path string) workers.Command {
	return workers.Command{Path: path, Args: []string{"engine"}}
}

// Flite starts the binary as the second engine, for American English.
func Flite(path string) workers.Command {
	return workers.Command{Path: path, Args: []string{"flite"}}
}
