package bintest

import (
	"os"
	"os/exec"
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

// Missing skips a test for want of something on this machine, or fails it if RequiredVariable is set.
func Missing(t testing.TB, why string) {
	t.Helper()
	if os.Getenv(RequiredVariable) != "" {
		t.Fatal(why)
	}
	t.Skip(why)
}
