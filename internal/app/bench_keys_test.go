package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/commands/commandstest"
	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/internal/events/eventlog/esdb/esdbtest"
	"github.com/recital-tts/recital/internal/events/eventnode/nodetest"
	"github.com/recital-tts/recital/internal/testing/benchtest"
)

// BenchmarkKeyChurn looks up a key in the log, without any cache, in an account that has created and deleted 10,000
// keys. The baseline is an account that has created and deleted 200. Both are equally far from their last snapshot.
// Creating a key is compared with the first one of an account.
func BenchmarkKeyChurn(b *testing.B) {
	const each = 50
	w := keyWorld{commandstest.NewOn(b, esdbtest.Open(b, nodetest.Start(b)))}
	churned, few := w.withKey(), w.withKey()
	w.churn(few, 2*account.SnapshotEvery)
	w.churn(churned, benchtest.Size(10_000, 500))
	for w.Account(churned.account).SinceSnapshot != w.Account(few.account).SinceSnapshot {
		w.churn(churned, 1)
	}

	var lookUp, make [2]time.Duration
	for b.Loop() {
		for range each {
			lookUp[0] += w.lookUp(churned)
			lookUp[1] += w.lookUp(few)
		}
	}
	for range each {
		made := w.withKey()
		make[1] += w.make(made)
		make[0] += w.make(churned)
	}
	micros := func(d time.Duration, of int) float64 { return float64(d.Microseconds()) / float64(of) }
	benchtest.Compare(b, "µs/look-up", micros(lookUp[0], each*b.N), micros(lookUp[1], each*b.N))
	benchtest.Compare(b, "µs/key", micros(make[0], each), micros(make[1], each))
	benchtest.Finish(b)
}

// keyWorld is a log on which API keys are created, revoked and looked up.
type keyWorld struct{ *commandstest.World }

// owned is an account and the hash of its key.
type owned struct{ account, hash string }

func (w keyWorld) withKey() owned {
	w.T.Helper()
	opened, err := w.Accounts.Open(w.T.Context(), "indie", commandstest.Operator())
	require.NoError(w.T, err)
	return owned{opened.Account, account.HashAPIKey(opened.Key.Key)}
}

func (w keyWorld) churn(k owned, times int) {
	w.T.Helper()
	for range times {
		made, err := w.Accounts.CreateKey(w.T.Context(), k.account, "", commandstest.Operator())
		require.NoError(w.T, err)
		w.Must(w.Accounts.RevokeKey(w.T.Context(), k.account, made.Masked, commandstest.Operator()))
	}
}

// lookUp reads the streams that authentication reads for a key that is not cached.
func (w keyWorld) lookUp(k owned) time.Duration {
	begun := time.Now()
	id, err := w.Accounts.KeyAccount(w.T.Context(), k.hash)
	require.NoError(w.T, err)
	state, _, err := w.Accounts.State(w.T.Context(), id)
	require.NoError(w.T, err)
	took := time.Since(begun)
	require.Equal(w.T, k.hash, state.Keys[0].Hash)
	return took
}

func (w keyWorld) make(k owned) time.Duration {
	begun := time.Now()
	w.Must(w.Accounts.CreateKey(w.T.Context(), k.account, "", commandstest.Operator()))
	return time.Since(begun)
}
