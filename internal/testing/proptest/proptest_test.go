package proptest

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestFewerChecksAreMade(t *testing.T) {
	usual := flag.Lookup("rapid.checks").Value.String()
	count := func(check func(*testing.T, func(*rapid.T))) (checks int) {
		check(t, func(r *rapid.T) {
			rapid.Int().Draw(r, "n")
			checks++
		})
		return checks
	}
	all := count(func(t *testing.T, property func(*rapid.T)) { rapid.Check(t, property) })
	few := count(func(t *testing.T, property func(*rapid.T)) { Check(t, 10, property) })
	require.Equal(t, all, count(func(t *testing.T, property func(*rapid.T)) { rapid.Check(t, property) }))
	require.Less(t, few, all)
	require.Positive(t, few)
	some := count(func(t *testing.T, property func(*rapid.T)) { Shortened(t, 4, property) })
	if testing.Short() {
		require.Equal(t, all/4, some)
	} else {
		require.Equal(t, all, some)
	}
	require.Equal(t, usual, flag.Lookup("rapid.checks").Value.String())
}

func TestShortRunsMakeNoMoreChecks(t *testing.T) {
	for _, every := range []int{1, 4, 5, 10, 1000} {
		require.LessOrEqual(t, fewer(100, every, true)/shortened, fewer(100, every, false), "one of %d", every)
	}
	require.Equal(t, 25, fewer(100, 4, false))
	require.Equal(t, 12, fewer(100, 4, true)/shortened)
}
