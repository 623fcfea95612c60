// The tests of this package start the real binaries on a data folder of their own: recitald with its event node, a
// private Postgres and speech workers.
package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/recital-tts/recital/internal/http/web/openapi/openapitest"
	"github.com/recital-tts/recital/internal/testing/bintest"
)

// recitaldBinary is the path of recitald, in the same folder as the other programs.
var recitaldBinary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if folder := os.Getenv(stormNodeFolder); folder != "" {
		return runStormNode(folder)
	}
	if folder := os.Getenv(namespaceFolder); folder != "" {
		return runInNamespace(folder, os.Args[1:])
	}
	folder, remove, err := bintest.Folder("recitald", "recitalctl", "speechworker", "neuralworker", "standins",
		"japanesereader")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	recitaldBinary = filepath.Join(folder, "recitald")
	defer endShared()
	return openapitest.Checked(m).Run()
}
