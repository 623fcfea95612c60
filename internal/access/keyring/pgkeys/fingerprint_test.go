package pgkeys_test

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/internal/process/postgres/pgtest"
)

// Instances that start at the same time use the same key.
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
	later, err := ring(t, pool).Fingerprint(t.Context(), []byte("ada"), "identity")
	require.NoError(t, err)
	require.Equal(t, prints[0], string(later), "and so does one that starts later")
}
