// Package bintest provides tests with the real binaries.
package bintest

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// Variable names a folder with recitald, recitalctl, speechworker, neuralworker, japanesereader and standins. The
// Makefile sets it, so that they are built once for all packages.
const Variable = "RECITAL_TEST_BINARIES"

// Folder returns a folder with the programs. If Variable is not set, they are built into a temporary one, which
// remove deletes. It is for TestMain.
func Folder(programs ...string) (folder string, remove func(), err error) {
	if folder = os.Getenv(Variable); folder != "" {
		return folder, func() {}, nil
	}
	folder, err = os.MkdirTemp("", "recital-binaries-")
	if err != nil {
		return "", nil, fmt.Errorf("making a folder for the binaries: %w", err)
	}
	remove = func() { _ = os.RemoveAll(folder) }
	for _, program := range programs {
		if err := build(folder, program); err != nil {
			remove()
			return "", nil, fmt.Errorf("building %s: %w", program, err)
		}
	}
	return folder, remove, nil
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
