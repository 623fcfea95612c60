package accounts_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/access/keyring/memkeys"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

func (w *world) keyring() *memkeys.Keyring {
	w.T.Helper()
	keys := memkeys.New()
	w.Accounts.SealWith(keys)
	return keys
}

func TestAPersonsAccountOpensOnce(t *testing.T) {
	w := newWorld(t)
	start := w.Clock.Now().AddDate(0, 0, -3)
	left := &account.FreePeriod{Start: start, End: start.AddDate(0, 1, 0), Used: 14_000}
	for range 2 {
		w.Must(w.Accounts.OpenFor(t.Context(), "a1", "i1", left, commandstest.Operator()))
	}
	state := w.Account("a1")
	require.Equal(t, plan.Free, state.Entitlement.Plan)
	require.Equal(t, "i1", state.Identity)
	require.Equal(t, left, state.FreePeriod)
	require.Equal(t, start, state.Entitlement.Start)
	require.Empty(t, state.Keys)
	require.Len(t, commandstest.Fold[account.Event](w.World, "account-a1"), 1)

	_, err := w.Accounts.OpenFor(t.Context(), "a1", "i2", nil, commandstest.Operator())
	require.Equal(t, domain.Conflict, domain.CodeOf(err), "another person's account")
	w.Must(w.Accounts.Close(t.Context(), "a1", commandstest.Operator()))
	_, err = w.Accounts.OpenFor(t.Context(), "a1", "i1", left, commandstest.Operator())
	require.ErrorIs(t, err, account.ErrClosed)
}

func TestAProfileIsSealedAndRecordedWhereItHasChanged(t *testing.T) {
	w := newWorld(t)
	keys := w.keyring()
	id, other := w.Open("free"), w.Open("free")
	ada := account.Profile{Name: "Ada Lovelace", Email: "Ada@Example.org", Picture: "https://example.org/ada.png"}
	record := func(id string, p account.Profile) {
		t.Helper()
		w.Must(w.Accounts.RecordProfile(t.Context(), id, p, commandstest.Operator()))
	}
	recorded := func(id string) (all []account.ProfileRecorded) {
		t.Helper()
		for _, event := range commandstest.Fold[account.Event](w.World, "account-"+id) {
			if e, ok := event.(account.ProfileRecorded); ok {
				all = append(all, e)
			}
		}
		return all
	}
	record(id, ada)
	record(id, ada) // as each sign-in does
	require.Len(t, recorded(id), 1)

	// then it is sealed in the log, and can be opened with the account's key
	first := recorded(id)[0]
	for event, err := range w.Log.ReadStream(t.Context(), "account-"+id, 0) {
		require.NoError(t, err)
		for _, clear := range []string{"Ada Lovelace", "ada@", "example.org"} {
			require.NotContains(t, string(event.Data)+string(event.Metadata), clear)
		}
	}
	open := func(sealed []byte, use string) string {
		t.Helper()
		text, err := keys.Open(t.Context(), id, sealed, use)
		require.NoError(t, err)
		return string(text)
	}
	require.Equal(t, ada, account.Profile{
		Name: open(first.Name, account.ForName), Email: open(first.Email, account.ForEmail),
		Picture: open(first.Picture, account.ForPicture),
	})

	// and a change is recorded; an e-mail address is found in any spelling
	ada.Picture, ada.Email = "", "ada@example.org"
	record(id, ada)
	require.Len(t, recorded(id), 2)
	require.Empty(t, recorded(id)[1].Picture)
	require.Equal(t, first.EmailHash, recorded(id)[1].EmailHash)
	record(other, ada)
	require.Equal(t, first.EmailHash, recorded(other)[0].EmailHash)
	require.NotEqual(t, recorded(id)[1].Digest, recorded(other)[0].Digest, "accounts do not show that they have one owner")

	for name, p := range map[string]account.Profile{"no name": {Email: "a@example.org"}, "no e-mail": {Name: "Ada"}} {
		_, err := w.Accounts.RecordProfile(t.Context(), id, p, commandstest.Operator())
		require.Equal(t, domain.Invalid, domain.CodeOf(err), name)
	}
}

func TestPreferencesAndSessionsAndOperators(t *testing.T) {
	w := newWorld(t)
	id := w.Open("free")
	ada := commandstest.Operator()
	ada.Actor.Name = "ada"
	for name, do := range map[string]func(context.Context) (eventlog.Position, error){
		"terms": func(ctx context.Context) (eventlog.Position, error) { return w.Accounts.AcceptTerms(ctx, id, ada) },
		"e-mail": func(ctx context.Context) (eventlog.Position, error) {
			return w.Accounts.SetEmailPreferences(ctx, id, true, ada)
		},
		"operator": func(ctx context.Context) (eventlog.Position, error) {
			return w.Accounts.SetOperator(ctx, id, true, ada)
		},
	} {
		first, err := do(t.Context())
		require.NoError(t, err, name)
		head, err := w.Log.Head(t.Context())
		require.NoError(t, err)
		require.Equal(t, head, first, name)
		_, err = do(t.Context())
		require.NoError(t, err, name)
		again, err := w.Log.Head(t.Context())
		require.NoError(t, err)
		require.Equal(t, head, again, "%s: a repetition appends nothing", name)
	}
	w.Must(w.Accounts.RevokeSessions(t.Context(), id, ada))
	state := w.Account(id)
	require.True(t, state.TermsAccepted)
	require.Equal(t, new(true), state.WantsEmail)
	require.True(t, state.Operator)
	require.Equal(t, w.Clock.Now(), state.SessionsRevokedAt)
	require.Contains(t, commandstest.Fold[account.Event](w.World, "account-"+id),
		account.OperatorGranted{Account: id, By: "ada", At: w.Clock.Now()})

	w.Must(w.Accounts.SetOperator(t.Context(), id, false, ada))
	require.False(t, w.Account(id).Operator)
}

func TestAKeyIsRenamed(t *testing.T) {
	w := newWorld(t)
	keys := w.keyring()
	opened, err := w.Accounts.Open(t.Context(), "indie", commandstest.Operator())
	require.NoError(t, err)
	rename := func(name string) {
		t.Helper()
		w.Must(w.Accounts.RenameKey(t.Context(), opened.Account, opened.Key.Masked, name, commandstest.Operator()))
	}
	named := func() string {
		t.Helper()
		key := w.Account(opened.Account).Keys[0]
		name, err := keys.Open(t.Context(), opened.Account, key.SealedName, account.ForKeyName(key.Hash))
		require.NoError(t, err)
		return string(name)
	}
	rename("Ada's laptop")
	require.Equal(t, "Ada's laptop", named())
	rename("Ada's laptop")
	require.Len(t, commandstest.Fold[account.Event](w.World, "account-"+opened.Account), 3,
		"the same name changes nothing")
	rename("Ada's desktop")
	require.Equal(t, "Ada's desktop", named())
	w.requireClear(opened.Account, "Ada's")

	_, err = w.Accounts.RenameKey(t.Context(), opened.Account, opened.Key.Masked, "", commandstest.Operator())
	require.Equal(t, domain.Invalid, domain.CodeOf(err))
	_, err = w.Accounts.RenameKey(t.Context(), w.Open("free"), opened.Key.Masked, "mine", commandstest.Operator())
	require.Equal(t, domain.NotFound, domain.CodeOf(err), "another account's")
}

func TestTheNameOfANewKeyIsSealed(t *testing.T) {
	w := newWorld(t)
	keys := w.keyring()
	id := w.Open("indie")
	made, err := w.Accounts.CreateKey(t.Context(), id, "Ada's laptop", commandstest.Operator())
	require.NoError(t, err)
	key, err := w.Account(id).Key(made.Masked)
	require.NoError(t, err)
	name, err := keys.Open(t.Context(), id, key.SealedName, account.ForKeyName(key.Hash))
	require.NoError(t, err)
	require.Equal(t, "Ada's laptop", string(name))
	w.requireClear(id, "Ada's")

	_, err = w.Accounts.CreateKey(t.Context(), id, "a\nb", commandstest.Operator())
	require.Equal(t, domain.Invalid, domain.CodeOf(err))
	w.Must(w.Accounts.Close(t.Context(), id, commandstest.Operator()))
	require.NoError(t, keys.Erase(t.Context(), id))
	_, err = w.Accounts.CreateKey(t.Context(), id, "too late", commandstest.Operator())
	require.ErrorIs(t, err, account.ErrClosed)
}

// requireClear requires that no event of an account holds a text.
func (w *world) requireClear(id, text string) {
	w.T.Helper()
	for event, err := range w.Log.ReadStream(w.T.Context(), account.Stream(id), 0) {
		require.NoError(w.T, err)
		require.NotContains(w.T, string(event.Data)+string(event.Metadata), text)
	}
}
