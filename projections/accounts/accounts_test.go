package accounts_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/internal/feed/feedtest"
)

type accountRow struct {
	Account  string
	Plan     string
	OpenedAt time.Time
}

type keyRow struct {
	Hash, Account, Masked string
	Name                  *string
	CreatedAt             time.Time
}

const (
	accountsOf = `select account_id, plan, opened_at from read_v1.accounts where account_id = $1`
	keysOf     = `select key_hash, account_id, masked, name, created_at from read_v1.api_keys where account_id = $1 order by created_at`
)

func TestAccountRows(t *testing.T) {
	w := newWorld(t)
	name := "build server"
	w.Write(t, "account-a1",
		account.Opened{Account: "a1", Plan: plan.Indie, At: now},
		account.APIKeyCreated{Account: "a1", Hash: "h1", Masked: "rk_abcd****wxyz", Name: name, At: now},
		account.APIKeyCreated{Account: "a1", Hash: "h2", Masked: "rk_efgh****stuv", At: now.Add(time.Second)},
	)
	require.Equal(t, []accountRow{{"a1", "indie", now}}, feedtest.Rows[accountRow](t, w, accountsOf, "a1"))
	require.Equal(t, []keyRow{
		{"h1", "a1", "rk_abcd****wxyz", &name, now},
		{"h2", "a1", "rk_efgh****stuv", nil, now.Add(time.Second)},
	}, feedtest.Rows[keyRow](t, w, keysOf, "a1"))
}

func TestARevokedKeyHasNoRow(t *testing.T) {
	w := newWorld(t)
	w.Write(t, "account-a1",
		account.Opened{Account: "a1", Plan: plan.Indie, At: now},
		account.APIKeyCreated{Account: "a1", Hash: "h1", Masked: "rk_abcd****wxyz", At: now},
		account.APIKeyCreated{Account: "a1", Hash: "h2", Masked: "rk_efgh****stuv", At: now},
		account.APIKeyRevoked{Account: "a1", Hash: "h1", Masked: "rk_abcd****wxyz", At: now},
	)
	require.Equal(t, []keyRow{{"h2", "a1", "rk_efgh****stuv", nil, now}}, feedtest.Rows[keyRow](t, w, keysOf, "a1"))
}

// Whatever is decided on an account, its rows show the state that the events fold to.
func TestAccountRowsEqualTheFold(t *testing.T) {
	w := newWorld(t)
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
			switch rapid.IntRange(0, 3).Draw(r, "command") {
			case 0:
				do(account.Open{Account: id, Plan: rapid.SampledFrom(plan.All()).Draw(r, "plan").Type, At: at})
			case 1:
				do(account.RevokeAPIKey{Masked: key[:2], At: at})
			default:
				do(account.CreateAPIKey{Hash: id + key, Masked: key[:2], Name: rapid.StringMatching(`\PC{0,4}`).Draw(r, "name"), At: at})
			}
		}
		w.Write(r, "account-"+id, events...)

		found := feedtest.Rows[accountRow](r, w, accountsOf, id)
		keys := feedtest.Rows[keyRow](r, w, keysOf, id)
		require.Len(r, keys, len(state.Keys))
		for i, key := range state.Keys {
			require.Equal(r, key, account.Key{Hash: keys[i].Hash, Masked: keys[i].Masked})
		}
		if !state.Exists() {
			require.Empty(r, found)
			return
		}
		require.Equal(r, []accountRow{{id, string(state.Plan), state.OpenedAt}}, found)
	})
}
