package commandstest

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/recital-tts/recital/commands/ledger"
	"github.com/recital-tts/recital/internal/events/eventlog"
)

// FreeLimit is the number of characters of the free plan.
const FreeLimit = 15_000

// Reserve reserves characters, and reports an error to the test.
func Reserve(t testing.TB, keeper *ledger.Ledger, id string, characters int64) ledger.Reservation {
	t.Helper()
	r, err := keeper.Reserve(t.Context(), id, characters, Operator())
	assert.NoError(t, err)
	return r
}

// Settle ends a reservation, and reports an error to the test.
func Settle(t testing.TB, keeper *ledger.Ledger, r ledger.Reservation, characters int64) eventlog.Position {
	t.Helper()
	position, err := keeper.Settle(t.Context(), r, characters)
	assert.NoError(t, err)
	return position
}
