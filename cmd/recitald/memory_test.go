package main_test

import (
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/testing/longtest"
)

func TestTheHeapLeavesMemoryToTheOtherProcesses(t *testing.T) {
	longtest.Only(t)
	const figure = "go_gc_gomemlimit_bytes"
	there, err := memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)()
	require.NoError(t, err)
	require.InDelta(t, float64(there)/2, start(t, dataFolder(t)).figure(figure), 1<<20)

	t.Setenv("GOMEMLIMIT", "512MiB")
	require.EqualValues(t, 512<<20, start(t, dataFolder(t)).figure(figure), "the operator's setting wins")
}
