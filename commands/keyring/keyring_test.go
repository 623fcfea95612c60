package keyring_test

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/commands/journal"
	commands "github.com/recital-tts/recital/commands/keyring"
	"github.com/recital-tts/recital/internal/eventlog"
	"github.com/recital-tts/recital/internal/eventlog/esdb"
	"github.com/recital-tts/recital/internal/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/postgres/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newLog(t *testing.T) *commands.Keyring {
	t.Helper()
	client, err := esdb.Open(esdb.Config{Socket: nodetest.Start(t)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	registry, err := eventlog.NewRegistry(commands.Events()...)
	require.NoError(t, err)
	return commands.New(&journal.Journal{Log: client, Registry: registry}, slog.New(slog.DiscardHandler), time.Now)
}

func newStore(t *testing.T) *pgkeys.Keyring {
	t.Helper()
	keys, err := pgkeys.Open(t.Context(), pgkeys.Config{
		Pool: pgtest.New(t), MasterKey: bytes.Repeat([]byte{1}, pgkeys.MasterKeySize), Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return keys
}

func idOf(t *testing.T, store *pgkeys.Keyring) string {
	t.Helper()
	id, _, err := store.ID(t.Context())
	require.NoError(t, err)
	return id
}

func TestALogAndAKeyringThatAreNewBelongTogether(t *testing.T) {
	log, store := newLog(t), newStore(t)
	outcomes := make(chan error)
	const instances = 6
	for range instances { // that start together
		go func() { outcomes <- log.Match(t.Context(), store, "", journal.System()) }()
	}
	for range instances {
		require.NoError(t, <-outcomes)
	}
	require.NotEmpty(t, idOf(t, store))
	require.NoError(t, log.Match(t.Context(), store, "", journal.System()))
}

func TestAKeyringOfBeforeKeyringsHadIdsIsTheLogs(t *testing.T) {
	log, store := newLog(t), newStore(t)
	sealed, err := store.Seal(t.Context(), "a1", []byte("private"), "x")
	require.NoError(t, err)
	require.NoError(t, log.Match(t.Context(), store, "", journal.System()))
	require.NotEmpty(t, idOf(t, store))
	opened, err := store.Open(t.Context(), "a1", sealed, "x")
	require.NoError(t, err)
	require.Equal(t, "private", string(opened))
}

func TestAnotherKeyringIsRefusedUntilTheLogsIsAbandoned(t *testing.T) {
	for name, another := range map[string]func(*testing.T) *pgkeys.Keyring{
		"an empty one": newStore,
		"that of another log": func(t *testing.T) *pgkeys.Keyring {
			store := newStore(t)
			require.NoError(t, newLog(t).Match(t.Context(), store, "", journal.System()))
			return store
		},
	} {
		t.Run(name, func(t *testing.T) {
			// given a log with its keyring, and another one in its place
			log, lost, other := newLog(t), newStore(t), another(t)
			require.NoError(t, log.Match(t.Context(), lost, "", journal.System()))
			found, known := idOf(t, other), idOf(t, lost)

			// then it is refused, and stays as it is
			var refused *commands.OtherError
			for _, abandoned := range []string{"", "k0", found} {
				require.ErrorAs(t, log.Match(t.Context(), other, abandoned, journal.System()), &refused)
				require.Equal(t, &commands.OtherError{Known: known, Found: found}, refused)
				require.Equal(t, found, idOf(t, other))
			}

			// when the log's is abandoned, then the other one is the log's, and the first is not
			require.NoError(t, log.Match(t.Context(), other, known, journal.System()))
			require.NoError(t, log.Match(t.Context(), other, "", journal.System()))
			require.NoError(t, log.Match(t.Context(), other, known, journal.System()), "once more")
			require.ErrorAs(t, log.Match(t.Context(), lost, "", journal.System()), &refused)
		})
	}
}
