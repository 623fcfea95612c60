package main_test

import (
	"path/filepath"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/app"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb"
)

// openLog opens the log of a running recitald.
func (s *server) openLog() (*esdb.Client, *eventlog.Registry) {
	s.t.Helper()
	registry, err := app.Registry()
	require.NoError(s.t, err)
	log, err := esdb.Open(esdb.Config{Socket: filepath.Join(s.data, "eventnode", "node.sock")})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = log.Close() }) // its recitald may have ended
	return log, registry
}
