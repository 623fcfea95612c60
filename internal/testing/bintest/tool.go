package bintest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// RequiredVariable says that what a test needs of the machine is installed there. The Makefile sets it after it has
// installed everything, so that no test passes because it was skipped.
const RequiredVariable = "RECITAL_TEST_REQUIRED"

// Tool returns the path of the first of the programs that is installed. Without one the test is skipped, or fails if
// RequiredVariable is set.
func Tool(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, strings.Join(names, " or ")+" is not installed")
	return ""
}

// RunVariable has another value in each run of the Makefile.
const RunVariable = "RECITAL_TEST_RUN"

// NotKept has the next run of the Makefile run the tests of this binary again, although no file that they looked at has
// changed: the go command does not know what else they depend on.
func NotKept() { _ = os.Getenv(RunVariable) }

// Watch looks at a file, or at all that is in a folder, because programs that the test starts read it: the go command,
// which keeps the results of tests, runs them again when a file that they looked at has changed.
func Watch(t testing.TB, path string) {
	t.Helper()
	if err := filepath.WalkDir(path, func(_ string, _ fs.DirEntry, err error) error { return err }); err != nil {
		t.Fatal(err)
	}
}

// Missing skips a test for want of something on this machine, or fails it if RequiredVariable is set.
func Missing(t testing.TB, why string) {
	t.Helper()
	NotKept()
	if os.Getenv(RequiredVariable) != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}
