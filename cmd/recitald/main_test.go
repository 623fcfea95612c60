// The tests of this package start the real binaries on a data folder of their own: recitald with its event node, a
// private Postgres and speech workers.
package main_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/recital-tts/recital/internal/http/web/openapi/openapitest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// recitaldBinary is in the same folder as the other programs.
var recitaldBinary bintest.Program

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if folder := os.Getenv(stormNodeFolder); folder != "" {
		return runStormNode(folder)
	}
	if folder := os.Getenv(namespaceFolder); folder != "" {
		return runInNamespace(folder, os.Args[1:])
	}
	program, remove, err := bintest.Build("recitald", "recitalctl", "speechworker", "neuralworker", "standins",
		"japanesereader")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	recitaldBinary = program
	defer endShared()
	return openapitest.Checked(m).Run()
}
