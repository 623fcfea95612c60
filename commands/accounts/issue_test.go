package accounts_test

import (
	"bytes"
	"context"
	"iter"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

func keyStream(key string) string { return "apikey-" + account.HashAPIKey(key) }

func (w *world) requireIssued(key, id string) {
	w.T.Helper()
	found, err := w.Accounts.KeyAccount(w.T.Context(), account.HashAPIKey(key))
	require.NoError(w.T, err)
	require.Equal(w.T, id, found)
}

func TestAKeyLeadsToItsAccount(t *testing.T) {
	w := newWorld(t)
	opened, err := w.Accounts.Open(t.Context(), "indie", commandstest.Operator())
	require.NoError(t, err)
	made, err := w.Accounts.CreateKey(t.Context(), opened.Account, "", commandstest.Operator())
	require.NoError(t, err)
	dev := drawKey(t, 1)
	w.Must(w.Accounts.Ensure(t.Context(), "operator", "enterprise", dev))

	w.requireIssued(opened.Key.Key, opened.Account)
	w.requireIssued(made.Key, opened.Account)
	w.requireIssued(dev, "operator")
	w.requireIssued(drawKey(t, 2), "")
}

// unread is a log that accepts appends and cannot be read.
type unread struct{ eventlog.Log }

func (l unread) ReadStreamBackwards(context.Context, string) iter.Seq2[eventlog.Recorded, error] {
	return func(yield func(eventlog.Recorded, error) bool) {
		yield(eventlog.Recorded{}, eventlog.ErrUnavailable)
	}
}

func TestAnAccountIsOpenedUnread(t *testing.T) {
	// given a log that cannot be read
	w := newWorld(t)
	log := w.Log.Log
	w.Log.Log = unread{log}

	// when an account is opened, then it exists with its key
	w.Accounts.DrawFrom(bytes.NewReader(bytes.Repeat([]byte{7}, 64)))
	opened, err := w.Accounts.Open(t.Context(), "indie", commandstest.Operator())
	require.NoError(t, err)
	w.Log.Log = log
	w.requireIssued(opened.Key.Key, opened.Account)
	state, _, err := w.Accounts.State(t.Context(), opened.Account)
	require.NoError(t, err)
	require.True(t, state.HasKey(account.HashAPIKey(opened.Key.Key)))

	// and the same key drawn again opens no account
	w.Accounts.DrawFrom(bytes.NewReader(bytes.Repeat([]byte{7}, 64)))
	_, err = w.Accounts.Open(t.Context(), "indie", commandstest.Operator())
	require.Equal(t, domain.Conflict, domain.CodeOf(err), err)
	w.requireIssued(opened.Key.Key, opened.Account)
	require.Len(t, w.Log.Written("account-"), 1)
}

func TestWhatTheAccountRefusesIsNotIssued(t *testing.T) {
	// given an account that is full
	w := newWorld(t)
	id := w.Open("free")
	var keys []any
	for range account.MaxKeys - 1 {
		hash := uuid.NewString()
		keys = append(keys, account.APIKeyCreated{Account: id, Hash: hash, Masked: hash, At: w.Clock.Now()})
	}
	w.Other("account-"+id, 1, keys...)
	head, err := w.Log.Head(t.Context())
	require.NoError(t, err)

	// when a key is created for it, for an unknown account, or for an account on an unknown plan
	_, err = w.Accounts.CreateKey(t.Context(), id, "", commandstest.Operator())
	require.Equal(t, domain.Denied, domain.CodeOf(err))
	_, err = w.Accounts.CreateKey(t.Context(), "nobody", "", commandstest.Operator())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
	_, err = w.Accounts.Open(t.Context(), "gold", commandstest.Operator())
	require.Equal(t, domain.Invalid, domain.CodeOf(err))

	// then no event is written
	after, err := w.Log.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, head, after)
}
