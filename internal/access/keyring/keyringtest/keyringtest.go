// Package keyringtest is the contract suite that every keyring.Keyring passes.
package keyringtest

import (
	"bytes"
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/internal/access/keyring"
)

// Keyring is a keyring under test.
type Keyring interface {
	keyring.Keyring
	keyring.Fingerprinter
}

// Run runs the suite. open returns an empty keyring.
func Run(t *testing.T, open func(t *testing.T) Keyring) {
	for name, test := range map[string]func(*testing.T, Keyring){
		"sealed data is opened":                              opened,
		"data for another purpose is not opened":             notOpened,
		"sealing the same twice looks different":             differs,
		"erased is erased for ever":                          erased,
		"an account that never had a key can be erased, too": erasedBefore,
		"calls end with their context":                       ends,
		"fingerprints of two texts or uses differ":           fingerprints,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
	t.Run("another keyring has other fingerprints", func(t *testing.T) {
		require.NotEqual(t, fingerprint(t, open(t), "ada", "identity"), fingerprint(t, open(t), "ada", "identity"))
	})
}

// Seal seals a text.
func Seal(t testing.TB, keys keyring.Keyring, account, text, use string) []byte {
	t.Helper()
	sealed, err := keys.Seal(t.Context(), account, []byte(text), use)
	require.NoError(t, err)
	return sealed
}

func opened(t *testing.T, keys Keyring) {
	rapid.Check(t, func(rt *rapid.T) {
		account := rapid.StringMatching(`[a-z0-9]{1,8}`).Draw(rt, "account")
		text := rapid.SliceOf(rapid.Byte()).Draw(rt, "text")
		use := rapid.String().Draw(rt, "use")
		sealed, err := keys.Seal(t.Context(), account, text, use)
		require.NoError(rt, err)
		if len(text) > 3 {
			require.False(rt, bytes.Contains(sealed, text), "the text is in clear")
		}
		opened, err := keys.Open(t.Context(), account, sealed, use)
		require.NoError(rt, err)
		require.True(rt, bytes.Equal(text, opened))
	})
}

func notOpened(t *testing.T, keys Keyring) {
	sealed := Seal(t, keys, "a1", "private", "clip/1")
	Seal(t, keys, "a2", "other", "clip/1")
	altered := bytes.Clone(sealed)
	altered[len(altered)-1] ^= 1
	for name, c := range map[string]struct {
		account, use string
		sealed       []byte
		want         error
	}{
		"another account":      {"a2", "clip/1", sealed, keyring.ErrUnreadable},
		"another use":          {"a1", "clip/2", sealed, keyring.ErrUnreadable},
		"altered":              {"a1", "clip/1", altered, keyring.ErrUnreadable},
		"cut":                  {"a1", "clip/1", sealed[:4], keyring.ErrUnreadable},
		"nothing":              {"a1", "clip/1", nil, keyring.ErrUnreadable},
		"an account of no key": {"a3", "clip/1", sealed, keyring.ErrNoKey},
		"a shifted use":        {"a1\nclip", "/1", sealed, keyring.ErrNoKey},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := keys.Open(t.Context(), c.account, c.sealed, c.use)
			require.ErrorIs(t, err, c.want)
			require.True(t, keyring.Gone(err))
			require.NotContains(t, err.Error(), "private")
		})
	}
}

func differs(t *testing.T, keys Keyring) {
	require.NotEqual(t, Seal(t, keys, "a1", "hello", "x"), Seal(t, keys, "a1", "hello", "x"))
}

func erased(t *testing.T, keys Keyring) {
	sealed, other := Seal(t, keys, "a1", "private", "x"), Seal(t, keys, "a2", "stays", "x")

	// when an account's key is erased, twice
	require.NoError(t, keys.Erase(t.Context(), "a1"))
	require.NoError(t, keys.Erase(t.Context(), "a1"))

	// then nothing can be opened any more, and no other key is created
	_, err := keys.Open(t.Context(), "a1", sealed, "x")
	require.ErrorIs(t, err, keyring.ErrErased)
	require.True(t, keyring.Gone(err))
	_, err = keys.Seal(t.Context(), "a1", []byte("more"), "x")
	require.ErrorIs(t, err, keyring.ErrErased)

	// and others are unaffected
	text, err := keys.Open(t.Context(), "a2", other, "x")
	require.NoError(t, err)
	require.Equal(t, "stays", string(text))
}

func erasedBefore(t *testing.T, keys Keyring) {
	require.NoError(t, keys.Erase(t.Context(), "a1"))
	_, err := keys.Seal(t.Context(), "a1", []byte("late"), "x")
	require.ErrorIs(t, err, keyring.ErrErased)
}

func ends(t *testing.T, keys Keyring) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := keys.Seal(ctx, "a1", []byte("x"), "x")
	require.ErrorIs(t, err, context.Canceled)
	require.NotEqual(t, domain.Unavailable, domain.CodeOf(err))
	require.ErrorIs(t, keys.Erase(ctx, "a1"), context.Canceled)
}

func fingerprints(t *testing.T, keys Keyring) {
	ada := fingerprint(t, keys, "ada", "identity")
	require.Equal(t, ada, fingerprint(t, keys, "ada", "identity"))
	require.NotEqual(t, ada, fingerprint(t, keys, "bob", "identity"))
	require.NotEqual(t, ada, fingerprint(t, keys, "ada", "email"))
}

func fingerprint(t testing.TB, keys keyring.Fingerprinter, data, use string) string {
	t.Helper()
	print, err := keys.Fingerprint(t.Context(), []byte(data), use)
	require.NoError(t, err)
	require.Len(t, print, 32)
	return string(print)
}
