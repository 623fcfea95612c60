package accounts_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
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
	_, err = w.Accounts.Ensure(t.Context(), "operator", "enterprise", dev)
	require.NoError(t, err)

	w.requireIssued(opened.Key.Key, opened.Account)
	w.requireIssued(made.Key, opened.Account)
	w.requireIssued(dev, "operator")
	w.requireIssued(drawKey(t, 2), "")
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
