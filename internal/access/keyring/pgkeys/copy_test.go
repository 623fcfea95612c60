package pgkeys_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/keyring"
	"github.com/recital-tts/recital/internal/access/keyring/keyringtest"
	"github.com/recital-tts/recital/internal/access/keyring/pgkeys"
	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

func noneClosed(context.Context, string) (bool, error) { return false, nil }

func export(t *testing.T, keys *pgkeys.Keyring) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, keys.Export(t.Context(), &out))
	return out.Bytes()
}

func load(
	t *testing.T, keys *pgkeys.Keyring, copied []byte, closed func(context.Context, string) (bool, error),
) (keyring.Imported, error) {
	t.Helper()
	reader, err := keyring.NewCopyReader(bytes.NewReader(copied))
	require.NoError(t, err)
	return keys.Import(t.Context(), reader, closed)
}

// copied returns a copy of a keyring with an account that is open, one that is closed, and one that is erased.
func copied(t *testing.T) (whole []byte, sealed map[string][]byte, print []byte) {
	t.Helper()
	from := ring(t, pgtest.New(t))
	_, err := from.Identify(t.Context(), "k1")
	require.NoError(t, err)
	sealed = map[string][]byte{}
	for _, account := range []string{"open", "closed", "erased"} {
		sealed[account] = keyringtest.Seal(t, from, account, "text of "+account, "x")
	}
	print, err = from.Fingerprint(t.Context(), []byte("a@example.com"), "email")
	require.NoError(t, err)
	require.NoError(t, from.Erase(t.Context(), "erased"))
	return export(t, from), sealed, print
}

func TestACopyIsImportedWithoutTheKeysOfClosedAccounts(t *testing.T) {
	whole, sealed, print := copied(t)
	require.NotContains(t, string(whole), string(master))

	// given another Postgres
	pool := pgtest.New(t)
	to := ring(t, pool)
	closed := func(_ context.Context, account string) (bool, error) { return account == "closed", nil }
	for range 2 { // a repetition changes nothing
		done, err := load(t, to, whole, closed)
		require.NoError(t, err)
		require.Equal(t, keyring.Imported{Keys: 4, Erased: 1}, done)
	}

	// then it holds the same keyring
	id, err := to.ID(t.Context())
	require.NoError(t, err)
	require.Equal(t, "k1", id)
	opened, err := to.Open(t.Context(), "open", sealed["open"], "x")
	require.NoError(t, err)
	require.Equal(t, "text of open", string(opened))
	again, err := to.Fingerprint(t.Context(), []byte("a@example.com"), "email")
	require.NoError(t, err)
	require.Equal(t, print, again)

	// except for accounts that were erased before or after the copy, even if an earlier copy is imported later
	_, err = load(t, to, whole, noneClosed)
	require.NoError(t, err)
	for _, account := range []string{"closed", "erased"} {
		_, err = to.Open(t.Context(), account, sealed[account], "x")
		require.ErrorIs(t, err, keyring.ErrErased)
		_, err = to.Seal(t.Context(), account, []byte("x"), "x")
		require.ErrorIs(t, err, keyring.ErrErased)
	}
}

// If a copy is cut or altered anywhere, or its import fails, then nothing of it is imported.
func TestACopyIsImportedWhollyOrNotAtAll(t *testing.T) {
	whole, _, _ := copied(t)
	pool := pgtest.New(t)
	to := ring(t, pool)
	requireNothing := func() {
		t.Helper()
		id, err := to.ID(t.Context())
		require.NoError(t, err)
		require.Empty(t, id)
		var keys bool
		require.NoError(t, pool.QueryRow(t.Context(), `select exists (select from keyring.account_keys)`).Scan(&keys))
		require.False(t, keys)
	}
	try := func(copied []byte) error {
		reader, err := keyring.NewCopyReader(bytes.NewReader(copied))
		if err == nil {
			_, err = to.Import(t.Context(), reader, noneClosed)
		}
		return err
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for cut := 0; cut < len(whole)-1; cut += 37 {
		require.ErrorIs(t, try(whole[:cut]), keyring.ErrCopy)
	}
	for n := range len(lines) - 1 { // any line is missing
		require.Error(t, try(bytes.Join(append(append([][]byte{}, lines[:n]...), lines[n+1:]...), nil)))
	}
	require.Error(t, try(append(bytes.Clone(whole), lines[1]...)), "data after the end")
	require.Error(t, try(bytes.Replace(whole, []byte(`"account":"open"`), []byte(`"account":"mine"`), 1)),
		"a key of another account")
	requireNothing()

	failed := errors.New("the log is away")
	_, err := load(t, to, whole, func(context.Context, string) (bool, error) { return false, failed })
	require.ErrorIs(t, err, failed)
	requireNothing()

	other := ring(t, pool, func(c *pgkeys.Config) { c.MasterKey = bytes.Repeat([]byte{2}, pgkeys.MasterKeySize) })
	_, err = load(t, other, whole, noneClosed)
	require.Equal(t, domain.Rejected, domain.CodeOf(err))
	require.ErrorContains(t, err, "RECITAL_MASTER_KEY_FILE")
	requireNothing()

	require.NoError(t, try(whole))
	require.NoError(t, try(whole))
}

func TestACopyOfAnotherKeyringIsRefused(t *testing.T) {
	whole, _, _ := copied(t)
	to := ring(t, pgtest.New(t))
	_, err := to.Identify(t.Context(), "k2")
	require.NoError(t, err)
	sealed := keyringtest.Seal(t, to, "open", "mine", "x")
	_, err = load(t, to, whole, noneClosed)
	require.Equal(t, domain.Rejected, domain.CodeOf(err))
	opened, err := to.Open(t.Context(), "open", sealed, "x")
	require.NoError(t, err)
	require.Equal(t, "mine", string(opened))
}
