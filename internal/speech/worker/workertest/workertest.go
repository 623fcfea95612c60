// Package workertest provides tests with the real speechworker.
package workertest

import (
	"fmt"
	"os"
	"path/filepath"

	"go.uber.org/goleak"

	"github.com/recital-tts/recital/internal/process/workers"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// Build builds speechworker for TestMain and returns its path. remove deletes the binary.
func Build() (path string, remove func(), err error) {
	folder, remove, err := bintest.Folder("speechworker")
	return filepath.Join(folder, "speechworker"), remove, err
}

// Main is the TestMain of packages that need the binary: it sets path, runs the tests and fails if they leak
// goroutines. beside are programs to build in the same folder.
func Main(m goleak.TestingM, path *string, beside []string, leaks ...goleak.Option) {
	folder, remove, err := bintest.Folder(append(beside, "speechworker")...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	*path = filepath.Join(folder, "speechworker")
	goleak.VerifyTestMain(m, append(leaks, goleak.Cleanup(func(code int) {
		remove()
		os.Exit(code)
	}))...)
}

// Command returns the command that starts the binary as a speech engine.
func Command(path string) workers.Command {
	return workers.Command{Path: path, Args: []string{"engine"}}
}

// Flite returns the command that starts the binary as the second engine, for American English.
func Flite(path string) workers.Command {
	return workers.Command{Path: path, Args: []string{"flite"}}
}
