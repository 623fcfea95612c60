// The tests of this package start the real binaries on a data folder of their own: recitald with its event node, a
// private Postgres and speech workers.
package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/recital-tts/recital/internal/web/openapi/openapitest"
)

// binariesVariable names a folder that holds recitald, recitalctl and speechworker; without it they are built.
const binariesVariable = "RECITAL_TEST_BINARIES"

// recitaldBinary is built once for all tests; recitalctl and speechworker lie beside it.
var recitaldBinary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	folder := os.Getenv(binariesVariable)
	if folder == "" {
		var err error
		if folder, err = os.MkdirTemp("", "recital-binaries-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(folder)
		if err := build(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	recitaldBinary = filepath.Join(folder, "recitald")
	return openapitest.Checked(m).Run()
}

func build(folder string) error {
	for program, cgo := range map[string]string{"recitald": "0", "recitalctl": "0", "speechworker": "1"} {
		command := exec.Command("go", "build", "-o", folder, "github.com/recital-tts/recital/cmd/"+program)
		command.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", program, err, output)
		}
	}
	return nil
}
