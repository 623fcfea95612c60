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
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/eventlog/memlog"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newLog returns a function that combines the keyring of an empty log with a store.
func newLog(t *testing.T) func(commands.Store) *commands.Keyring {
	t.Helper()
	client := memlog.New()
	registry, err := eventlog.NewRegistry(commands.Events()...)
	require.NoError(t, err)
	return func(store commands.Store) *commands.Keyring {
		return commands.New(&journal.Journal{Log: client, Registry: registry}, store, slog.New(slog.DiscardHandler), time.Now)
	}
}

func newStore(t *testing.T) *pgkeys.Keyring {
	t.Helper()
	keys, err := pgkeys.New(pgkeys.Config{
		Pool: pgtest.New(t), MasterKey: bytes.Repeat([]byte{1}, pgkeys.MasterKeySize), Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return keys
}

func idOf(t *testing.T, store *pgkeys.Keyring) string {
	t.Helper()
	id, err := store.ID(t.Context())
	require.NoError(t, err)
	return id
}

func TestALogAndAKeyringThatAreNewBelongTogether(t *testing.T) {
	store := newStore(t)
	log := newLog(t)(store)
	outcomes := make(chan error)
	const instances = 6
	for range instances { // starting concurrently
		go func() { outcomes <- log.Match(t.Context()) }()
	}
	for range instances {
		require.NoError(t, <-outcomes)
	}
	require.NotEmpty(t, idOf(t, store))
	require.NoError(t, log.Match(t.Context()))
}

func TestAnotherKeyringIsRefusedUntilTheLogsIsAbandoned(t *testing.T) {
	for name, another := range map[string]func(*testing.T) *pgkeys.Keyring{
		"an empty one": newStore,
		"that of another log": func(t *testing.T) *pgkeys.Keyring {
			store := newStore(t)
			require.NoError(t, newLog(t)(store).Match(t.Context()))
			return store
		},
	} {
		t.Run(name, func(t *testing.T) {
			// given a log with its keyring, and a store with another one
			with, lost, other := newLog(t), newStore(t), another(t)
			require.NoError(t, with(lost).Match(t.Context()))
			ids := commands.IDs{Log: idOf(t, lost), Store: idOf(t, other)}
			log := with(other)

			// then it is refused, whichever other keyring is to be abandoned, and stays unchanged
			var refused *commands.OtherError
			for _, id := range []string{"", "k0", ids.Store} {
				_, err := log.Abandon(t.Context(), id, journal.System())
				require.Equal(t, domain.Rejected, domain.CodeOf(err))
				require.ErrorAs(t, log.Match(t.Context()), &refused)
				require.Equal(t, &commands.OtherError{IDs: ids}, refused)
				shown, err := log.IDs(t.Context())
				require.NoError(t, err)
				require.Equal(t, ids, shown)
			}

			// when the log's is abandoned, then the other one becomes the log's, and the first one is refused
			position, err := log.Abandon(t.Context(), ids.Log, journal.System())
			require.NoError(t, err)
			require.NoError(t, log.Match(t.Context()))
			again, err := log.Abandon(t.Context(), ids.Log, journal.System())
			require.NoError(t, err)
			require.Equal(t, position, again, "it is in the log once")
			require.ErrorAs(t, with(lost).Match(t.Context()), &refused)

			// and a keyring in the store cannot be abandoned
			_, err = log.Abandon(t.Context(), idOf(t, other), journal.System())
			require.Equal(t, domain.Rejected, domain.CodeOf(err))
		})
	}
}
