package main_test

import (
	"strconv"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/stretchr/testify/require"
)

func TestTheHeapLeavesMemoryToTheOtherProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("one of the longest scenarios")
	}
	const figure = "go_gc_gomemlimit_bytes"
	there, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	require.NoError(t, err)
	limit, err := strconv.ParseFloat(start(t, dataFolder(t)).metric(figure), 64)
	require.NoError(t, err)
	require.InDelta(t, float64(there)/2, limit, 1<<20)

	t.Setenv("GOMEMLIMIT", "512MiB")
	limit, err = strconv.ParseFloat(start(t, dataFolder(t)).metric(figure), 64)
	require.NoError(t, err)
	require.EqualValues(t, 512<<20, limit, "the operator's setting wins")
}
