package account_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/spec"
)

func snapshot(at time.Time, keys ...account.Key) account.Event {
	return account.SnapshotTaken{Facts: account.Facts{Account: "a1", OpenedOn: plan.Free, OpenedAt: noon,
		Entitlement: plan.Entitlement{Plan: plan.Free, Start: noon}, Keys: keys}, At: at}
}

// churn is the history of an account with one key that stays and a number of other events.
func churn(others int) events {
	happened := events{opened(), key("h", "m")}
	for i := 0; len(happened) < others+2; i++ {
		happened = append(happened, key(fmt.Sprint("h", i), "m0"), revoked(fmt.Sprint("h", i), "m0"))
	}
	return happened
}

// takeSnapshot takes a snapshot if one is due.
type takeSnapshot struct{}

func (takeSnapshot) Decide(s account.State) ([]account.Event, error) { return s.Snapshot(noon), nil }

func TestTakeSnapshot(t *testing.T) {
	due := churn(account.SnapshotEvery - 2)
	taken := snapshot(noon, account.Key{Hash: "h", Masked: "m"})
	spec.Run(t, account.Evolve, []row{
		{Name: "not before there is an account", When: takeSnapshot{}},
		{Name: "not before it is due", Given: due[:len(due)-1], When: takeSnapshot{}},
		{Name: "when it is due, with the valid keys", Given: due, When: takeSnapshot{}, Then: events{taken}},
		{Name: "not again", Given: append(due[:len(due):len(due)], taken), When: takeSnapshot{}},
		{Name: "when it is due again", Given: append(append(due[:len(due):len(due)], taken),
			churn(account.SnapshotEvery)[2:]...),
			When: takeSnapshot{}, Then: events{taken}},
		{Name: "without the events before it, a key is revoked", Given: events{taken},
			When: account.RevokeAPIKey{Masked: "m", At: noon},
			Then: events{revoked("h", "m")}},
	})
}

// For any history of an account, a fold from any snapshot equals the fold of all events.
func TestASnapshotStandsForWhatIsBeforeIt(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		var state account.State
		var all events
		do := func(c command) {
			decided, _ := c.Decide(state)
			for _, event := range decided {
				state = account.Evolve(state, event)
				all = append(all, event)
			}
		}
		do(account.Open{Account: "a1", Plan: rapid.SampledFrom(plan.All()).Draw(r, "plan").Type, Identity: "i1",
			FreePeriod: free, At: noon})
		for i := range rapid.IntRange(0, 3*account.SnapshotEvery).Draw(r, "commands") {
			do(drawCommand(r, i))
			do(takeSnapshot{})
		}

		since := 0
		for i, event := range all {
			require.LessOrEqual(r, since, account.SnapshotEvery+account.MaxKeys,
				"the last snapshot is long ago; a closing revokes all keys at once")
			since++
			if !domain.IsSnapshot(event) {
				continue
			}
			since = 0
			later := spec.Fold(account.Evolve, all[i:])
			require.Equal(r, state.Facts, later.Facts)
			require.Equal(r, state.SinceSnapshot, later.SinceSnapshot)
		}

		// and a new snapshot repeats the whole state, after any known state
		state.SinceSnapshot = account.SnapshotEvery
		taken := state.Snapshot(noon)
		earlier := spec.Fold(account.Evolve, all[:rapid.IntRange(0, len(all)).Draw(r, "earlier")])
		folded := spec.FromSnapshot(r, account.Evolve, taken, state, earlier)
		state.SinceSnapshot = 0
		require.Equal(r, state, folded)
	})
}

type command interface {
	Decide(account.State) ([]account.Event, error)
}

// drawCommand draws the i-th command; few of them close the account.
func drawCommand(r *rapid.T, i int) command {
	at, look, yes := noon.Add(time.Duration(i)), rapid.StringMatching(`[a-d]`).Draw(r, "text"), rapid.Bool().Draw(r, "yes")
	switch rapid.IntRange(0, 60).Draw(r, "command") {
	case 0:
		return account.Close{At: at}
	case 1:
		return account.RecordErasure{At: at, AgainAt: at}
	case 2:
		return account.RecordRepeatedErasure{At: at}
	case 3:
		return account.RevokeSessions{At: at}
	case 4:
		return account.AcceptTerms{At: at}
	case 5, 6:
		return account.SetEmailPreferences{WantsEmail: yes, At: at}
	case 7:
		return account.RecordProfile{Name: []byte{1}, Email: []byte{2}, EmailHash: "e", Digest: look, At: at}
	case 8:
		return account.GrantOperator{At: at}
	case 9:
		return account.WithdrawOperator{At: at}
	case 13, 14:
		return account.Entitle{Entitlement: plan.Entitlement{Plan: plan.Pro, Start: at, End: at.AddDate(0, 1, 0),
			Next: plan.Free}, Revision: int64(i), At: at}
	case 15:
		return account.SetSpendingCap{Amount: new(int64(i)), Currency: "usd", At: at}
	case 10, 11, 12:
		return account.RenameAPIKey{Masked: look, Name: look, At: at}
	}
	if yes {
		return account.RevokeAPIKey{Masked: look, At: at}
	}
	return account.CreateAPIKey{Hash: fmt.Sprint("h", i), Masked: look, Name: look, At: at}
}
