package accounts_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/commands/journal"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

var errCrash = errors.New("crash")

// crashing is a log that dies after a number of appends: the last one is written, but reported as failed.
type crashing struct {
	eventlog.Log
	left int
}

func (c *crashing) Append(
	ctx context.Context, stream string, expected eventlog.Revision, events []eventlog.Proposed,
) (eventlog.Appended, error) {
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

func TestOpenGivesAnAccountAKey(t *testing.T) {
	w := newWorld(t)
	opened, err := w.Accounts.Open(t.Context(), "indie", commandstest.Operator())
	require.NoError(t, err)
	require.True(t, account.WellFormedAPIKey(opened.Key.Key))
	require.Equal(t, account.MaskAPIKey(opened.Key.Key), opened.Key.Masked)

	state := w.Account(opened.Account)
	require.EqualValues(t, "indie", state.OpenedOn)
	require.Equal(t, []account.Key{{Hash: account.HashAPIKey(opened.Key.Key), Masked: opened.Key.Masked}}, state.Keys)
	head, err := w.Log.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, head, opened.Key.Position)
}

func TestOpenRefusesAnUnknownPlan(t *testing.T) {
	w := newWorld(t)
	_, err := w.Accounts.Open(t.Context(), "gold", commandstest.Operator())
	require.Equal(t, domain.Invalid, domain.CodeOf(err))
	head, err := w.Log.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, eventlog.Start(), head)
}

func TestAConflictIsDecidedAnew(t *testing.T) {
	// given many concurrent changes of one account
	w := newWorld(t)
	id := w.Open("free")
	const keys = 24
	var wait sync.WaitGroup
	release := w.Log.Hold()
	for range keys {
		wait.Go(func() {
			_, err := w.Accounts.CreateKey(t.Context(), id, "", commandstest.Operator())
			assert.NoError(t, err)
		})
	}

	// when another instance appends before them
	<-w.Log.Held
	w.Other("account-"+id, 1, account.TermsAccepted{At: w.Clock.Now()})
	release()
	wait.Wait()

	// then there were conflicts, and every change was made once
	require.Positive(t, w.Log.Conflicts.Load())
	require.Len(t, w.Account(id).Keys, keys+1)
	require.True(t, w.Account(id).TermsAccepted)
}

func TestAnAccountTakesNoMoreKeysThanItMay(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	for range account.MaxKeys - 1 {
		w.Must(w.Accounts.CreateKey(t.Context(), id, "", commandstest.Operator()))
	}
	_, err := w.Accounts.CreateKey(t.Context(), id, "", commandstest.Operator())
	require.Equal(t, domain.Denied, domain.CodeOf(err))
	require.Len(t, w.Account(id).Keys, account.MaxKeys)
}

func TestAKeyThatLooksLikeAnotherIsDrawnAgain(t *testing.T) {
	// given an account with a key of the same masked form as the next one
	w := newWorld(t)
	id := w.Open("free")
	first, second := drawKey(t, 7), drawKey(t, 8)
	w.Other("account-"+id, 1, account.APIKeyCreated{Account: id, Hash: "another", Masked: account.MaskAPIKey(first),
		At: commandstest.StartTime()})
	w.Accounts.DrawFrom(bytes.NewReader(slices.Concat(bytes.Repeat([]byte{7}, 30), bytes.Repeat([]byte{8}, 30))))

	// when a key is created, then it is the one after that
	made, err := w.Accounts.CreateKey(t.Context(), id, "", commandstest.Operator())
	require.NoError(t, err)
	require.Equal(t, second, made.Key)

	// and without more randomness there is an error, not a weak key
	_, err = w.Accounts.CreateKey(t.Context(), id, "", commandstest.Operator())
	require.Error(t, err)
	require.Len(t, w.Account(id).Keys, 3)
}

func TestEnsureChangesNothingTheSecondTime(t *testing.T) {
	w := newWorld(t)
	key := drawKey(t, 1)
	made, err := w.Accounts.Ensure(t.Context(), "operator", "enterprise", key)
	require.NoError(t, err)
	appends := w.Log.Appends.Load()

	again, err := w.Accounts.Ensure(t.Context(), "operator", "enterprise", key)
	require.NoError(t, err)
	require.Equal(t, made, again, "the position of what is there")
	require.Equal(t, appends, w.Log.Appends.Load())

	_, err = w.Accounts.Ensure(t.Context(), "operator", "free", key)
	require.Equal(t, domain.Conflict, domain.CodeOf(err))
}

func TestEnsureCompletesWhatACrashCutShort(t *testing.T) {
	key := drawKey(t, 1)
	for written := range 3 {
		// given an Ensure that crashed after a number of appends
		w := newWorld(t)
		broken := &journal.Journal{Log: &crashing{Log: w.Log, left: written}, Registry: w.Journal.Registry}
		_, err := accounts.New(broken, w.Clock.Now).Ensure(t.Context(), "operator", "enterprise", key)
		require.ErrorIs(t, err, errCrash)
		require.Len(t, commandstest.Fold[apikey.Event](w.World, keyStream(key)), min(written, 1), "the key comes first")
		require.Len(t, commandstest.Fold[account.Event](w.World, "account-operator"), 3*(written/2))

		// when it is repeated, then it is complete, once
		w.Must(w.Accounts.Ensure(t.Context(), "operator", "enterprise", key))
		require.Len(t, commandstest.Fold[account.Event](w.World, "account-operator"), 3)
		require.Len(t, w.Account("operator").Keys, 1)
		require.Len(t, commandstest.Fold[apikey.Event](w.World, keyStream(key)), 1)
	}
}

func TestACommandEndsWithItsContext(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := w.Accounts.Open(ctx, "free", commandstest.Operator())
	require.ErrorIs(t, err, context.Canceled)
	_, err = w.Ledger().Reserve(ctx, "nobody", 1, commandstest.Operator())
	require.ErrorIs(t, err, context.Canceled)
}
