// Package bintest provides tests with the real binaries.
package bintest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Variable names a folder with recitald, recitalctl, speechworker, neuralworker, japanesereader and standins. The
// Makefile sets it, so that they are built once for all packages.
const Variable = "RECITAL_TEST_BINARIES"

// Program is one of the programs that a test binary needs, all of which are in one folder. Its zero value is none.
type Program struct {
	path string
	all  []string // the names of the programs that are needed
}

// Path returns the path of the program. It looks at all that are needed, because the go command, which keeps the
// results of tests, runs them again when a file that they looked at has changed, and does not know what they start.
func (p Program) Path() string {
	_ = os.Getenv(Variable)
	for _, name := range p.all {
		_, _ = os.Stat(filepath.Join(filepath.Dir(p.path), name)) // who starts it finds out whether it is there
	}
	return p.path
}

// Beside returns the program of that name.
func (p Program) Beside(name string) Program {
	return Program{filepath.Join(filepath.Dir(p.path), name), p.all}
}

// Build returns the first of the programs. If Variable is not set, they are built into a temporary folder, which remove
// deletes. It is for TestMain.
func Build(programs ...string) (first Program, remove func(), err error) {
	if folder := os.Getenv(Variable); folder != "" {
		return Program{filepath.Join(folder, programs[0]), programs}, func() {}, nil
	}
	folder, err := os.MkdirTemp("", "recital-binaries-")
	if err != nil {
		return Program{}, nil, fmt.Errorf("making a folder for the binaries: %w", err)
	}
	remove = func() { _ = os.RemoveAll(folder) }
	for _, program := range programs {
		if err := build(folder, program); err != nil {
			remove()
			return Program{}, nil, fmt.Errorf("building %s: %w", program, err)
		}
	}
	return Program{filepath.Join(folder, programs[0]), programs}, remove, nil
}

// Environment returns the environment of this process without variables RECITAL_…: those of tests are no settings,
// which recitald refuses.
func Environment() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "RECITAL_") })
}

// build links C only into the workers, as the Makefile does.
func build(folder, program string) error {
	cgo := "0"
	if program == "speechworker" || program == "neuralworker" {
		cgo = "1"
	}
	command := exec.Command("go", "build", "-trimpath", "-o", folder, "github.com/recital-tts/recital/cmd/"+program)
	command.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	return nil
}
