package datafolder_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/datafolder"
)

func TestARunningRecitaldIsFound(t *testing.T) {
	dir := t.TempDir()
	require.Zero(t, datafolder.Find(dir), "not the folder of a recitald")

	f := open(t, dir)
	require.Zero(t, datafolder.Find(dir), "it does not serve yet")
	for _, c := range []struct{ served, found string }{
		{"127.0.0.1:4711", "127.0.0.1:4711"}, {"0.0.0.0:8081", "127.0.0.1:8081"}, {"[::]:8081", "127.0.0.1:8081"},
		{"10.0.0.7:80", "10.0.0.7:80"},
	} {
		require.NoError(t, f.Announce(datafolder.Addresses{Public: c.served, Admin: "127.0.0.1:1"}))
		require.Equal(t, datafolder.Addresses{Public: c.found, Admin: "127.0.0.1:1"}, datafolder.Find(dir))
	}

	require.NoError(t, f.Close())
	require.Zero(t, datafolder.Find(dir), "it has ended, or was killed")
}
