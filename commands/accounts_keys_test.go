package commands_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
)

func TestARevokedKeyIsGone(t *testing.T) {
	w := newWorld(t)
	opened, err := w.accounts.Open(t.Context(), "indie", operator)
	require.NoError(t, err)
	other, err := w.accounts.CreateKey(t.Context(), opened.Account, "", operator)
	require.NoError(t, err)

	position, err := w.accounts.RevokeKey(t.Context(), opened.Account, opened.Key.Masked, operator)
	require.NoError(t, err)
	head, err := w.log.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, head, position)

	state, revision, err := w.accounts.State(t.Context(), opened.Account)
	require.NoError(t, err)
	require.EqualValues(t, 3, revision)
	require.Equal(t, []account.Key{{Hash: account.HashAPIKey(other.Key), Masked: other.Masked}}, state.Keys)
	require.True(t, state.Revoked(account.HashAPIKey(opened.Key.Key)))

	for name, attempt := range map[string]struct{ account, masked string }{
		"a second time":      {opened.Account, opened.Key.Masked},
		"one that never was": {opened.Account, "rk_0000****0000"},
		"another account's":  {w.open("free"), other.Masked},
		"nobody's":           {"nobody", other.Masked},
	} {
		_, err := w.accounts.RevokeKey(t.Context(), attempt.account, attempt.masked, operator)
		require.Equal(t, domain.NotFound, domain.CodeOf(err), name)
	}
}

func TestOfManyWhoRevokeAKeyOneDoes(t *testing.T) {
	w := newWorld(t)
	opened, err := w.accounts.Open(t.Context(), "indie", operator)
	require.NoError(t, err)
	var wait sync.WaitGroup
	var done atomic.Int64
	for range 16 {
		wait.Go(func() {
			_, err := w.accounts.RevokeKey(t.Context(), opened.Account, opened.Key.Masked, operator)
			if err == nil {
				done.Add(1)
				return
			}
			assert.Equal(t, domain.NotFound, domain.CodeOf(err))
		})
	}
	wait.Wait()
	require.EqualValues(t, 1, done.Load())
	require.Empty(t, w.account(opened.Account).Keys)
}

func TestEnsureDoesNotBringARevokedKeyBack(t *testing.T) {
	w := newWorld(t)
	key := drawKey(t, 1)
	_, err := w.accounts.Ensure(t.Context(), "operator", "enterprise", key, "dev")
	require.NoError(t, err)
	_, err = w.accounts.RevokeKey(t.Context(), "operator", account.MaskAPIKey(key), operator)
	require.NoError(t, err)

	for range 2 {
		_, err = w.accounts.Ensure(t.Context(), "operator", "enterprise", key, "dev")
		require.ErrorIs(t, err, account.ErrKeyRevoked)
		require.Empty(t, w.account("operator").Keys)
	}

	// when another key takes its place, then that one lives
	_, err = w.accounts.Ensure(t.Context(), "operator", "enterprise", drawKey(t, 2), "dev")
	require.NoError(t, err)
	require.Len(t, w.account("operator").Keys, 1)
}

func TestARevocationWhoseAnswerIsLostHasHappenedOnce(t *testing.T) {
	w := newWorld(t)
	opened, err := w.accounts.Open(t.Context(), "indie", operator)
	require.NoError(t, err)
	journal := commands.Journal{Log: &crashing{Log: w.log, left: 1}, Registry: w.journal.Registry}
	_, err = commands.NewAccounts(journal, w.clock.Now).RevokeKey(t.Context(), opened.Account, opened.Key.Masked, operator)
	require.ErrorIs(t, err, errCrash)

	_, err = w.accounts.RevokeKey(t.Context(), opened.Account, opened.Key.Masked, operator)
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
	require.Len(t, fold[account.Event](w, "account-"+opened.Account), 3)
}
