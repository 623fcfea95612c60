package audit_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	commands "github.com/recital-tts/recital/commands/audit"
	"github.com/recital-tts/recital/internal/events/chain"
)

func TestAnInstanceChecksTheWholeLog(t *testing.T) {
	c := newChained(t)
	c.every = 500
	c.happen(1300)
	instance := c.instance()
	require.NoError(t, instance.Run(t.Context()))
	var seen []uint64
	note := func(now commands.Verification) error {
		require.NotZero(t, now.Until)
		seen = append(seen, now.Events)
		return nil
	}

	found, err := instance.Verify(t.Context(), note)
	require.NoError(t, err)
	require.True(t, found.Intact())
	require.Greater(t, found.Events, uint64(1000))
	require.NotZero(t, found.Foreign)
	require.Len(t, seen, 2)
	require.Less(t, seen[0], seen[1])

	// heads of another key are not accepted
	c.key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
	found, err = c.instance().Verify(t.Context(), note)
	require.NoError(t, err)
	require.False(t, found.Intact())
	require.Equal(t, chain.Forged, found.Findings[0].Kind)

	// and an error of the caller ends the check
	gone := errors.New("gone")
	_, err = instance.Verify(t.Context(), func(commands.Verification) error { return gone })
	require.ErrorIs(t, err, gone)
}
