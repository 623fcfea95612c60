package app

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheClockOfModeDevNeverGoesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), clockFile)
	keep := func(content []byte) error { return os.WriteFile(path, content, 0o600) }
	c, err := openDevClock(path, keep)
	require.NoError(t, err)
	requireAhead := func(c *devClock, now, due time.Duration) {
		t.Helper()
		require.WithinDuration(t, time.Now().Add(now), c.planTime().now(), time.Minute)
		require.WithinDuration(t, time.Now().Add(due), c.planTime().due(), time.Minute)
	}
	requireAhead(c, 0, 0)

	require.NoError(t, c.reach(72*time.Hour))
	require.NoError(t, c.reach(24*time.Hour))
	requireAhead(c, 72*time.Hour, 0) // to-dos wait for the sandbox

	// a time that could not be stored does not count
	c.keep = func([]byte) error { return errors.New("the disk is full") }
	require.ErrorContains(t, c.reach(96*time.Hour), "the disk is full")
	requireAhead(c, 72*time.Hour, 0)

	again, err := openDevClock(path, keep)
	require.NoError(t, err)
	requireAhead(again, 72*time.Hour, 72*time.Hour)

	for _, wrong := range []string{"", "tomorrow", "-1h", "900000h"} {
		require.NoError(t, keep([]byte(wrong)))
		_, err := openDevClock(path, keep)
		require.ErrorContains(t, err, "such as 744h", wrong)
	}
}
