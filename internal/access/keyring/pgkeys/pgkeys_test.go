package pgkeys_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/access/keyring/keyringtest"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var master = bytes.Repeat([]byte{1}, pgkeys.MasterKeySize)

// ring returns an instance's keyring on a database.
func ring(t testing.TB, pool *pgxpool.Pool, change ...func(*pgkeys.Config)) *pgkeys.Keyring {
	t.Helper()
	keys, err := pgkeys.New(config(pool, change...))
	require.NoError(t, err)
	require.NoError(t, keys.Check(t.Context()))
	return keys
}

func config(pool *pgxpool.Pool, change ...func(*pgkeys.Config)) pgkeys.Config {
	c := pgkeys.Config{Pool: pool, MasterKey: master, Logger: slog.New(slog.DiscardHandler)}
	for _, f := range change {
		f(&c)
	}
	return c
}

func TestContract(t *testing.T) {
	keyringtest.Run(t, func(t *testing.T) keyringtest.Keyring { return ring(t, pgtest.New(t)) })
}

func TestConcurrentInstancesGetTheSameFirstKey(t *testing.T) {
	pool := pgtest.New(t)
	var group sync.WaitGroup
	sealed := make([][]byte, 12)
	for i := range sealed {
		keys := ring(t, pool)
		group.Go(func() {
			var err error
			sealed[i], err = keys.Seal(t.Context(), "a1", []byte("hello"), "x")
			assert.NoError(t, err)
		})
	}
	group.Wait()
	keys := ring(t, pool)
	for _, s := range sealed {
		opened, err := keys.Open(t.Context(), "a1", s, "x")
		require.NoError(t, err)
		require.Equal(t, "hello", string(opened))
	}
}

func TestTheKeyIsInTheDatabaseBeforeAnythingIsSealedWithIt(t *testing.T) {
	pool := pgtest.New(t)
	sealed := keyringtest.Seal(t, ring(t, pool), "a1", "hello", "x")
	opened, err := ring(t, pool).Open(t.Context(), "a1", sealed, "x") // as after a crash
	require.NoError(t, err)
	require.Equal(t, "hello", string(opened))

	// and neither the key nor the master key is readable there
	var wrapped []byte
	require.NoError(t, pool.QueryRow(t.Context(),
		`select wrapped_key from keyring.account_keys where account_id = 'a1'`).Scan(&wrapped))
	require.NotContains(t, string(wrapped), string(master[:8]))
	_, err = pool.Exec(t.Context(), `insert into keyring.account_keys (account_id, wrapped_key, master_key_id)
		select 'a2', wrapped_key, master_key_id from keyring.account_keys where account_id = 'a1'`)
	require.NoError(t, err)
	_, err = ring(t, pool).Seal(t.Context(), "a2", []byte("hello"), "x")
	require.Error(t, err, "a key that was copied to another account is accepted")
}

func TestAnErasedKeyIsGoneForInstancesThatStartLater(t *testing.T) {
	pool := pgtest.New(t)
	sealed := keyringtest.Seal(t, ring(t, pool), "a1", "private", "x")
	require.NoError(t, ring(t, pool).Erase(t.Context(), "a1"))
	later := ring(t, pool)
	_, err := later.Open(t.Context(), "a1", sealed, "x")
	require.ErrorIs(t, err, keyring.ErrErased)
	_, err = later.Seal(t.Context(), "a1", []byte("more"), "x")
	require.ErrorIs(t, err, keyring.ErrErased)
	var left int
	require.NoError(t, pool.QueryRow(t.Context(),
		`select count(*) from keyring.account_keys where account_id = 'a1' and wrapped_key is null
			and erased_at is not null`).Scan(&left))
	require.Equal(t, 1, left)
}

func TestAnErasureByAnotherInstanceIsSeenSoon(t *testing.T) {
	// given an instance that has cached a key
	pool := pgtest.New(t)
	now := time.Now()
	here := ring(t, pool, func(c *pgkeys.Config) { c.Now = func() time.Time { return now } })
	sealed := keyringtest.Seal(t, here, "a1", "private", "x")

	// when another instance erases it, then it is gone here after half a minute
	require.NoError(t, ring(t, pool).Erase(t.Context(), "a1"))
	now = now.Add(30 * time.Second)
	_, err := here.Open(t.Context(), "a1", sealed, "x")
	require.ErrorIs(t, err, keyring.ErrErased)
}

func TestReadingManySealedTextsOfAnAccountQueriesOnce(t *testing.T) {
	pool := pgtest.New(t)
	keys := ring(t, pool)
	sealed := keyringtest.Seal(t, keys, "a1", "hello", "x")
	_, err := pool.Exec(t.Context(), `alter schema keyring rename to keyring_away`)
	require.NoError(t, err)
	for range 100 {
		_, err := keys.Open(t.Context(), "a1", sealed, "x")
		require.NoError(t, err)
	}
	_, err = keys.Open(t.Context(), "a2", sealed, "x")
	require.Equal(t, domain.Unavailable, domain.CodeOf(err))
}

func TestAnotherMasterKeyIsRefusedAtTheStart(t *testing.T) {
	pool := pgtest.New(t)
	other := func(c *pgkeys.Config) { c.MasterKey = bytes.Repeat([]byte{2}, pgkeys.MasterKeySize) }
	ring(t, pool, other) // nothing is wrapped yet
	keyringtest.Seal(t, ring(t, pool), "a1", "hello", "x")
	keys, err := pgkeys.New(config(pool, other))
	require.NoError(t, err)
	require.ErrorContains(t, keys.Check(t.Context()), "RECITAL_MASTER_KEY_FILE")
	ring(t, pool)
	require.NoError(t, ring(t, pool).Erase(t.Context(), "a1"))
	ring(t, pool, other) // tombstones do not bind the master key
}

func TestTheConfigurationIsChecked(t *testing.T) {
	pool := pgtest.New(t)
	for name, change := range map[string]func(*pgkeys.Config){
		"no pool":              func(c *pgkeys.Config) { c.Pool = nil },
		"no logger":            func(c *pgkeys.Config) { c.Logger = nil },
		"a short master key":   func(c *pgkeys.Config) { c.MasterKey = master[:16] },
		"no master key at all": func(c *pgkeys.Config) { c.MasterKey = nil },
	} {
		_, err := pgkeys.New(config(pool, change))
		require.Error(t, err, name)
	}
}

func TestNothingPrivateIsLogged(t *testing.T) {
	var log strings.Builder
	pool := pgtest.New(t)
	keys := ring(t, pool, func(c *pgkeys.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	sealed := keyringtest.Seal(t, keys, "a1", "private", "clip/secret-use")
	_, err := keys.Open(t.Context(), "a1", sealed, "clip/2")
	require.Error(t, err)
	_, err = keys.Open(t.Context(), "a2", sealed, "clip/2")
	require.Error(t, err)
	require.Contains(t, log.String(), "account=a1")
	require.Contains(t, log.String(), "account=a2")
	require.NotContains(t, log.String(), "private")
	require.NotContains(t, log.String(), string(sealed))
}
