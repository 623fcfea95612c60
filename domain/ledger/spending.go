package ledger

import (
	"time"

	"github.com/recital-tts/recital/domain"
	"github.com/recital-tts/recital/domain/plan"
)

// SpendingCapSet sets the account's spending cap in the period, at the rate of its present terms.
type SpendingCapSet struct {
	Account string `json:"account"`
	plan.SpendingCap
	Rate  plan.Rate `json:"rate"`  // of characters past the plan; zero if these are not billed, or without a cap
	Start time.Time `json:"start"` // of the period
	At    time.Time `json:"at"`
}

func (SpendingCapSet) ledgerEvent() {}

// ErrSpendingCap refuses a reservation that could cost more than the rest of the account's spending cap.
var ErrSpendingCap error = domain.Refuse(domain.PaymentRequired, "The spending cap of the account does not permit the "+
	"text: characters past the plan could cost more in this period; raise the cap, upgrade the plan, or wait for the "+
	"next period")

// cap returns the event that sets a newer spending cap in the period, or the same one at another rate.
func (c OpenPeriod) cap(s State) []Event {
	newer := c.Cap.Version > s.Cap.Version
	repriced := c.Version > s.Terms.Version && c.Cap.Version == s.Cap.Version && c.Rate != s.Rate
	if !newer && !repriced {
		return nil
	}
	return []Event{SpendingCapSet{Account: c.Account, SpendingCap: c.Cap, Rate: c.Rate, Start: c.Start, At: c.At}}
}

// Spent returns the cost of the period's settled characters past plan and credit in minor units, including earlier
// terms as soon as their price is known. Without a cap the price of the current terms is unknown and counts as 0.
func (s State) Spent() int64 { return s.cost(s.Settled) }

// withinCap reports whether characters can be reserved besides the open reservations, all of which may be settled in
// full. Characters that the plan or credit includes always can.
func (s State) withinCap(characters int64) bool {
	used := s.Settled + s.Reserved + characters
	if characters == 0 || s.excessOf(used) == 0 {
		return true
	}
	return s.Cap.Permits(s.cost(used), s.Rate)
}

// cost returns the cost of the period past its plan after a number of characters on the current terms.
func (s State) cost(used int64) int64 {
	_, amount := s.Rate.Cost(s.excessOf(used))
	if s.Closed() { // the last terms are among the overages
		amount = 0
	}
	for _, earlier := range s.Overages {
		amount += earlier.Amount
	}
	return amount
}
