package accounts_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/events/eventlog"
	"github.com/recital-tts/recital/internal/events/feed/feedtest"
	"github.com/recital-tts/recital/internal/events/readmodel"
)

func accountsOf(t require.TestingT, w *feedtest.World, id string) []readmodel.AccountRow {
	return feedtest.Shown(t, w, readmodel.AccountsView, `where account_id = $1`, id)
}

func keysOf(t require.TestingT, w *feedtest.World, id string) []readmodel.APIKeyRow {
	return feedtest.Shown(t, w, readmodel.APIKeysView, `where account_id = $1 order by created_at`, id)
}

func profilesOf(t require.TestingT, w *feedtest.World, id string) []readmodel.ProfileRow {
	return feedtest.Shown(t, w, readmodel.ProfilesView, `where account_id = $1`, id)
}

// plain returns the row of a new account.
func plain(id string, on plan.Type) readmodel.AccountRow {
	return readmodel.AccountRow{
		Account: id, OpenedAt: now, OpenedOn: on, PeriodsFrom: now, Plan: on, EntitledFrom: now, Followed: -1,
	}
}

func TestAccountRows(t *testing.T) {
	w := suite.World(t)
	w.Write(t, "account-a1",
		account.Opened{Account: "a1", Plan: plan.Indie, At: now},
		account.APIKeyCreated{
			Account: "a1", Hash: "h1", Masked: "rk_abcd****wxyz", SealedName: []byte("build server"), At: now,
		},
		account.APIKeyCreated{Account: "a1", Hash: "h2", Masked: "rk_efgh****stuv", At: now.Add(time.Second)},
		account.APIKeyCreated{
			Account: "a1", Hash: "h3", Masked: "rk_ijkl****opqr", SealedName: []byte("sealed"), At: now.Add(2 * time.Second),
		},
	)
	require.Equal(t, []readmodel.AccountRow{plain("a1", plan.Indie)}, accountsOf(t, w, "a1"))
	require.Equal(t, []readmodel.APIKeyRow{
		{Hash: "h1", Account: "a1", Masked: "rk_abcd****wxyz", SealedName: []byte("build server"), CreatedAt: now},
		{Hash: "h2", Account: "a1", Masked: "rk_efgh****stuv", CreatedAt: now.Add(time.Second)},
		{
			Hash: "h3", Account: "a1", Masked: "rk_ijkl****opqr", SealedName: []byte("sealed"),
			CreatedAt: now.Add(2 * time.Second),
		},
	}, keysOf(t, w, "a1"))
}

func TestAnAccountsRowShowsWhatAClosedOneLeft(t *testing.T) {
	w := suite.World(t)
	left := account.FreePeriod{Start: now.AddDate(0, 0, -10), End: now.AddDate(0, 0, 20), Used: 14_000}
	w.Write(t, "account-a1", account.Opened{Account: "a1", Plan: plan.Free, Identity: "i1", FreePeriod: &left, At: now})
	row := plain("a1", plan.Free)
	row.PeriodsFrom, row.EntitledFrom, row.FreePeriodEnd, row.FreePeriodUsed = left.Start, left.Start, &left.End,
		&left.Used
	require.Equal(t, []readmodel.AccountRow{row}, accountsOf(t, w, "a1"))
}

func TestWhatAnOwnerHasChosenAndWhoItIs(t *testing.T) {
	w := suite.World(t)
	profile := account.ProfileRecorded{
		Account: "a1", Name: []byte("sealed name"), Email: []byte("sealed email"), EmailHash: "e1", Digest: "d1", At: now,
	}
	revision := w.Append(t, "account-a1", eventlog.NoStream,
		account.Opened{Account: "a1", Plan: plan.Free, At: now},
		account.APIKeyCreated{Account: "a1", Hash: "h1", Masked: "rk_abcd****wxyz", At: now},
		account.APIKeyRenamed{Account: "a1", Hash: "h1", Masked: "rk_abcd****wxyz", SealedName: []byte("laptop"), At: now},
		account.APIKeyRenamed{
			Account: "a1", Hash: "h1", Masked: "rk_abcd****wxyz", SealedName: []byte("sealed name"), At: now,
		},
		account.TermsAccepted{Account: "a1", At: now},
		account.EmailPreferencesSet{Account: "a1", WantsEmail: false, At: now},
		account.OperatorGranted{Account: "a1", At: now},
		profile)
	row := plain("a1", plan.Free)
	row.AcceptedTOS, row.WantsEmail, row.Operator = true, new(false), true
	require.Equal(t, []readmodel.AccountRow{row}, accountsOf(t, w, "a1"))
	require.Equal(t, []readmodel.APIKeyRow{{Hash: "h1", Account: "a1", Masked: "rk_abcd****wxyz",
		SealedName: []byte("sealed name"), CreatedAt: now}}, keysOf(t, w, "a1"))
	require.Equal(t, []readmodel.ProfileRow{{Account: "a1", Name: profile.Name, Email: profile.Email, EmailHash: "e1"}},
		profilesOf(t, w, "a1"))

	profile.Picture, profile.EmailHash = []byte("sealed picture"), "e2"
	w.Append(t, "account-a1", revision,
		account.OperatorWithdrawn{Account: "a1", At: now},
		account.EmailPreferencesSet{Account: "a1", WantsEmail: true, At: now},
		profile)
	row.WantsEmail, row.Operator = new(true), false
	require.Equal(t, []readmodel.AccountRow{row}, accountsOf(t, w, "a1"))
	require.Equal(t, []readmodel.ProfileRow{{Account: "a1", Name: profile.Name, Email: profile.Email,
		Picture: profile.Picture, EmailHash: "e2"}}, profilesOf(t, w, "a1"))
}

func TestAClosedAccountHasNoRows(t *testing.T) {
	w := suite.World(t)
	for _, id := range []string{"a1", "a2"} {
		events := []any{
			account.Opened{Account: id, Plan: plan.Free, At: now},
			account.APIKeyCreated{Account: id, Hash: "h-" + id, Masked: "m", At: now},
			account.ProfileRecorded{Account: id, Name: []byte{1}, Email: []byte{2}, EmailHash: "e", Digest: "d", At: now},
		}
		if id == "a1" {
			events = append(events, account.APIKeyRevoked{Account: id, Hash: "h-" + id, Masked: "m", At: now}, account.Closed{
				Account: id, At: now,
			})
		}
		w.Write(t, "account-"+id, events...)
	}
	for id, rows := range map[string]int{"a1": 0, "a2": 1} {
		require.Len(t, accountsOf(t, w, id), rows, id)
		require.Len(t, keysOf(t, w, id), rows, id)
		require.Len(t, profilesOf(t, w, id), rows, id)
	}
}

func TestARevokedKeyHasNoRow(t *testing.T) {
	w := suite.World(t)
	w.Write(t, "account-a1",
		account.Opened{Account: "a1", Plan: plan.Indie, At: now},
		account.APIKeyCreated{Account: "a1", Hash: "h1", Masked: "rk_abcd****wxyz", At: now},
		account.APIKeyCreated{Account: "a1", Hash: "h2", Masked: "rk_efgh****stuv", At: now},
		account.APIKeyRevoked{Account: "a1", Hash: "h1", Masked: "rk_abcd****wxyz", At: now},
	)
	require.Equal(t, []readmodel.APIKeyRow{{Hash: "h2", Account: "a1", Masked: "rk_efgh****stuv", CreatedAt: now}},
		keysOf(t, w, "a1"))
}

// After any events of an account, its rows are the fold of the events.
func TestAccountRowsEqualTheFold(t *testing.T) {
	w := suite.World(t)
	rapid.Check(t, func(r *rapid.T) {
		id := uuid.NewString()
		var state account.State
		var events []any
		do := func(command interface {
			Decide(account.State) ([]account.Event, error)
		}) {
			decided, _ := command.Decide(state)
			for _, event := range decided {
				state = account.Evolve(state, event)
				events = append(events, event)
			}
		}
		at := now
		for range rapid.IntRange(0, 12).Draw(r, "commands") {
			at = at.Add(time.Second)
			key := rapid.StringMatching(`[ab]{3}`).Draw(r, "key")
			yes := rapid.Bool().Draw(r, "yes")
			switch rapid.IntRange(0, 14).Draw(r, "command") {
			case 0, 1, 2:
				do(account.Open{Account: id, Plan: rapid.SampledFrom(plan.All()).Draw(r, "plan").Type, At: at})
			case 3, 4:
				do(account.RevokeAPIKey{Masked: key[:2], At: at})
			case 5:
				do(account.RenameAPIKey{Masked: key[:2], Name: key, SealedName: []byte(key), At: at})
			case 6:
				do(account.AcceptTerms{At: at})
			case 7:
				do(account.SetEmailPreferences{WantsEmail: yes, At: at})
			case 8:
				do(account.GrantOperator{At: at})
			case 9:
				if yes {
					do(account.WithdrawOperator{At: at})
				} else {
					do(account.Close{At: at})
				}
			case 10, 11:
				do(account.Entitle{
					Entitlement: drawEntitlement(r, at), Revision: rapid.Int64Range(0, 9).Draw(r, "revision"), At: at,
				})
			default:
				name := rapid.StringMatching(`\PC{0,4}`).Draw(r, "name")
				do(account.CreateAPIKey{
					Hash: id + key, Masked: key[:2], Name: name, SealedName: append([]byte(nil), name...), At: at,
				})
			}
		}
		w.Write(r, "account-"+id, events...)

		found := accountsOf(r, w, id)
		keys := keysOf(r, w, id)
		require.Len(r, keys, len(state.Keys))
		for i, key := range state.Keys {
			require.Equal(r, key, account.Key{Hash: keys[i].Hash, Masked: keys[i].Masked, SealedName: keys[i].SealedName})
		}
		if !state.Exists() || state.Closed() {
			require.Empty(r, found)
			return
		}
		want := readmodel.AccountRow{
			Account: id, OpenedAt: state.OpenedAt, OpenedOn: state.OpenedOn, PeriodsFrom: state.OpenedAt,
			Plan: state.Entitlement.Plan, EntitledFrom: state.Entitlement.Start, Followed: -1,
			AcceptedTOS: state.TermsAccepted, WantsEmail: state.WantsEmail, Operator: state.Operator,
		}
		if state.Version != 0 {
			want.Followed = state.Followed
		}
		if e := state.Entitlement; !e.End.IsZero() {
			want.EntitledUntil, want.NextPlan, want.Anchor = &e.End, &e.Next, &e.Anchor
		}
		require.Equal(r, []readmodel.AccountRow{want}, found)
	})
}

// drawEntitlement draws an entitlement that starts now or started earlier.
func drawEntitlement(r *rapid.T, at time.Time) plan.Entitlement {
	start := at.Add(-time.Duration(rapid.IntRange(0, 9).Draw(r, "ago")) * time.Second)
	if rapid.Bool().Draw(r, "free") {
		return plan.Entitlement{Plan: plan.Free, Start: start}
	}
	return plan.Entitlement{Plan: plan.Pro, Start: start, End: at.AddDate(0, 1, 0), Next: plan.Indie, Anchor: start}
}

func TestAClosedAccountIsOnTheListUntilItIsErasedForGood(t *testing.T) {
	w := suite.World(t)
	listed := func() []readmodel.ToDoRow {
		t.Helper()
		return feedtest.Shown(t, w, readmodel.ToDoCloseAccountView, `order by item`)
	}
	row := func(due time.Time, cause uuid.UUID) []readmodel.ToDoRow {
		return []readmodel.ToDoRow{{Item: "a1", Stream: "account-a1", Due: due, Cause: cause.String()}}
	}
	last := func() (id uuid.UUID) {
		t.Helper()
		for event, err := range w.Log.ReadStream(t.Context(), "account-a1", 0) {
			require.NoError(t, err)
			id = event.ID
		}
		return id
	}
	revision := w.Append(t, "account-a1", eventlog.NoStream, account.Opened{Account: "a1", Plan: plan.Free, At: now})
	require.Empty(t, listed())

	revision = w.Append(t, "account-a1", revision, account.Closed{Account: "a1", At: now})
	require.Equal(t, row(now, last()), listed(), "it is due at once")

	revision = w.Append(t, "account-a1", revision, account.Erased{Account: "a1", AgainAt: now.Add(time.Hour), At: now})
	require.Equal(t, row(now.Add(time.Hour), last()), listed(), "and once more")

	w.Append(t, "account-a1", revision, account.ErasureRepeated{Account: "a1", At: now})
	require.Empty(t, listed())
}
