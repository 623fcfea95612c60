// Package proptest checks properties of which each check takes long.
package proptest

import (
	"flag"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Check is rapid.Check with one check in place of every few. It is for properties that run a whole service with its
// processes, and so take minutes where others take a second. Each run draws other cases. A larger -rapid.checks counts
// as usual; with -short, half as many checks are made. The number is a flag of the process, so a test that
// calls Check must not be parallel.
func Check(t *testing.T, every int, property func(*rapid.T)) {
	t.Helper()
	check(t, func(usual int) int { return fewer(usual, every, testing.Short()) }, property)
}

// Shortened is rapid.Check, which with -short makes one check in place of every few. It is for properties that speak or
// start something in each check. A test that calls it must not be parallel.
func Shortened(t *testing.T, every int, property func(*rapid.T)) {
	t.Helper()
	if !testing.Short() {
		every = 1
	}
	check(t, func(usual int) int { return max(usual/every, 1) }, property)
}

func check(t *testing.T, number func(usual int) int, property func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	usual := checks.Value.String()
	n, err := strconv.Atoi(usual)
	require.NoError(t, err)
	require.NoError(t, checks.Value.Set(strconv.Itoa(number(n))))
	defer func() { require.NoError(t, checks.Value.Set(usual)) }()
	rapid.Check(t, property)
}

// shortened is the part of its checks that rapid makes with -short.
const shortened = 5

func fewer(usual, every int, short bool) int {
	n := max(usual/every, 1)
	if short {
		return min(max(n/2, 1)*shortened, usual)
	}
	return n
}
