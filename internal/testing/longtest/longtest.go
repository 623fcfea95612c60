// Package longtest marks the tests that take longest, which -short leaves out, and the cases that it leaves out.
package longtest

import "testing"

// Only skips the test that calls it with -short. It is the first statement of the test.
func Only(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("one of the longest scenarios")
	}
}

// Times returns how often a test repeats what chance decides: often in full, and less with -short.
func Times(full, short int) int {
	if testing.Short() {
		return short
	}
	return full
}

// Sample returns the cases of a test, or with -short n of them: the first, the last, and others evenly between them.
func Sample[T any](cases []T, n int) []T {
	if !testing.Short() || n >= len(cases) {
		return cases
	}
	sample := make([]T, n)
	for i := range sample {
		sample[i] = cases[i*(len(cases)-1)/(n-1)]
	}
	return sample
}
