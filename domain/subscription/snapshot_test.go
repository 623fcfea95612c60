package subscription_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/spec"
	"github.com/recital-tts/recital/domain/subscription"
)

// An account that registers cards all day does not make loads longer.
func TestASnapshotBoundsALoad(t *testing.T) {
	state := spec.Fold(subscription.Evolve, active)
	since := len(active)
	for i := range 1000 {
		id, at := time.Duration(i).String(), noon.Add(time.Duration(i)*time.Minute)
		for _, event := range (events{
			subscription.Requested{Account: "a1", Request: id, Kind: subscription.SetupCard, At: at},
			subscription.Agreed{Account: "a1", Request: id, At: at},
		}) {
			state = subscription.Evolve(state, event)
			since++
		}
		taken := state.Snapshot(at)
		require.Equal(t, since >= subscription.SnapshotEvery, len(taken) > 0)
		for _, event := range taken {
			require.True(t, domain.IsSnapshot(event))
			before := state.Facts
			state = subscription.Evolve(state, event)
			require.Equal(t, before, state.Facts)
			since = 0
		}
	}
	require.Less(t, since, subscription.SnapshotEvery)
	current, found := state.Current()
	require.True(t, found)
	require.Equal(t, terms("active"), current.Terms)
	require.Len(t, state.Answered, 100)
}
