package main_test

import (
	"crypto/rand"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
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

// openAccountAsBefore opens an account as earlier releases did: no stream of its key names it.
func (s *server) openAccountAsBefore() customer {
	s.t.Helper()
	log, registry := s.openLog()
	key, err := account.DrawAPIKey(rand.Reader)
	require.NoError(s.t, err)
	id, now := uuid.NewString(), time.Now().UTC()
	meta := eventlog.Metadata{Actor: eventlog.Actor{Kind: eventlog.ActorOperator}, Time: now}
	events, err := registry.Encode(uuid.New(), 0, meta,
		account.Opened{Account: id, Plan: plan.Indie, At: now},
		account.APIKeyCreated{Account: id, Hash: account.HashAPIKey(key), Masked: account.MaskAPIKey(key), At: now})
	require.NoError(s.t, err)
	_, err = log.Append(s.t.Context(), account.Stream(id), eventlog.NoStream, events)
	require.NoError(s.t, err)
	return customer{server: s, id: id, key: key}
}

// issues counts the events of the stream of a customer's key.
func (c customer) issues(t *testing.T) (count int) {
	t.Helper()
	log, _ := c.server.openLog()
	defer log.Close()
	for _, err := range log.ReadStream(t.Context(), "apikey-"+account.HashAPIKey(c.key), 0) {
		require.NoError(t, err)
		count++
	}
	return count
}

func TestKeysOfEarlierReleasesKeepWorking(t *testing.T) {
	if testing.Short() {
		t.Skip("one of the longest scenarios")
	}
	t.Parallel()
	// given keys that an earlier release created, one of which was revoked
	data := dataFolder(t)
	s := start(t, data)
	kept, revoked := s.openAccountAsBefore(), s.openAccountAsBefore()
	s.eventually(func() bool { return kept.asks(t) == 200 && revoked.asks(t) == 200 })
	require.Equal(t, 200, revoked.revokeKey(t).status)

	// then the one gets its stream, once
	s.eventually(func() bool { return kept.issues(t) == 1 })
	require.Equal(t, 200, kept.asks(t))

	// when recitald starts again, with its Postgres and without
	s.interrupt()
	s = start(t, data)
	require.Equal(t, 200, kept.at(s).asks(t))
	require.Equal(t, 401, revoked.at(s).asks(t))
	late := s.openAccountAsBefore()
	s.kill()
	s.losePostgres()
	s = start(t, data)
	s.abandonKeyring()

	// then keys work as they did, with one stream each
	s.eventually(func() bool { return late.at(s).asks(t) == 200 && late.at(s).issues(t) == 1 })
	require.Equal(t, 200, kept.at(s).asks(t))
	require.Equal(t, 1, kept.at(s).issues(t))
	require.Equal(t, 401, revoked.at(s).asks(t))
	s.requireReadModelsFollowLog()
}
