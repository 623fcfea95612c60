package pglookup_test

import (
	"crypto/rand"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/billing"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/access/credentials"
	"github.com/recital-tts/recital/internal/access/credentials/pglookup"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	projections "github.com/recital-tts/recital/projections/accounts"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a log and the read models of accounts.
type world struct {
	*feedtest.World
	accounts *accounts.Accounts
	stop     func() // ends the projector
	current  bool   // what the look-up believes of the read model
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{World: feedtest.New(t, feedtest.Registry(t, accounts.Events(), billing.Events())), current: true}
	w.stop = w.Project(t, projections.ReadModels()...)
	w.accounts = accounts.New(&journal.Journal{Log: w.Log, Registry: w.Registry}, time.Now)
	return w
}

func (w *world) keys() pglookup.Keys {
	return pglookup.Keys{Models: w.Projector, Current: func() bool { return w.current }}
}

func drawKey(t *testing.T) string {
	t.Helper()
	key, err := account.DrawAPIKey(rand.Reader)
	require.NoError(t, err)
	return key
}

// createAsBefore opens an account with a key as earlier releases did: without a stream of the key.
func (w *world) createAsBefore(t *testing.T, id string) (hash string) {
	t.Helper()
	key := drawKey(t)
	hash = account.HashAPIKey(key)
	w.Write(t, account.Stream(id),
		account.Opened{Account: id, Plan: "indie", At: time.Now()},
		account.APIKeyCreated{Account: id, Hash: hash, Masked: account.MaskAPIKey(key), At: time.Now()})
	return hash
}

func TestAKeyThatTheReadModelShowsHasItsAccount(t *testing.T) {
	w := newWorld(t)
	hash := w.createAsBefore(t, "a1")
	for _, w.current = range []bool{true, false} {
		id, err := w.keys().AccountOf(t.Context(), hash)
		require.NoError(t, err)
		require.Equal(t, "a1", id)
	}
}

func TestAKeyThatIsNotShownIsUnknownOnlyToAReadModelThatIsCurrent(t *testing.T) {
	w := newWorld(t)
	_, err := w.keys().AccountOf(t.Context(), "nobody's")
	require.ErrorIs(t, err, credentials.ErrUnknownKey)
	w.current = false
	_, err = w.keys().AccountOf(t.Context(), "nobody's")
	require.Equal(t, domain.Unavailable, domain.CodeOf(err))
}

// A crash of Postgres may take back commits that this instance has seen.
func TestAKeyThatPostgresHasLostIsNotUnknown(t *testing.T) {
	// given a read model that has reached a key, and nobody who feeds it any more
	w := newWorld(t)
	_, err := w.Pool.Exec(t.Context(), "create table place as select name, commit_position, prepare_position from feed.checkpoints")
	require.NoError(t, err)
	hash := w.createAsBefore(t, "a1")
	_, err = w.keys().AccountOf(t.Context(), hash)
	require.NoError(t, err)
	w.stop()

	// when it is as it was before
	_, err = w.Pool.Exec(t.Context(), `
		begin;
		delete from read_v4.api_keys;
		update feed.checkpoints c set commit_position = p.commit_position, prepare_position = p.prepare_position from place p where p.name = c.name;
		commit`)
	require.NoError(t, err)

	// then nobody can know, of this key and of all others
	for _, hash := range []string{hash, "nobody's"} {
		_, err = w.keys().AccountOf(t.Context(), hash)
		require.Equal(t, domain.Unavailable, domain.CodeOf(err))
	}
}

func TestOnlyKeysWithoutAStreamNeedPostgres(t *testing.T) {
	// given keys of this release and of an earlier one, and a Postgres that is gone
	w := newWorld(t)
	opened, err := w.accounts.Open(t.Context(), "indie", journal.System())
	require.NoError(t, err)
	before := w.createAsBefore(t, "a1")
	gone, err := pgxpool.NewWithConfig(t.Context(), w.Pool.Config())
	require.NoError(t, err)
	gone.Close()
	silent, err := feed.NewProjector(feed.Config{
		Log: w.Log, Registry: w.Registry, Pool: gone, Identity: w.Identity, Projections: projections.ReadModels(), Instance: "silent",
	})
	require.NoError(t, err)
	find := func(models pglookup.Models, hash string) (credentials.Verified, error) {
		t.Helper()
		watcher, err := credentials.Open(t.Context(), credentials.Config{
			Log: w.Log, Registry: w.Registry, Accounts: w.accounts, Logger: slog.New(slog.DiscardHandler),
			Unissued: pglookup.Keys{Models: models, Current: func() bool { return true }},
		})
		require.NoError(t, err)
		return watcher.FindKey(t.Context(), hash)
	}

	// then those with a stream are found, and nobody can know of the others
	found, err := find(silent, account.HashAPIKey(opened.Key.Key))
	require.NoError(t, err)
	require.Equal(t, opened.Account, found.Account)
	for _, hash := range []string{before, account.HashAPIKey(drawKey(t))} {
		_, err = find(silent, hash)
		require.Equal(t, domain.Unavailable, domain.CodeOf(err))
	}

	// when Postgres answers, then one is found and the other one unknown
	found, err = find(w.Projector, before)
	require.NoError(t, err)
	require.Equal(t, "a1", found.Account)
	_, err = find(w.Projector, account.HashAPIKey(drawKey(t)))
	require.ErrorIs(t, err, credentials.ErrUnknownKey)

	// when the key is issued, then it needs no Postgres either
	var created eventlog.Recorded
	for event, err := range w.Log.ReadStream(t.Context(), account.Stream("a1"), 1) {
		require.NoError(t, err)
		created = event
	}
	_, err = w.accounts.IssueCreated(t.Context(), account.Stream("a1"), created.ID)
	require.NoError(t, err)
	found, err = find(silent, before)
	require.NoError(t, err)
	require.Equal(t, "a1", found.Account)
}
