package accounts_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/accounts"
	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/apikey"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/todo"
)

func keyStream(key string) string { return "apikey-" + account.HashAPIKey(key) }

func (w *world) requireIssued(key, id string) {
	w.T.Helper()
	found, err := w.Accounts.KeyAccount(w.T.Context(), account.HashAPIKey(key))
	require.NoError(w.T, err)
	require.Equal(w.T, id, found)
}

// last is the last event of a stream.
func (w *world) last(stream string) (last eventlog.Recorded) {
	w.T.Helper()
	for event, err := range w.Log.ReadStream(w.T.Context(), stream, 0) {
		require.NoError(w.T, err)
		last = event
	}
	return last
}

func TestAKeyLeadsToItsAccount(t *testing.T) {
	w := newWorld(t)
	opened, err := w.Accounts.Open(t.Context(), "indie", commandstest.Operator())
	require.NoError(t, err)
	made, err := w.Accounts.CreateKey(t.Context(), opened.Account, "", commandstest.Operator())
	require.NoError(t, err)
	dev := drawKey(t, 1)
	_, err = w.Accounts.Ensure(t.Context(), "operator", "enterprise", dev)
	require.NoError(t, err)

	w.requireIssued(opened.Key.Key, opened.Account)
	w.requireIssued(made.Key, opened.Account)
	w.requireIssued(dev, "operator")
	w.requireIssued(drawKey(t, 2), "")
	for _, event := range commandstest.Fold[account.Event](w.World, "account-"+opened.Account) {
		if created, ok := event.(account.APIKeyCreated); ok {
			require.True(t, created.Issued)
		}
	}
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

	// when a key is created for it, for nobody, or with an account on a plan that there is not
	_, err = w.Accounts.CreateKey(t.Context(), id, "", commandstest.Operator())
	require.Equal(t, domain.Denied, domain.CodeOf(err))
	_, err = w.Accounts.CreateKey(t.Context(), "nobody", "", commandstest.Operator())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
	_, err = w.Accounts.Open(t.Context(), "gold", commandstest.Operator())
	require.Equal(t, domain.Invalid, domain.CodeOf(err))

	// then nothing is written
	after, err := w.Log.Head(t.Context())
	require.NoError(t, err)
	require.Equal(t, head, after)
}

func TestAKeyOfAnEarlierReleaseIsIssuedOnce(t *testing.T) {
	w := newWorld(t)
	id, key := w.Open("free"), drawKey(t, 1)
	w.Other("account-"+id, 1, account.APIKeyCreated{Account: id, Hash: account.HashAPIKey(key), Masked: account.MaskAPIKey(key), At: w.Clock.Now()})
	created := w.last("account-" + id).ID
	w.requireIssued(key, "")

	// when it is issued, more than once
	first, err := w.Accounts.IssueCreated(t.Context(), "account-"+id, created)
	require.NoError(t, err)
	again, err := w.Accounts.IssueCreated(t.Context(), "account-"+id, created)
	require.NoError(t, err)

	// then one event says so, and what it follows from
	require.Equal(t, first, again)
	w.requireIssued(key, id)
	require.Len(t, commandstest.Fold[apikey.Event](w.World, keyStream(key)), 1)
	issued, err := w.Journal.Registry.Decode(w.last(keyStream(key)))
	require.NoError(t, err)
	require.Equal(t, created, issued.Meta.CausationID)
	require.Equal(t, todo.CommandID(accounts.IssueProcess, created.String(), created), issued.Meta.CommandID)

	// and what created no key is refused
	_, err = w.Accounts.IssueCreated(t.Context(), "account-"+id, uuid.New())
	require.Equal(t, domain.NotFound, domain.CodeOf(err))
}

func TestEnsureIssuesTheKeyOfAnEarlierRelease(t *testing.T) {
	w := newWorld(t)
	key := drawKey(t, 1)
	w.Other("account-operator", eventlog.NoStream,
		account.Opened{Account: "operator", Plan: "enterprise", At: w.Clock.Now()},
		account.APIKeyCreated{Account: "operator", Hash: account.HashAPIKey(key), Masked: account.MaskAPIKey(key), At: w.Clock.Now()})
	_, err := w.Accounts.Ensure(t.Context(), "operator", "enterprise", key)
	require.NoError(t, err)
	w.requireIssued(key, "operator")
	require.Len(t, commandstest.Fold[account.Event](w.World, "account-operator"), 2)
}
