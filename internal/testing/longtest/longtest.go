// Package longtest marks the tests that take longest, which -short leaves out.
package longtest

import "testing"

// Only skips the test that calls it with -short. It is the first statement of the test.
func Only(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("one of the longest scenarios")
	}
}
