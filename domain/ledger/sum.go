package ledger

import (
	"slices"
	"time"
)

// SumEvery is after how many events a sum is written, which bounds what a load reads.
const SumEvery = 1000

// maxSummed bounds the size of a sum: with more reservations open, it waits until some have ended.
const maxSummed = 2000

// Sum repeats the state when the last sum is long ago.
type Sum struct{ At time.Time }

// Decide sums after SumEvery events. A period that is over is not summed: nothing comes after its end.
func (c Sum) Decide(s State) ([]Event, error) {
	if s.SinceSum < SumEvery || len(s.Open) > maxSummed || s.Over() {
		return nil, nil
	}
	events := []Event{Summed{PeriodOpened: s.Terms, Characters: s.Settled, Reservations: slices.Clone(s.Open), At: c.At}}
	if len(s.Grants) > 0 {
		events = append(events, CreditSummed{Account: s.Terms.Account, Grants: slices.Clone(s.Grants), At: c.At})
	}
	return events, nil
}
