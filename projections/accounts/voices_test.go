package accounts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recital-tts/recital/domain/account"
	"github.com/recital-tts/recital/domain/plan"
	"github.com/recital-tts/recital/domain/roster"
	"github.com/recital-tts/recital/domain/voice"
)

func TestPlacesOfVoicesAreCountedByType(t *testing.T) {
	w := suite.World(t)
	for _, id := range []string{"a1", "a2"} {
		w.Write(t, account.Stream(id), account.Opened{Account: id, Plan: plan.Indie, At: now})
	}
	take := func(account, id string, of voice.Type) roster.PlaceTaken {
		return roster.PlaceTaken{Account: account, Voice: id, Type: of, At: now}
	}
	free := func(id string, of voice.Type) roster.PlaceFreed {
		return roster.PlaceFreed{Account: "a1", Voice: id, Type: of, At: now}
	}
	counted := func(id string) [2]int64 {
		row := accountsOf(t, w, id)[0]
		return [2]int64{row.InstantVoices, row.ProfessionalVoices}
	}
	w.Write(t, roster.Stream("a1"), take("a1", "1", voice.Instant), take("a1", "2", voice.Instant),
		take("a1", "3", voice.Professional), free("1", voice.Instant))
	w.Write(t, roster.Stream("a2"), take("a2", "4", voice.Professional))
	require.Equal(t, [2]int64{1, 1}, counted("a1"))
	w.Append(t, roster.Stream("a1"), 3, free("3", voice.Professional))
	require.Equal(t, [2]int64{1, 0}, counted("a1"))
	require.Equal(t, [2]int64{0, 1}, counted("a2"))

	// A place that is freed when the account is closed creates no row.
	w.Append(t, account.Stream("a1"), 0, account.Closed{Account: "a1", At: now})
	w.Append(t, roster.Stream("a1"), 4, free("2", voice.Instant))
	require.Empty(t, accountsOf(t, w, "a1"))
}
