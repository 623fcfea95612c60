package pgkeys_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/keyring"
	"github.com/recital-tts/recital/internal/postgres/pgtest"
)

func fingerprint(t testing.TB, keys keyring.Fingerprinter, data, use string) string {
	t.Helper()
	print, err := keys.Fingerprint(t.Context(), []byte(data), use)
	require.NoError(t, err)
	require.Len(t, print, 32)
	return string(print)
}

// Instances that start together draw one key.
func TestInstancesAgreeOnFingerprints(t *testing.T) {
	pool := pgtest.New(t)
	prints := make([]string, 8)
	var all sync.WaitGroup
	for i := range prints {
		keys := ring(t, pool)
		all.Go(func() {
			print, err := keys.Fingerprint(t.Context(), []byte("ada"), "identity")
			assert.NoError(t, err)
			prints[i] = string(print)
		})
	}
	all.Wait()
	require.Len(t, slices.Compact(prints), 1)
	require.Equal(t, prints[0], fingerprint(t, ring(t, pool), "ada", "identity"), "and one that starts later has it, too")
}

func TestFingerprintsHaveNothingInCommon(t *testing.T) {
	here, elsewhere := ring(t, pgtest.New(t)), ring(t, pgtest.New(t))
	ada := fingerprint(t, here, "ada", "identity")
	require.Equal(t, ada, fingerprint(t, here, "ada", "identity"))
	require.NotEqual(t, ada, fingerprint(t, here, "bob", "identity"))
	require.NotEqual(t, ada, fingerprint(t, here, "ada", "email"))
	require.NotEqual(t, ada, fingerprint(t, elsewhere, "ada", "identity"), "another keyring has another key")
}
