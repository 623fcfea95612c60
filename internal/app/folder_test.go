package app

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/lifecycle"
)

// inFolder returns an App that has only opened its data folder.
func inFolder(t *testing.T, dir string) *App {
	t.Helper()
	a := &App{}
	a.cfg, a.running = Config{DataDir: dir}, &lifecycle.Group{}
	require.NoError(t, a.openFolder(t.Context()))
	t.Cleanup(func() { require.NoError(t, a.Close()) })
	return a
}

// names lists the files of a folder, without its lock and format mark.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var found []string
	for _, entry := range entries {
		if entry.Name() != "lock" && entry.Name() != "format.json" {
			found = append(found, entry.Name())
		}
	}
	return found
}
