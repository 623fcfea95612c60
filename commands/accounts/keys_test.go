package accounts_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

func TestARevokedKeyIsGone(t *testing.T) {
	w := newWorld(t)
	opened, err := w.Accounts.Open(t.Context(), "indie", commandstest.Operator())
	require.NoError(t, err)
	other, err := w.Accounts.CreateKey(t.Context(), opened.Account, "", commandstest.Operator())
	require.NoError(t, err)

	position, err := w.Accounts.RevokeKey(t.Context(), opened.Account, opened.Key.Masked, commandstest.Operator())
	require.NoError(t, err)
	head, err := w.Log.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, head, position)

	state, revision, err := w.Accounts.State(t.Context(), opened.Account)
	require.NoError(t, err)
	require.EqualValues(t, 3, revision)
	require.Equal(t, []account.Key{{Hash: account.HashAPIKey(other.Key), Masked: other.Masked}}, state.Keys)

	for name, attempt := range map[string]struct{ account, masked string }{
		"a second time":      {opened.Account, opened.Key.Masked},
		"one that never was": {opened.Account, "rk_0000****0000"},
		"another account's":  {w.Open("free"), other.Masked},
		"nobody's":           {"nobody", other.Masked},
	} {
		_, err := w.Accounts.RevokeKey(t.Context(), attempt.account, attempt.masked, commandstest.Operator())
		require.Equal(t, domain.NotFound, domain.CodeOf(err), name)
	}
}

func TestOfManyWhoRevokeAKeyOneDoes(t *testing.T) {
	w := newWorld(t)
	opened, err := w.Accounts.Open(t.Context(), "indie", commandstest.Operator())
	require.NoError(t, err)
	var wait sync.WaitGroup
	var done atomic.Int64
	for range 16 {
		wait.Go(func() {
			_, err := w.Accounts.RevokeKey(t.Context(), opened.Account, opened.Key.Masked, commandstest.Operator())
			if err == nil {
				done.Add(1)
				return
			}
			assert.Equal(t, domain.NotFound, domain.CodeOf(err))
		})
	}
	wait.Wait()
	require.EqualValues(t, 1, done.Load())
	require.Empty(t, w.Account(opened.Account).Keys)
}

func TestEnsureDoesNotBringARevokedKeyBack(t *testing.T) {
	w := newWorld(t)
	key := drawKey(t, 1)
	w.Must(w.Accounts.Ensure(t.Context(), "operator", "enterprise", key))
	w.Must(w.Accounts.RevokeKey(t.Context(), "operator", account.MaskAPIKey(key), commandstest.Operator()))

	for range 2 {
		_, err := w.Accounts.Ensure(t.Context(), "operator", "enterprise", key)
		require.ErrorIs(t, err, accounts.ErrKeyRevoked)
		require.Empty(t, w.Account("operator").Keys)
	}

	// when another key replaces it, then that one is valid
	w.Must(w.Accounts.Ensure(t.Context(), "operator", "enterprise", drawKey(t, 2)))
	require.Len(t, w.Account("operator").Keys, 1)
}

func TestARevocationWhoseAnswerIsLostHasHappenedOnce(t *testing.T) {
	w := newWorld(t)
	opened, err := w.Accounts.Open(t.Context(), "indie", commandstest.Operator())
	require.NoError(t, err)
	broken := &journal.Journal{Log: &crashing{Log: w.Log, left: 1}, Registry: w.Journal.Registry}
	_, err = accounts.New(broken, w.Clock.Now).RevokeKey(t.Context(), opened.Account, opened.Key.Masked,
		commandstest.Operator())
	require.ErrorIs(t, err, errCrash)

	_, err = w.Accounts.RevokeKey(t.Context(), opened.Account, opened.Key.Masked, commandstest.Operator())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
	require.Len(t, commandstest.Fold[account.Event](w.World, "account-"+opened.Account), 3)
}

func TestALookUpReadsNoMoreHoweverManyKeysThereWere(t *testing.T) {
	// given an account without a snapshot in which many keys were created and revoked
	w := newWorld(t)
	id := w.Open("indie")
	revision := eventlog.Revision(1)
	const earlier = 5_000
	for i := 0; i < earlier; i += 500 {
		var events []any
		for j := range 500 {
			hash := fmt.Sprint("h", i+j)
			events = append(events,
				account.APIKeyCreated{Account: id, Hash: hash, Masked: "rk_0000****0000", At: w.Clock.Now()},
				account.APIKeyRevoked{Account: id, Hash: hash, Masked: "rk_0000****0000", At: w.Clock.Now()})
		}
		revision = w.Other("account-"+id, revision, events...)
	}
	require.EqualValues(t, 1+2*earlier, revision)

	// when some more are created and revoked
	for range account.SnapshotEvery {
		made, err := w.Accounts.CreateKey(t.Context(), id, "", commandstest.Operator())
		require.NoError(t, err)
		w.Must(w.Accounts.RevokeKey(t.Context(), id, made.Masked, commandstest.Operator()))

		// then a look-up reads few events and finds the key that was never revoked
		before := w.Log.Read("account-" + id)
		state, _, err := w.Accounts.State(t.Context(), id)
		require.NoError(t, err)
		require.LessOrEqual(t, w.Log.Read("account-"+id)-before, int64(2*account.SnapshotEvery))
		require.Len(t, state.Keys, 1)
	}

	// and the log has all events
	require.Len(t, w.Account(id).Keys, 1)
}

func TestARevokedKeyDoesNotComeBackAfterASnapshot(t *testing.T) {
	w := newWorld(t)
	key := drawKey(t, 1)
	w.Must(w.Accounts.Ensure(t.Context(), "operator", "enterprise", key))
	w.Must(w.Accounts.RevokeKey(t.Context(), "operator", account.MaskAPIKey(key), commandstest.Operator()))
	w.Other("account-operator", 3, account.SnapshotTaken{
		Facts: account.Facts{Account: "operator", OpenedOn: "enterprise", OpenedAt: w.Clock.Now()}, At: w.Clock.Now(),
	})

	_, err := w.Accounts.Ensure(t.Context(), "operator", "enterprise", key)
	require.ErrorIs(t, err, accounts.ErrKeyRevoked)
	require.Empty(t, w.Account("operator").Keys)
}
