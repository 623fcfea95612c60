package commands_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/eventlog"
)

var errCrash = errors.New("crash")

// crashing is a log that dies after some appends: the one at which it dies is written, but nobody learns of it.
type crashing struct {
	eventlog.Log
	left int
}

func (c *crashing) Append(ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed) (eventlog.Appended, error) {
	if c.left == 0 {
		return eventlog.Appended{}, errCrash
	}
	appended, err := c.Log.Append(ctx, stream, expected, events)
	if c.left--; c.left == 0 {
		return eventlog.Appended{}, errCrash
	}
	return appended, err
}

func drawKey(t *testing.T, digit byte) string {
	t.Helper()
	key, err := account.DrawAPIKey(bytes.NewReader(bytes.Repeat([]byte{digit}, 30)))
	require.NoError(t, err)
	return key
}

func (w *world) account(id string) account.State {
	w.t.Helper()
	var state account.State
	for _, event := range fold[account.Event](w, "account-"+id) {
		state = account.Evolve(state, event)
	}
	return state
}

func TestOpenGivesAnAccountAKey(t *testing.T) {
	w := newWorld(t)
	opened, err := w.accounts.Open(t.Context(), "indie", operator)
	require.NoError(t, err)
	require.True(t, account.WellFormedAPIKey(opened.Key.Key))
	require.Equal(t, account.MaskAPIKey(opened.Key.Key), opened.Key.Masked)

	state := w.account(opened.Account)
	require.EqualValues(t, "indie", state.Plan)
	require.Equal(t, []account.Key{{Hash: account.HashAPIKey(opened.Key.Key), Masked: opened.Key.Masked}}, state.Keys)
	head, err := w.log.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, head, opened.Key.Position)
}

func TestOpenRefusesAnUnknownPlan(t *testing.T) {
	w := newWorld(t)
	_, err := w.accounts.Open(t.Context(), "gold", operator)
	require.Equal(t, domain.Invalid, domain.CodeOf(err))
	head, err := w.log.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, eventlog.Start(), head)
}

func TestAConflictIsDecidedAnew(t *testing.T) {
	// given many that change one account at once
	w := newWorld(t)
	id := w.open("free")
	const keys = 24
	var wait sync.WaitGroup
	for range keys {
		wait.Go(func() {
			_, err := w.accounts.CreateKey(t.Context(), id, "", operator)
			assert.NoError(t, err)
		})
	}
	wait.Wait()

	// then there were conflicts, and every change is there once
	require.Positive(t, w.log.conflicts.Load())
	require.Len(t, w.account(id).Keys, keys+1)
}

func TestAnAccountTakesNoMoreKeysThanItMay(t *testing.T) {
	w := newWorld(t)
	id := w.open("free")
	for range account.MaxKeys - 1 {
		_, err := w.accounts.CreateKey(t.Context(), id, "", operator)
		require.NoError(t, err)
	}
	_, err := w.accounts.CreateKey(t.Context(), id, "", operator)
	require.Equal(t, domain.Denied, domain.CodeOf(err))
	require.Len(t, w.account(id).Keys, account.MaxKeys)
}

func TestAKeyThatLooksLikeAnotherIsDrawnAgain(t *testing.T) {
	// given an account with a key of the masked form that comes next
	w := newWorld(t)
	id := w.open("free")
	first, second := drawKey(t, 7), drawKey(t, 8)
	w.other("account-"+id, 1, account.APIKeyCreated{Account: id, Hash: "another", Masked: account.MaskAPIKey(first), At: startTime})
	w.accounts.DrawFrom(bytes.NewReader(slices.Concat(bytes.Repeat([]byte{7}, 30), bytes.Repeat([]byte{8}, 30))))

	// when a key is created, then it is the one after
	made, err := w.accounts.CreateKey(t.Context(), id, "", operator)
	require.NoError(t, err)
	require.Equal(t, second, made.Key)

	// and without more randomness there is an error, not a weak key
	_, err = w.accounts.CreateKey(t.Context(), id, "", operator)
	require.Error(t, err)
	require.Len(t, w.account(id).Keys, 3)
}

func TestEnsureChangesNothingTheSecondTime(t *testing.T) {
	w := newWorld(t)
	key := drawKey(t, 1)
	made, err := w.accounts.Ensure(t.Context(), "operator", "enterprise", key, "dev")
	require.NoError(t, err)
	appends := w.log.appends.Load()

	again, err := w.accounts.Ensure(t.Context(), "operator", "enterprise", key, "dev")
	require.NoError(t, err)
	require.Equal(t, made, again, "the position of what is there")
	require.Equal(t, appends, w.log.appends.Load())

	_, err = w.accounts.Ensure(t.Context(), "operator", "free", key, "dev")
	require.Equal(t, domain.Conflict, domain.CodeOf(err))
}

func TestEnsureCompletesWhatACrashCutShort(t *testing.T) {
	key := drawKey(t, 1)
	for written := range 3 {
		// given an Ensure that ended in a crash after so many appends
		w := newWorld(t)
		journal := commands.Journal{Log: &crashing{Log: w.log, left: written}, Registry: w.journal.Registry}
		_, err := commands.NewAccounts(journal, w.clock.Now).Ensure(t.Context(), "operator", "enterprise", key, "dev")
		require.ErrorIs(t, err, errCrash)
		require.Len(t, fold[account.Event](w, "account-operator"), written)

		// when it is repeated, then all is there, once
		_, err = w.accounts.Ensure(t.Context(), "operator", "enterprise", key, "dev")
		require.NoError(t, err)
		require.Len(t, fold[account.Event](w, "account-operator"), 2)
		require.Len(t, w.account("operator").Keys, 1)
	}
}

func TestACommandEndsWithItsContext(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.accounts.Open(ctx, "free", operator)
	require.ErrorIs(t, err, context.Canceled)
	_, err = w.ledger().Reserve(ctx, "nobody", 1, operator)
	require.ErrorIs(t, err, context.Canceled)
}
